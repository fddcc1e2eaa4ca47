/** One state of a tenant's set, as the server describes it. */
export interface StateDef {
  name: string;
  severity: number;
  letter: string;
  colour: string;
  symbol: string;
}

/** The look of a state that the set does not know: its severity is 16. */
export function unknownState(name: string, severity = 16): StateDef {
  return { name, severity, letter: "?", colour: "#546e7a", symbol: "○" };
}

/** Red, green and blue of "#rrggbb", or of "#rgb", as a style sheet may be after it was built. */
export function rgb(colour: string): [number, number, number] {
  const digits = colour.length === 4 ? colour.replace(/[0-9a-f]/gi, "$&$&") : colour;
  const n = Number.parseInt(digits.slice(1), 16);
  return Number.isNaN(n) ? [128, 128, 128] : [(n >> 16) & 255, (n >> 8) & 255, n & 255];
}

/** Relative luminance, as WCAG 2.2 defines it. */
export function luminance(colour: string): number {
  const [r, g, b] = rgb(colour).map((c) => {
    const s = c / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Contrast of two colours, as WCAG 2.2 defines it: 1 to 21. */
export function contrast(a: string, b: string): number {
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

/** The ink that is read best on a colour. */
export function inkOn(colour: string): string {
  return contrast(colour, "#ffffff") >= contrast(colour, "#101214") ? "#ffffff" : "#101214";
}

/** Contrast that small text needs (WCAG 2.2, AA). */
const enough = 4.5;

/** A colour to write on, as near to the given one as can be, and the ink that is read on it. */
export function readable(colour: string): { ground: string; ink: string } {
  const ink = inkOn(colour);
  const away = ink === "#ffffff" ? "#000000" : "#ffffff";
  let ground = colour;
  for (let share = 0.98; contrast(ground, ink) < enough && share > 0; share -= 0.02) {
    ground = mix(colour, away, share);
  }
  return { ground, ink };
}

/** A colour between two others; share is how much of the first one is in it. */
export function mix(a: string, b: string, share: number): string {
  const [x, y] = [rgb(a), rgb(b)];
  const part = x.map((c, i) => Math.round(c * share + y[i] * (1 - share)));
  return "#" + part.map((c) => c.toString(16).padStart(2, "0")).join("");
}

/** A state with how many devices are in it, and where it stands in the fleet's list of states. */
export interface Tile {
  def: StateDef;
  index: number;
  count: number;
  silent: number;
}

/** How many tiles are shown although no device is in their state. */
const mostEmptyTiles = 8;

/**
 * The tiles to show, severest first. A large set would fill the page with zeros, so of such a set
 * only the states that devices are in are shown.
 */
export function tilesOf(
  states: StateDef[],
  counts: ArrayLike<number>,
  silent: ArrayLike<number>,
): Tile[] {
  return states
    .map((def, index) => ({ def, index, count: counts[index] ?? 0, silent: silent[index] ?? 0 }))
    .filter((t) => t.count > 0 || (states.length <= mostEmptyTiles && t.def.severity !== 16))
    .sort((a, b) => b.def.severity - a.def.severity || (a.def.name < b.def.name ? -1 : 1));
}
