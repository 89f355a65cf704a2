/** A line over a scrubber: the values at the pinned point, or the mean of each picture. */

import { range, stridesOf, type Axis } from "./slices.ts";
import { value } from "../shared/format.ts";
import type { ReadingModel } from "../shared/wire.ts";

export interface Series {
  values: Float64Array;
  /** What they are. */
  label: string;
}

/** Values that are gone through for one line. */
const MOST = 4_000_000;
const HEIGHT = 28;

/** The values along a dimension that was read completely; null if there are too many or too few. */
export function seriesAlong(
  all: Float64Array,
  reading: ReadingModel,
  axis: Axis,
  drawn: Axis[],
  steps: number[],
  pinned: number[] | null,
): Series | null {
  const strides = stridesOf(reading.shape);
  const along = strides[axis.dimension]!;
  const places = pinned && placesOfIndex(reading, pinned);
  const cells = places ? 1 : drawn.reduce((product, { size }) => product * size, 1);
  if (axis.size < 3 || cells * axis.size > MOST) return null;
  const from = (places ?? steps.map((at, dimension) => (drawn.some((each) => each.dimension === dimension) ? 0 : at)))
    .with(axis.dimension, 0)
    .reduce((sum, at, dimension) => sum + at * strides[dimension]!, 0);
  const offsets = places ? [0] : offsetsOf(drawn, strides);
  const values = Float64Array.from({ length: axis.size }, (_, i) => {
    let [sum, n] = [0, 0];
    for (const offset of offsets) {
      const found = all[from + i * along + offset]!;
      if (Number.isFinite(found)) [sum, n] = [sum + found, n + 1];
    }
    return n === 0 ? NaN : sum / n;
  });
  return { values, label: places ? "at the point" : "mean of each picture" };
}

/** Where a point of the array is in what was read; null outside. */
function placesOfIndex({ region, shape }: ReadingModel, index: number[]): number[] | null {
  const places = index.map((at, dimension) => {
    const [start, , step] = region[dimension]!.map(Number) as [number, number, number];
    return Math.floor((at - start) / step);
  });
  return places.every((at, dimension) => at >= 0 && at < shape[dimension]!) ? places : null;
}

function offsetsOf(drawn: Axis[], strides: number[]): number[] {
  return drawn.reduce(
    (before, { dimension, size }) =>
      before.flatMap((offset) => Array.from({ length: size }, (_, i) => offset + i * strides[dimension]!)),
    [0],
  );
}

export function seriesWords({ values, label }: Series): string {
  const [low, high] = range(values) ?? [NaN, NaN];
  return Number.isNaN(low) ? `${label}: no values` : `${label}: ${value(low)} to ${value(high)}`;
}

export function SeriesLine({ series: { values, label }, at }: { series: Series; at: number }) {
  const found = range(values);
  if (found === null) return null;
  const [low, high] = found[0] === found[1] ? [found[0] - 1, found[1] + 1] : found;
  const y = (each: number) => HEIGHT - 2 - ((each - low) / (high - low)) * (HEIGHT - 4);
  let isDown = false;
  const path = Array.from(values, (each, i) => {
    const step = Number.isFinite(each) ? `${isDown ? "L" : "M"}${i + 0.5},${y(each).toFixed(2)}` : "";
    isDown = step !== "";
    return step;
  });
  return (
    <svg
      class="series"
      viewBox={`0 0 ${values.length} ${HEIGHT}`}
      height={HEIGHT}
      preserveAspectRatio="none"
      role="img"
      aria-label={seriesWords({ values, label })}
    >
      <line class="series-at" x1={at + 0.5} x2={at + 0.5} y1={0} y2={HEIGHT} />
      <path d={path.join("")} />
    </svg>
  );
}
