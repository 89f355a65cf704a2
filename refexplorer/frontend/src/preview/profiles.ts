/** Points of a picture whose profiles are kept: they stay where they are in the array while slices and windows change. */

import { FLAG_COLOURS } from "./colours.ts";
import { type Axis, placeOf } from "./slices.ts";

/** Profiles that are distinguished by their colours; black, which follows, cannot be seen on a dark page. */
export const MOST_KEPT = 7;

export interface Kept {
  /** In the array, one number for each dimension. */
  index: number[];
  colour: string;
}

/** A point with the place that it has in what is drawn. */
export interface Profile {
  /** Row and column; null along a dimension of which the place is not drawn. */
  at: [row: number | null, column: number | null];
  name: string;
  colour: string;
  /** Null: the point that was chosen last. */
  kept: Kept | null;
}

/** Keeps a point once, in a colour that no other has. */
export function keptWith(points: Kept[], index: number[]): Kept[] {
  const isThere = points.some((each) => each.index.join() === index.join());
  const colour = FLAG_COLOURS.slice(0, MOST_KEPT).find((ink) => points.every((each) => each.colour !== ink));
  return isThere || colour === undefined ? points : [...points, { index, colour }];
}

/** The profiles of the points that were kept, and of the one that was chosen last. */
export function profilesOf(points: Kept[], chosen: number[] | null, axes: [Axis, Axis]): Profile[] {
  const found = points.map((kept): Profile => {
    const at = axes.map((axis) => cellOf(axis, kept.index[axis.dimension]!)) as Profile["at"];
    return { at, name: nameOf(axes, at, kept), colour: kept.colour, kept };
  });
  if (chosen === null || chosen.some((cell, side) => cell >= axes[side]!.size)) return found;
  const at = [chosen[0]!, chosen[1]!] as [number, number];
  if (found.some((each) => each.at.join() === at.join())) return found;
  return [...found, { at, name: nameOf(axes, at, null), colour: "var(--ink)", kept: null }];
}

/** The lines along one of the two axes; a point outside the picture has none. */
export function linesAlong(
  side: 0 | 1,
  profiles: Profile[],
  [rows, columns]: [Axis, Axis],
  values: Float64Array,
): Line[] {
  return profiles.flatMap(({ at: [row, column], name, colour }) => {
    if (side === 1)
      return row === null
        ? []
        : [{ name, colour, values: values.subarray(row * columns.size, (row + 1) * columns.size) }];
    if (column === null) return [];
    return [
      { name, colour, values: Float64Array.from({ length: rows.size }, (_, i) => values[i * columns.size + column]!) },
    ];
  });
}

/** The lines along a dimension of which the picture shows one place, through all that was read of it. */
export function linesAcross(
  axis: Axis,
  profiles: Profile[],
  [rows, columns]: [Axis, Axis],
  all: Float64Array,
  shape: number[],
  steps: number[],
): Line[] {
  return profiles.flatMap(({ at: [row, column], name, colour }) => {
    if (row === null || column === null) return [];
    const index = steps.with(rows.dimension, row).with(columns.dimension, column);
    const places = Array.from({ length: axis.size }, (_, i) =>
      index.with(axis.dimension, i).reduce((place, at, dimension) => place * shape[dimension]! + at, 0),
    );
    return [{ name, colour, values: Float64Array.from(places, (place) => all[place]!) }];
  });
}

function nameOf(axes: [Axis, Axis], at: Profile["at"], kept: Kept | null): string {
  return axes
    .map(
      (axis, side) =>
        `${axis.name} ${at[side] === null ? `index ${kept!.index[axis.dimension]}, not drawn` : placeOf(axis, at[side]!)}`,
    )
    .join(", ");
}

/** The cell of an axis that a place of the array is in. */
function cellOf({ first, step, size }: Axis, index: number): number | null {
  const cell = Math.floor((index - first) / step);
  return cell >= 0 && cell < size ? cell : null;
}

export interface Line {
  name: string;
  values: Float64Array;
  /** Else one of those that tell lines apart. */
  colour?: string;
}

/** Lines that can be distinguished in one plot. */
const MOST = 16;

/** The rows of a slice, or some of very many at the same distance from each other. */
export function rowsOf(values: Float64Array, [rows, columns]: [Axis, Axis]): Line[] {
  const count = Math.min(rows.size, MOST);
  return Array.from({ length: count }, (_, i) => {
    const row = count === 1 ? 0 : Math.round((i * (rows.size - 1)) / (count - 1));
    return {
      name: `${rows.name} ${placeOf(rows, row)}`,
      values: values.subarray(row * columns.size, (row + 1) * columns.size),
    };
  });
}
