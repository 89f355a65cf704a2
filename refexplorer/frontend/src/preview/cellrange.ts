/** A range of cells that was drawn by hand in a table. */

import { ARROWS } from "../shared/pointing.ts";
import type { Axis } from "./slices.ts";

/** Row and column of the cell where it began, and of the one where it ends; both are in it. */
export interface Range {
  from: [row: number, column: number];
  to: [row: number, column: number];
}

export function spansOf({ from, to }: Range): [rows: [number, number], columns: [number, number]] {
  return [0, 1].map((side) => [Math.min(from[side]!, to[side]!), Math.max(from[side]!, to[side]!)]) as [
    [number, number],
    [number, number],
  ];
}

export function holds(range: Range | null, row: number, column: number): boolean {
  if (range === null) return false;
  const [[top, bottom], [left, right]] = spansOf(range);
  return row >= top && row <= bottom && column >= left && column <= right;
}

/** The range after a key: an arrow moves its end, without Shift with its beginning; null for other keys. */
export function stepped(
  range: Range | null,
  key: string,
  isHeld: boolean,
  first: [number, number],
  last: [number, number],
): Range | null {
  const move = ARROWS[key];
  if (!move) return null;
  if (range === null) return { from: first, to: first };
  const to = range.to.map((at, side) => Math.max(first[side]!, Math.min(last[side]!, at + move[side]!))) as [
    number,
    number,
  ];
  return { from: isHeld ? range.from : to, to };
}

/** The axes of the cells in a range, and where each is among all. */
export function cut({ from, to }: Range, axes: Axis[]): { axes: Axis[]; places: number[] } {
  const [[top, bottom], [left, right]] = spansOf({ from, to });
  const across = axes[1]?.size ?? 1;
  const part = (axis: Axis, start: number, stop: number): Axis => ({
    ...axis,
    size: stop - start + 1,
    first: axis.first + start * axis.step,
    at: axis.at?.slice(start, stop + 1) ?? null,
    texts: axis.texts?.slice(start, stop + 1) ?? null,
  });
  const width = right - left + 1;
  return {
    axes: axes.map((axis, side) => (side === 0 ? part(axis, top, bottom) : part(axis, left, right))),
    places: Array.from(
      { length: (bottom - top + 1) * width },
      (_, i) => (top + Math.floor(i / width)) * across + left + (i % width),
    ),
  };
}
