/** What the list needs to know of the fleet. */
export interface Cells {
  ids: string[];
  since: Float64Array;
  severity(cell: number): number;
}

/**
 * The cells that are not normal: severest first, then longest. Each severity has a list of its own
 * that stays sorted, so that a change costs a binary search, and not a sort of thousands of cells
 * between two frames.
 */
export class Trouble {
  sorted = false;
  private lists = new Map<number, number[]>(); // by severity
  private order: number[] = []; // severities, greatest first

  constructor(private cells: Cells) {}

  get size(): number {
    let n = 0;
    for (const list of this.lists.values()) n += list.length;
    return n;
  }

  /** Adds a cell without a place, while all are loaded; sort gives the places. */
  append(cell: number): void {
    this.list(this.cells.severity(cell)).push(cell);
  }

  sort(): void {
    for (const list of this.lists.values()) list.sort((a, b) => this.compare(a, b));
    this.sorted = true;
  }

  insert(cell: number): void {
    const severity = this.cells.severity(cell);
    if (severity === 0) return;
    const list = this.list(severity);
    list.splice(this.place(list, cell), 0, cell);
  }

  /** Takes a cell away; its severity and since must still be those it was inserted with. */
  remove(cell: number): void {
    const list = this.lists.get(this.cells.severity(cell));
    if (!list) return;
    const at = this.place(list, cell);
    if (list[at] === cell) list.splice(at, 1);
  }

  /** The cells of the rows from, up to but without to. */
  slice(from: number, to: number): number[] {
    const rows: number[] = [];
    let start = 0; // row of the list's first cell
    for (const severity of this.order) {
      const list = this.lists.get(severity)!;
      const [a, b] = [Math.max(from - start, 0), Math.min(to - start, list.length)];
      for (let i = a; i < b; i++) rows.push(list[i]);
      start += list.length;
      if (start >= to) break;
    }
    return rows;
  }

  /** The cell that is longest in a severity and fits. */
  longest(severity: number, fits: (cell: number) => boolean): number | undefined {
    return this.lists.get(severity)?.find(fits);
  }

  private list(severity: number): number[] {
    let list = this.lists.get(severity);
    if (!list) {
      list = [];
      this.lists.set(severity, list);
      this.order = [...this.lists.keys()].sort((a, b) => b - a);
    }
    return list;
  }

  private place(list: number[], cell: number): number {
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.compare(list[middle], cell) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private compare(a: number, b: number): number {
    const { since, ids } = this.cells;
    return since[a] - since[b] || (ids[a] < ids[b] ? -1 : ids[a] > ids[b] ? 1 : a - b);
  }
}
