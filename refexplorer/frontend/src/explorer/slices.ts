/** From the values of a reading to the line or the picture that is drawn. */

import type { Reading } from "../shared/wire.ts";

export interface Axis {
  /** Which dimension of the array. */
  dimension: number;
  name: string;
  size: number;
  /** Where each index stands: the coordinate where it is known and runs one way, else the index. */
  at: number[] | null;
}

/** Which dimensions are drawn (at most two, the last of more than one value), and which are stepped through. */
export interface Layout {
  drawn: Axis[];
  stepped: Axis[];
}

export function layout(reading: Reading): Layout {
  const axes = reading.shape.map((size, dimension) => ({
    dimension,
    name: reading.dimensions[dimension] ?? `axis ${dimension}`,
    size,
    at: evenly(reading.coordinates[dimension]?.values ?? null, size),
  }));
  const drawn = axes.filter((axis) => axis.size > 1).slice(-2);
  const stepped = axes.filter((axis) => axis.size > 1 && !drawn.includes(axis));
  return { drawn, stepped };
}

/** The coordinate as an axis, if it runs one way with steps alike enough to draw cells of one size. */
function evenly(values: number[] | null, size: number): number[] | null {
  if (values === null || values.length !== size || size < 2) return null;
  const mean = (values[size - 1]! - values[0]!) / (size - 1);
  const even = values.every((value, i) => Math.abs(value - values[0]! - i * mean) <= Math.abs(mean) / 4);
  return mean !== 0 && even ? values : null;
}

/** Values of the drawn dimensions, C order, at the given step of every other dimension. */
export function slice(
  values: Float64Array,
  reading: Reading,
  { drawn }: Layout,
  steps: number[],
): Float64Array {
  const strides = stridesOf(reading.shape);
  const start = steps.reduce((sum, step, dimension) => sum + step * strides[dimension]!, 0);
  const [rows, columns] = drawn.length === 2 ? drawn : [null, drawn[0] ?? null];
  const height = rows?.size ?? 1;
  const width = columns?.size ?? 1;
  const result = new Float64Array(height * width);
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const offset = row * (rows ? strides[rows.dimension]! : 0) + column * (columns ? strides[columns.dimension]! : 0);
      result[row * width + column] = values[start + offset]!;
    }
  }
  return result;
}

function stridesOf(shape: number[]): number[] {
  const strides = new Array<number>(shape.length).fill(1);
  for (let i = shape.length - 2; i >= 0; i--) strides[i] = strides[i + 1]! * shape[i + 1]!;
  return strides;
}

/** At most `cells` cells on each side: every n-th value, so that what is drawn was really there. */
export function thinned(values: Float64Array, width: number, height: number, cells = 900) {
  const stepX = Math.ceil(width / cells);
  const stepY = Math.ceil(height / cells);
  if (stepX === 1 && stepY === 1) return { values, width, height, every: 1 };
  const columns = Math.ceil(width / stepX);
  const rows = Math.ceil(height / stepY);
  const result = new Float64Array(columns * rows);
  for (let y = 0; y < rows; y++) {
    for (let x = 0; x < columns; x++) result[y * columns + x] = values[y * stepY * width + x * stepX]!;
  }
  return { values: result, width: columns, height: rows, every: Math.max(stepX, stepY) };
}

/** Indices to draw of a long line: the lowest and the highest of each of `buckets` stretches. */
export function extremes(values: Float64Array, buckets = 1500): number[] {
  if (values.length <= 2 * buckets) return Array.from(values, (_, i) => i);
  const indices: number[] = [];
  for (let bucket = 0; bucket < buckets; bucket++) {
    const from = Math.floor((bucket * values.length) / buckets);
    const to = Math.floor(((bucket + 1) * values.length) / buckets);
    let [low, high] = [from, from];
    for (let i = from; i < to; i++) {
      if (values[i]! < values[low]! || Number.isNaN(values[low]!)) low = i;
      if (values[i]! > values[high]! || Number.isNaN(values[high]!)) high = i;
    }
    indices.push(...(low === high ? [low] : [low, high].sort((a, b) => a - b)));
  }
  return indices;
}

export function range(values: Float64Array): [number, number] | null {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high && Number.isFinite(low) && Number.isFinite(high) ? [low, high] : null;
}
