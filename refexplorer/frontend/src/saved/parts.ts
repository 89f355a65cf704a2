/** Parts of arrays and of maps of chunks, cut out of what was read when the page was saved. */

import { axesOf, eachLost, figures, placesOf, textsOf } from "../preview/slices.ts";
import type { Integers } from "../preview/time/frames.ts";
import type { Plan, ReadingModel, Count, Grid } from "../shared/wire.ts";

export interface ReadPart {
  reading: ReadingModel;
  values: Float64Array | null;
  integers: Integers | null;
}

/** Places along a dimension, as Python's `range`. */
interface Places {
  start: number;
  stop: number;
  step: number;
  count: number;
}

const SLICE = /^\s*(-?\d+)?\s*(?:(:)\s*(-?\d+)?\s*(?::\s*(\d+)?\s*)?)?$/;

/** An index or a slice as Python writes it; null for what is neither, or selects nothing. */
export function placesIn(text: string, size: number): Places | null {
  const match = SLICE.exec(text);
  if (match === null || (match[1] === undefined && match[2] === undefined)) return null;
  const step = match[4] === undefined ? 1 : Number(match[4]);
  if (step === 0) return null;
  const at = (given: string | undefined, other: number) => {
    if (given === undefined) return other;
    const index = Number(given);
    return Math.min(size, Math.max(0, index < 0 ? index + size : index));
  };
  const start = at(match[1], 0);
  const isOne = match[2] === undefined;
  // An index from the end that is before the first place is none.
  if (isOne && Number(match[1]) < -size) return null;
  const stop = isOne ? Math.min(size, start + 1) : at(match[3], size);
  const count = Math.max(0, Math.ceil((stop - start) / step));
  return count === 0 ? null : { start, stop, step, count };
}

/** Places as a slice, the same for all that are the same. */
export function written({ start, stop, step, count }: Places, size: number): string {
  if (count === 1 && size !== 1) return String(start);
  return `${start || ""}:${stop >= size ? "" : stop}${step > 1 ? `:${step}` : ""}`;
}

/** A part of a reading; null where it was not read, or its values are not single ones. */
export function partOf(read: ReadPart, texts: string[], sizes: number[]): ReadPart | null {
  const { reading, values, integers } = read;
  if (texts.length !== sizes.length) return null;
  const wanted = texts.map((text, axis) => placesIn(text, sizes[axis]!));
  if (wanted.includes(null)) return null;
  const places = wanted as Places[];
  const slices = places.map((each, axis) => written(each, sizes[axis]!));
  if (slices.join() === reading.slices.join()) return read;
  if (values === null || reading.state !== "fetched" || reading.reduced != null) return null;
  const from = places.map(({ start, step, count }, axis) => {
    const [first, , distance] = reading.region[axis]!.map(Number) as [number, number, number];
    if (slices[axis] === reading.slices[axis]) return { first: 0, step: 1, count: reading.shape[axis]! };
    const at = start - first;
    return distance === 1 && at >= 0 && at + (count - 1) * step < reading.shape[axis]!
      ? { first: at, step, count }
      : null;
  });
  if (from.includes(null)) return null;
  const sides = from as { first: number; step: number; count: number }[];
  // Of a picture, cells are counted, so that its last one is a whole one.
  const end = ({ start, stop, step, count }: Places) => (reading.blocks?.length ? start + count * step : stop);
  const region = places.map((each, axis) =>
    slices[axis] === reading.slices[axis] ? reading.region[axis]! : [each.start, end(each), each.step],
  ) as ReadingModel["region"];
  const cut: ReadingModel = {
    ...reading,
    slices,
    region,
    shape: sides.map(({ count }) => count),
    coordinates: reading.coordinates.map((each, axis) => ({
      ...each,
      values: each.values && pick(each.values, sides[axis]!),
      texts: each.texts ? pick(each.texts, sides[axis]!) : null,
    })),
    seconds: 0,
  };
  const found = gathered(values, reading.shape, sides);
  const lost = [...eachLost(reading)].filter(({ index }) =>
    placesOf(cut, index).every(([start, stop]) => start < stop),
  );
  const [fill, failed] = ["fill", "failed"].map((state) => lost.filter((each) => each.state === state).length) as [
    number,
    number,
  ];
  const fetched = chunkCount(places, cut) - lost.length;
  // Where nothing was fetched, Python shows the fill value, which is not here.
  if (fetched === 0) return null;
  const found64 = integers && gathered(integers, reading.shape, sides);
  const { low, high } = figures(found, found64);
  const text = textsOf(reading, found, found64);
  const counted = (sign: number) => found.reduce((sum, value) => sum + (value === sign ? 1 : 0), 0);
  const unread = cut.blocks?.length
    ? lost.reduce(
        (sum, { index }) => sum + placesOf(cut, index).reduce((cells, [start, stop]) => cells * (stop - start), 1),
        0,
      )
    : 0;
  return {
    reading: {
      ...cut,
      lost: lost.map(({ index, state }) => ({ index, count: 1, state })),
      chunks: { fetched, fill, failed },
      minimum: low < 0 ? null : found[low]!,
      maximum: high < 0 ? null : found[high]!,
      extremes: low < 0 ? null : [text(low), text(high)],
      infinite: [counted(-Infinity), counted(Infinity)],
      missing: found.reduce((sum, value) => sum + (Number.isNaN(value) ? 1 : 0), 0) - unread,
      message: failed > 0 || reading.chunks.failed === 0 ? reading.message : null,
    },
    values: found,
    integers: found64,
  };
}

/** What reading a part takes, which is nothing: it is here. */
export function planOf(part: ReadPart, whole: Plan): Plan {
  const { slices, shape, region } = part.reading;
  const places = region.map(([start, stop, step], axis) => ({
    start: Number(start),
    stop: Number(stop),
    step: Number(step),
    count: shape[axis]!,
  }));
  return {
    ...whole,
    slices: [...slices],
    shape: [...shape],
    chunk_count: chunkCount(places, part.reading),
    estimate: { ...whole.estimate, bytes: 0, requests: 0, targets: [], label: "Show what was read before", chunks: 0 },
  };
}

function chunkCount(places: Places[], { chunk_shape, chunk_runs }: ReadingModel): number {
  const axes = axesOf(chunk_shape, chunk_runs);
  return places.reduce((product, { start, step, count }, axis) => {
    const touched = new Set(Array.from({ length: count }, (_, i) => axes[axis]!.at(start + i * step)));
    return product * touched.size;
  }, 1);
}

function pick<T>(values: readonly T[], { first, step, count }: { first: number; step: number; count: number }): T[] {
  return Array.from({ length: count }, (_, i) => values[first + i * step]!);
}

/** Values of a box of others, both in C order. */
function gathered<T extends Float64Array | Integers>(
  values: T,
  shape: number[],
  sides: { first: number; step: number; count: number }[],
): T {
  let offsets = [0];
  sides.forEach(({ first, step, count }, axis) => {
    const stride = shape.slice(axis + 1).reduce((product, size) => product * size, 1);
    offsets = offsets.flatMap((offset) =>
      Array.from({ length: count }, (_, i) => offset + (first + i * step) * stride),
    );
  });
  const found = new (values.constructor as new (size: number) => T)(offsets.length);
  offsets.forEach((offset, i) => {
    found[i] = values[offset]!;
  });
  return found;
}

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
