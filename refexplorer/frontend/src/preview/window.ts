/** The window of a picture: which of its cells are in sight, moved by wheel, drag and keys. */

import type { ReadingModel } from "../shared/wire.ts";
import type { Axis } from "./slices.ts";

/** Start and end along rows and columns, in cells of the reading; outside of 0 to its size, too. */
export type Window = [rows: [number, number], columns: [number, number]];

export function wholeOf([rows, columns]: [Axis, Axis]): Window {
  return [
    [0, rows.size],
    [0, columns.size],
  ];
}

/** The window by so many times smaller, about a point of it (0 to 1 along each side). */
export function zoomed(window: Window, factor: number, about: [number, number]): Window {
  return window.map(([from, to], side) => {
    const still = from + (to - from) * about[side]!;
    return [still - (still - from) / factor, still + (to - still) / factor];
  }) as Window;
}

/** The window moved by shares of its sides. */
export function moved(window: Window, by: [number, number]): Window {
  return window.map(([from, to], side) => [from + (to - from) * by[side]!, to + (to - from) * by[side]!]) as Window;
}

/** Fewest values along a side. */
const LEAST = 4;

/** The window inside the array, with few values at least; null where it is what is read already. */
export function slicesOf(reading: ReadingModel, axes: [Axis, Axis], window: Window, sizes: number[]): string[] | null {
  const slices = [...reading.slices];
  axes.forEach(({ dimension }, side) => {
    const [start, , step] = reading.region[dimension]!.map(Number) as [number, number, number];
    const own = step / (reading.blocks?.[dimension] || 1);
    const least = LEAST * own;
    const size = sizes[dimension]!;
    let [from, to] = window[side]!.map((cell) => start + cell * step) as [number, number];
    const length = Math.min(size, Math.max(least, Math.round(to - from)));
    from = Math.round((from + to) / 2 - length / 2);
    from = Math.max(0, Math.min(size - length, from));
    to = Math.min(size, from + length);
    slices[dimension] = `${from === 0 ? "" : from}:${to >= size ? "" : to}${own > 1 ? `:${own}` : ""}`;
  });
  return slices.join() === reading.slices.join() ? null : slices;
}
