/** A part of a map of chunks that is here as a whole; each of its cells has to be one chunk. */

import type { Count, Grid } from "../shared/wire.ts";

/** Five buffers, as `ShowGrid` answers with: of the first one there is a layer for each state. */
export interface SavedGrid {
  map: Grid;
  buffers: ArrayBuffer[];
}

/** The cells of a window, or null if they would have to be counted again. */
export function cut({ map, buffers }: SavedGrid, axes: number[] | null, window: [Count, Count][]): SavedGrid | null {
  const drawn = map.axes;
  if (axes !== null && axes.join() !== drawn.join()) return null;
  if (map.sampled || map.steps.some((step) => Number(step) !== 1)) return null;
  const others = map.window.some((span, axis) => !drawn.includes(axis) && span.join() !== window[axis]?.join());
  if (window.length !== map.window.length || others) return null;
  // A single axis is drawn across.
  const [down, across] =
    drawn.length > 1
      ? [spanOf(map, drawn[0]!, window), spanOf(map, drawn[1]!, window)]
      : [[0, map.rows] as const, drawn.length === 1 ? spanOf(map, drawn[0]!, window) : ([0, map.columns] as const)];
  if (down === null || across === null) return null;
  const parts = buffers.map((buffer) => layers(new Float64Array(buffer), map, down, across));
  const [rows, columns] = [down[1] - down[0], across[1] - across[0]];
  const counts = map.states.map((_, state) =>
    parts[0]!.subarray(state * rows * columns, (state + 1) * rows * columns).reduce((total, n) => total + n, 0),
  );
  return {
    map: { ...map, window, rows, columns, counts },
    buffers: parts.map((part) => part.buffer as ArrayBuffer),
  };
}

function spanOf(map: Grid, axis: number, window: [Count, Count][]): readonly [number, number] | null {
  const [first, last] = map.window[axis]!.map(Number) as [number, number];
  const [start, stop] = window[axis]!.map(Number) as [number, number];
  return first <= start && start < stop && stop <= last ? [start - first, stop - first] : null;
}

function layers(
  whole: Float64Array,
  map: Grid,
  [top, bottom]: readonly [number, number],
  [left, right]: readonly [number, number],
): Float64Array {
  const cells = map.rows * map.columns;
  const [rows, columns] = [bottom - top, right - left];
  const found = new Float64Array((whole.length / cells) * rows * columns);
  for (let at = 0, layer = 0; layer < whole.length; layer += cells) {
    for (let row = top; row < bottom; row++, at += columns) {
      found.set(whole.subarray(layer + row * map.columns + left, layer + row * map.columns + right), at);
    }
  }
  return found;
}
