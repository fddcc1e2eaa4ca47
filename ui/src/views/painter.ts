import { cellAt, gridOf, type Grid } from "../model/cells";
import type { Fleet } from "../model/fleet";
import { inkOn, mix, type StateDef } from "../model/states";

/** What surrounds the cells. */
export interface Look {
  surface: string;
  ink: string;
  still: boolean; // reduced motion
  largest: number; // cell, in CSS pixels
}

/** A cell that is to be noticed. */
export interface Mark {
  cell: number;
  at: number; // milliseconds
  colour: string;
}

const pulseFor = 4000;
/** Rings grow in steps of so many milliseconds: 60 a second would cost more than all else. */
const ringStep = 120;
/** So many rings can be told apart; more would only hide the cells. */
const mostRings = 40;

/**
 * Draws the fleet as cells. Only cells that look different are drawn again, once a frame, from
 * pictures of each state that are made once; rings are on a canvas of their own above.
 */
export class Painter {
  grid: Grid = gridOf(1, 1, 1, 2, 2);
  selected = -1;
  private below: CanvasRenderingContext2D;
  private above: CanvasRenderingContext2D;
  private sprites: HTMLCanvasElement[][] = []; // by state, then whether silent
  private look: Look = { surface: "#000000", ink: "#ffffff", still: false, largest: 40 };
  private marks: Mark[] = [];
  private rings: [number, number, number][] = []; // drawn last time: x, y, size
  private frame = 0;
  private next: ReturnType<typeof setTimeout> | undefined; // step of the rings
  private generation = -1;

  constructor(
    private fleet: Fleet,
    private cells: HTMLCanvasElement,
    private overlay: HTMLCanvasElement,
  ) {
    this.below = cells.getContext("2d", { alpha: true })!;
    this.above = overlay.getContext("2d", { alpha: true })!;
  }

  /** Fits the canvases into a box, in CSS pixels, and draws all cells. */
  fit(width: number, height: number, look: Look): void {
    const scale = devicePixelRatio || 1;
    this.look = look;
    const w = Math.max(1, Math.floor(width * scale));
    const [least, most] = [2 * Math.round(scale), Math.round(look.largest * scale)];
    this.grid = gridOf(this.fleet.ids.length, w, Math.floor(height * scale), least, most);
    const h = Math.max(1, this.grid.rows * this.grid.pitch);
    for (const canvas of [this.cells, this.overlay]) {
      canvas.width = w;
      canvas.height = h;
      canvas.style.height = `${h / scale}px`;
    }
    this.generation = this.fleet.generation;
    this.sprites = [];
    this.rings = [];
    this.fleet.takeTouched();
    for (let cell = 0; cell < this.fleet.ids.length; cell++) this.drawCell(cell, false);
    this.request();
  }

  /** True where the cells no longer fit: other devices, or more than there is room for. */
  get outgrown(): boolean {
    const { columns, rows } = this.grid;
    return this.generation !== this.fleet.generation || this.fleet.ids.length > columns * rows;
  }

  mark(marks: Mark[]): void {
    this.marks = marks.slice(0, mostRings);
    this.request();
  }

  select(cell: number): void {
    this.selected = cell;
    this.request();
  }

  /** Asks for the next frame; all that asks before it shares it. */
  request(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.draw());
  }

  stop(): void {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.next);
  }

  private draw(): void {
    this.frame = 0;
    if (this.outgrown) return;
    for (const cell of this.fleet.takeTouched()) this.drawCell(cell, true);
    if (this.drawRings(Date.now())) this.next ??= setTimeout(() => this.step(), ringStep);
  }

  private step(): void {
    this.next = undefined;
    this.request();
  }

  private drawCell(cell: number, clear: boolean): void {
    const [x, y] = cellAt(this.grid, cell);
    if (clear) this.below.clearRect(x, y, this.grid.pitch, this.grid.pitch);
    if (!this.fleet.shows(cell)) return;
    const sprite = this.sprite(this.fleet.state[cell], this.fleet.silent[cell]);
    this.below.drawImage(sprite, x, y);
  }

  private sprite(state: number, silent: number): HTMLCanvasElement {
    const of = (this.sprites[state] ??= []);
    return (of[silent] ??= drawSprite(this.fleet.states[state], silent === 1, this.grid, this.look));
  }

  /** Draws the rings, and says whether they still move. */
  private drawRings(now: number): boolean {
    for (const [x, y, size] of this.rings) this.above.clearRect(x, y, size, size);
    this.rings = [];
    let moving = false;
    for (const mark of this.marks) {
      const age = (now - mark.at) / pulseFor;
      if (age < 0 || !this.fleet.shows(mark.cell)) continue;
      const moves = age < 1 && !this.look.still;
      this.ring(mark.cell, moves ? (age * 4) % 1 : 0, mark.colour);
      moving ||= moves;
    }
    if (this.selected >= 0) this.ring(this.selected, 0, this.look.ink);
    return moving;
  }

  private ring(cell: number, phase: number, colour: string): void {
    const { pitch, size } = this.grid;
    const [x, y] = cellAt(this.grid, cell);
    const reach = Math.max(pitch, 14 * (devicePixelRatio || 1));
    const grown = size / 2 + 2 + phase * reach;
    const line = Math.max(2, pitch / 10);
    const [cx, cy] = [x + size / 2, y + size / 2];
    this.above.globalAlpha = 1 - phase * 0.85;
    this.above.lineWidth = line;
    this.above.strokeStyle = colour;
    this.above.strokeRect(cx - grown, cy - grown, 2 * grown, 2 * grown);
    this.above.globalAlpha = 1;
    const all = 2 * (grown + line + 1);
    this.rings.push([cx - all / 2, cy - all / 2, all]);
  }
}

/** The picture of a state: what is well recedes, what is not stands out, what is silent is hollow. */
function drawSprite(def: StateDef, silent: boolean, grid: Grid, look: Look): HTMLCanvasElement {
  const sprite = document.createElement("canvas");
  sprite.width = sprite.height = grid.pitch;
  const c = sprite.getContext("2d")!;
  const well = def.severity === 0;
  const size = well ? grid.size : Math.min(grid.pitch, grid.size + (grid.size > 6 ? 1 : 0));
  const colour = well ? mix(def.colour, look.surface, 0.5) : def.colour;
  if (silent) drawSilent(c, size, well ? mix(def.colour, look.ink, 0.4) : def.colour, look);
  else {
    c.fillStyle = colour;
    c.fillRect(0, 0, size, size);
  }
  if (!well && size >= 11) drawLetter(c, def, size, silent ? look.ink : inkOn(def.colour));
  return sprite;
}

function drawSilent(c: CanvasRenderingContext2D, size: number, colour: string, look: Look): void {
  c.fillStyle = mix(colour, look.surface, 0.15);
  c.fillRect(0, 0, size, size);
  c.strokeStyle = c.fillStyle = colour;
  if (size < 6) {
    c.fillRect(0, size - 1, size, 1);
    return;
  }
  c.save();
  c.beginPath();
  c.rect(0, 0, size, size);
  c.clip();
  c.lineWidth = Math.max(1, size / 14);
  c.beginPath();
  for (let x = -size; x < size; x += Math.max(3, size / 4)) {
    c.moveTo(x, size);
    c.lineTo(x + size, 0);
  }
  c.rect(0, 0, size, size);
  c.stroke();
  c.restore();
}

function drawLetter(c: CanvasRenderingContext2D, def: StateDef, size: number, ink: string): void {
  c.fillStyle = ink;
  c.textAlign = "center";
  c.textBaseline = "middle";
  c.font = `800 ${Math.round(size * 0.72)}px system-ui, sans-serif`;
  c.fillText(def.letter, size / 2, size * 0.54, size);
}
