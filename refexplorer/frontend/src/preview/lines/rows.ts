/** The lines that a picture is made of. */

import { placeOf, type Axis } from "../slices.ts";

export interface Line {
  name: string;
  values: Float64Array;
  /** Else one of those that tell lines apart. */
  colour?: string;
}

/** Lines that are told from each other in one plot. */
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
