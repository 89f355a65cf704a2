/** From the values of a reading to the line or the picture that is drawn, its chunks and its window. */

import { count, exact, grouped, moment } from "../shared/format.ts";
import type { ReadingModel } from "../shared/wire.ts";
import type { Integers } from "./time/frames.ts";

export interface Axis {
  /** Which dimension of the array. */
  dimension: number;
  name: string;
  size: number;
  /** The position of each index: the coordinate if it is known and monotonic, else the index. */
  at: number[] | null;
  /** The index in the array of the first one, and how far it is to the next. */
  first: number;
  step: number;
  /** Whether that is milliseconds since 1970. */
  times: boolean;
  /** Where each is, where numbers do not have all digits of it. */
  texts?: string[] | null;
  /** How many values share a cell, and the index that none of them reaches. */
  block?: number;
  stop?: number;
}

/** Which dimensions are drawn, rows before columns, and which are stepped through. */
export interface Layout {
  drawn: Axis[];
  stepped: Axis[];
}

/** @param wanted - Dimensions to draw; by default the last two of more than one value. */
export function layout(reading: ReadingModel, wanted: number[] = []): Layout {
  const axes = reading.shape.map((size, dimension) => {
    const at = evenly(reading.coordinates[dimension]?.values ?? null, size);
    const times = at !== null && reading.coordinates[dimension]!.times;
    const [first, stop, step] = reading.region[dimension]!.map(Number) as [number, number, number];
    const texts = reading.coordinates[dimension]?.texts ?? null;
    return {
      dimension,
      name: reading.dimensions[dimension] ?? `axis ${dimension}`,
      size,
      at,
      times,
      first,
      step,
      texts,
      block: reading.reduced ? (reading.blocks?.[dimension] ?? 1) : 1,
      stop,
    };
  });
  const long = axes.filter((axis) => axis.size > 1);
  const chosen = wanted.flatMap((dimension) => long.filter((axis) => axis.dimension === dimension));
  const drawn = chosen.length > 0 ? chosen : long.slice(-2);
  return { drawn, stepped: long.filter((axis) => !drawn.includes(axis)) };
}

/** The coordinate as an axis, if it runs one way with steps alike enough to draw cells of one size. */
function evenly(found: (number | null)[] | null, size: number): number[] | null {
  if (found === null || found.length !== size || size < 2 || found.includes(null)) return null;
  const values = found as number[];
  const mean = (values[size - 1]! - values[0]!) / (size - 1);
  const even = values.every((value, i) => Math.abs(value - values[0]! - i * mean) <= Math.abs(mean) / 4);
  return mean !== 0 && even ? values : null;
}

/** What an axis is called: where no coordinate says where its places are, they are indices. */
export function titleOf({ name, at, texts }: Axis): string {
  return at === null && !texts ? `${name} (index)` : name;
}

/** Where a cell of a dimension is, in words: of a block without a coordinate its first and last index. */
export function placeOf(axis: Axis, index: number): string {
  if (axis.texts) return grouped(axis.texts[index]!);
  if (axis.at !== null)
    return axis.times ? moment(axis.at[index]!) : grouped(exact(Number(axis.at[index]!.toPrecision(12)), "float64"));
  const [first, last] = endsOf(axis, index);
  return first === last ? count(first) : `${count(first)} to ${count(last)}`;
}

/** The first and the last index in the array of what a cell has; the last block may have fewer. */
export function endsOf({ first, step, block = 1, stop }: Axis, index: number): [number, number] {
  const [start, apart] = [first + index * step, step / block];
  const last = start + (block - 1) * apart;
  return [start, stop === undefined || last < stop ? last : start + Math.floor((stop - 1 - start) / apart) * apart];
}

/** What a cell is where it is not one value: "mean of 6 × 6"; empty where it is. */
export function cellWords({ reduced, blocks, region }: ReadingModel, cell?: number[]): string {
  if (!reduced || !blocks) return "";
  const sizes = blocks.map((block, dimension) => {
    if (cell === undefined) return block;
    const [first, stop, step] = region[dimension]!.map(Number) as [number, number, number];
    const [start, last] = endsOf({ first, step, block, stop } as Axis, cell[dimension]!);
    return Math.round((last - start) / (step / block)) + 1;
  });
  const long = sizes
    .filter((_, dimension) => blocks[dimension]! > 1)
    .map(count)
    .join(" × ");
  return `${reduced === "mean" ? "mean" : "middle"} of ${long}`;
}

/** The text of a value as it is shown: of one that was unpacked as it was meant, 29.19, not 29.189999999999998. */
export function shownText({ dtype, value_type: type }: Pick<ReadingModel, "dtype" | "value_type">, text: string) {
  if (dtype === type || !/\.\d{12,}/.test(text)) return grouped(text);
  const short = exact(Number(Number(text).toPrecision(15)), "float64");
  // Digits that no arithmetic left over stay.
  return grouped(short.length + 6 < text.length ? short : text);
}

/** Each value as text with every digit; of means those of float64. */
export function textsOf(
  { reduced, value_type }: Pick<ReadingModel, "reduced" | "value_type">,
  values: Float64Array,
  integers: Integers | null,
): (index: number) => string {
  const type = reduced === "mean" ? "float64" : value_type!;
  return (index) =>
    exact(values[index]!, type, integers === null || Number.isNaN(values[index]!) ? undefined : integers[index]!);
}

/** Where the slice is along each dimension: what was asked for, if the reading has it. */
export function stepsIn({ shape }: ReadingModel, asked: number[]): number[] {
  return shape.map((size, dimension) => (asked[dimension]! < size ? asked[dimension]! : 0));
}

/** Values of the drawn dimensions, C order, at the given step of every other dimension. */
export function slice<T extends Float64Array | Integers>(
  values: T,
  reading: ReadingModel,
  { drawn }: Layout,
  steps: number[],
): T {
  return part(values, reading.shape, drawn, steps);
}

/** The same of values of a shape. */
export function part<T extends Float64Array | Integers>(values: T, shape: number[], drawn: Axis[], steps: number[]): T {
  const strides = stridesOf(shape);
  const places = drawn.reduce((all, { dimension }) => all.with(dimension, 0), steps);
  const start = places.reduce((sum, step, dimension) => sum + step * strides[dimension]!, 0);
  const [rows, columns] = drawn.length === 2 ? drawn : [null, drawn[0] ?? null];
  const height = rows?.size ?? 1;
  const width = columns?.size ?? 1;
  // The last dimensions lie as they are drawn: no copy is needed, and pictures are scrubbed through faster.
  const isInOrder = (!columns || strides[columns.dimension] === 1) && (!rows || strides[rows.dimension] === width);
  if (isInOrder) return values.subarray(start, start + height * width) as T;
  const result = new (values.constructor as new (size: number) => T)(height * width);
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const offset = row * (rows ? strides[rows.dimension]! : 0) + column * (columns ? strides[columns.dimension]! : 0);
      result[row * width + column] = values[start + offset]!;
    }
  }
  return result;
}

export function stridesOf(shape: number[]): number[] {
  const strides = new Array<number>(shape.length).fill(1);
  for (let i = shape.length - 2; i >= 0; i--) strides[i] = strides[i + 1]! * shape[i + 1]!;
  return strides;
}

/** Indices to draw of a long line: the lowest and the highest number of each of `buckets` intervals. */
export function extremes(values: Float64Array, buckets = 1500): number[] {
  if (values.length <= 2 * buckets) return Array.from(values, (_, i) => i);
  const indices: number[] = [];
  for (let bucket = 0; bucket < buckets; bucket++) {
    const from = Math.floor((bucket * values.length) / buckets);
    const to = Math.floor(((bucket + 1) * values.length) / buckets);
    let [low, high] = [from, from];
    for (let i = from; i < to; i++) {
      if (!Number.isFinite(values[i]!)) continue;
      if (values[i]! < values[low]! || !Number.isFinite(values[low]!)) low = i;
      if (values[i]! > values[high]! || !Number.isFinite(values[high]!)) high = i;
    }
    indices.push(...(low === high ? [low] : [low, high].sort((a, b) => a - b)));
  }
  return indices;
}

/** Indices of infinite values, the first of each sign in each of `buckets` intervals. */
export function infinities(values: Float64Array, buckets = 1500): number[] {
  const found = new Map<string, number>();
  values.forEach((value, i) => {
    const name = `${value} ${Math.floor((i * buckets) / values.length)}`;
    if ((value === Infinity || value === -Infinity) && !found.has(name)) found.set(name, i);
  });
  return [...found.values()];
}

/** The lowest and the highest number that is finite. */
export function range(values: Float64Array): [number, number] | null {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low && value !== -Infinity) low = value;
    if (value > high && value !== Infinity) high = value;
  }
  return low <= high ? [low, high] : null;
}

/** Index in the array of a place in the values, one for each dimension. */
export function indexOf({ region }: ReadingModel, places: number[]): number[] {
  return places.map((place, dimension) => Number(region[dimension]![0]) + place * Number(region[dimension]![2]));
}

/** The chunk that an element of the array is in. */
export function chunkOf(
  { chunk_shape, chunk_runs, key_start, separator }: ReadingModel,
  index: number[],
): { key: string; index: number[] } {
  const axes = axesOf(chunk_shape, chunk_runs);
  const chunk = index.map((at, dimension) => axes[dimension]!.at(at));
  return { key: key_start + chunk.join(separator), index: chunk };
}

/** First and last place, the last not included, that a chunk has in the values, per dimension. */
export function placesOf(
  { region, chunk_shape, chunk_runs, shape }: ReadingModel,
  chunk: number[],
): [number, number][] {
  const axes = axesOf(chunk_shape, chunk_runs);
  return chunk.map((number, dimension) => {
    const [start, , step] = region[dimension]!.map(Number) as [number, number, number];
    const at = (index: number) => Math.min(shape[dimension]!, Math.max(0, Math.ceil((index - start) / step)));
    return [at(axes[dimension]!.start(number)), at(axes[dimension]!.start(number + 1))];
  });
}

/** The letters of a strip of chunks for the places of an axis, where these are a part of a dimension. */
export function stripOf(
  strip: string | undefined,
  { chunk_shape, chunk_runs }: ReadingModel,
  { dimension, first, step, size }: Axis,
  whole: number | undefined,
): string | undefined {
  if (!strip || whole === undefined || (first === 0 && Math.abs(step) * size >= whole)) return strip;
  const axis = axesOf(chunk_shape, chunk_runs)[dimension]!;
  const chunks = axis.at(whole - 1) + 1;
  const n = Math.min(size, MOST_LETTERS);
  const letter = (i: number) => {
    const chunk = axis.at(first + Math.floor((i * size) / n) * step);
    return strip[Math.floor((chunk * strip.length) / chunks)] ?? "r";
  };
  return Array.from({ length: n }, (_, i) => letter(i)).join("");
}

/** Of a strip: more could not be seen. */
const MOST_LETTERS = 400;

export type LostState = ReadingModel["lost"][number]["state"];

const lostChunks = new WeakMap<ReadingModel, Map<string, LostState>>();

/** Whether the chunk of a key was not fetched, and why not. */
export function lostAt(reading: ReadingModel, key: string): LostState | undefined {
  let found = lostChunks.get(reading);
  if (found === undefined) {
    found = new Map(
      [...eachLost(reading)].map(({ index, state }) => [reading.key_start + index.join(reading.separator), state]),
    );
    lostChunks.set(reading, found);
  }
  return found.get(key);
}

/** The chunks that were not fetched, one by one. */
export function* eachLost({ lost }: ReadingModel): Generator<{ index: number[]; state: LostState }> {
  for (const { index, count: length, state } of lost) {
    const first = index.map(Number);
    const last = first.length - 1;
    for (let at = 0; at < length; at++) yield { index: last < 0 ? first : first.with(last, first[last]! + at), state };
  }
}

/** Figures of the values that are finite, NaN where there is none; of the lowest and the highest the index. */
export function figures(values: Float64Array, integers: Integers | null = null) {
  let [low, high] = [-1, -1];
  values.forEach((value, i) => {
    if (!Number.isFinite(value)) return;
    const isBelow = (one: number, other: number) =>
      integers ? integers[one]! < integers[other]! : values[one]! < values[other]!;
    if (low < 0 || isBelow(i, low)) low = i;
    if (high < 0 || isBelow(high, i)) high = i;
  });
  const known = values.filter((value) => Number.isFinite(value)).sort();
  // Of the largest numbers neither a sum nor a square is one.
  const scale = Math.max(Math.abs(known[0] ?? 0), Math.abs(known.at(-1) ?? 0)) || 1;
  const mean = known.reduce((sum, value) => sum + value / scale, 0) / known.length;
  const squares = known.reduce((sum, value) => sum + (value / scale - mean) ** 2, 0);
  const [left, right] = [known[(known.length - 1) >> 1] ?? NaN, known[known.length >> 1] ?? NaN];
  return {
    count: known.length,
    missing: values.reduce((sum, value) => sum + (Number.isNaN(value) ? 1 : 0), 0),
    infinite: values.reduce((sum, value) => sum + (value === Infinity || value === -Infinity ? 1 : 0), 0),
    low,
    high,
    mean: mean * scale,
    median: left / 2 + right / 2,
    deviation: Math.sqrt(squares / known.length) * scale,
  };
}

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

type Runs = NonNullable<ReadingModel["chunk_runs"]>;

export interface ChunkAxis {
  /** The chunk that an element is in. */
  at(place: number): number;
  /** The first element of a chunk. */
  start(chunk: number): number;
}

/** @param sizes - The length of a chunk along each dimension, of the longest where they differ. */
export function axesOf(sizes: readonly (number | string)[], runs: Runs | null | undefined): ChunkAxis[] {
  return sizes.map((size, dimension) => (runs ? varying(runs[dimension]!) : regular(Number(size))));
}

function regular(size: number): ChunkAxis {
  return { at: (place) => Math.floor(place / size), start: (chunk) => chunk * size };
}

function varying(runs: Runs[number]): ChunkAxis {
  const [firsts, begins, lengths] = [0, 1, 2].map((part) => runs.map((run) => Number(run[part])));
  return {
    at: (place) => {
      const run = lastUpTo(begins!, place);
      return firsts![run]! + Math.floor((place - begins![run]!) / lengths![run]!);
    },
    start: (chunk) => {
      const run = lastUpTo(firsts!, chunk);
      return begins![run]! + (chunk - firsts![run]!) * lengths![run]!;
    },
  };
}

/** The last of ascending numbers that is no larger than one; the first where all are. */
function lastUpTo(numbers: readonly number[], number: number): number {
  let [low, high] = [0, numbers.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! <= number) low = middle;
    else high = middle;
  }
  return low;
}
