/** How the cells of the map lie: sizes are in pixels of the canvas, not of CSS. */
export interface Grid {
  columns: number;
  rows: number;
  pitch: number; // from one cell to the next
  size: number; // of a cell; the rest of the pitch is the gap
}

/**
 * The grid of the largest cells, with a pitch of least to most, with which n of them fit into width
 * and height. Where not even the smallest fit, the grid is higher, and the page scrolls.
 */
export function gridOf(n: number, width: number, height: number, least: number, most: number): Grid {
  let pitch = Math.min(most, Math.floor(Math.sqrt((width * height) / Math.max(n, 1))));
  while (pitch > least && Math.floor(width / pitch) * Math.floor(height / pitch) < n) pitch--;
  pitch = Math.max(pitch, least);
  const columns = Math.max(1, Math.floor(width / pitch));
  const gap = pitch >= 24 ? Math.round(pitch / 10) : pitch >= 8 ? 2 : pitch >= 3 ? 1 : 0;
  return { columns, rows: Math.ceil(n / columns), pitch, size: pitch - gap };
}

/** The left and upper edge of a cell. */
export function cellAt(grid: Grid, cell: number): [number, number] {
  return [(cell % grid.columns) * grid.pitch, Math.floor(cell / grid.columns) * grid.pitch];
}

/** The cell at a point; -1 where there is none. */
export function hit(grid: Grid, n: number, x: number, y: number): number {
  const [column, row] = [Math.floor(x / grid.pitch), Math.floor(y / grid.pitch)];
  if (x < 0 || y < 0 || column >= grid.columns) return -1;
  const cell = row * grid.columns + column;
  return cell < n ? cell : -1;
}

/** The cell that a key leads to from another, or undefined where the key is of no use here. */
export function step(grid: Grid, n: number, cell: number, key: string): number | undefined {
  const moves: Record<string, number> = {
    ArrowLeft: -1, ArrowRight: 1, ArrowUp: -grid.columns, ArrowDown: grid.columns,
    PageUp: -10 * grid.columns, PageDown: 10 * grid.columns, Home: -cell, End: n - 1 - cell,
  };
  if (!(key in moves) || n === 0) return undefined;
  const to = cell + moves[key];
  return to >= 0 && to < n ? to : key.startsWith("Page") ? Math.max(0, Math.min(n - 1, to)) : cell;
}
