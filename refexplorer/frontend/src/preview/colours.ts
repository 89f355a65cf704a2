/** From values to colours: where values are on a bar of colours, maps, and the pixels of a picture. */

import * as Plot from "@observablehq/plot";

/** Maps by what they are for; all but the last ones are safe for the colour-blind. */
export const SCHEMES = {
  viridis: "viridis",
  cividis: "cividis",
  magma: "magma",
  greys: "greys",
  rdbu: "red to blue (diverging)",
  puor: "orange to purple (diverging)",
  brbg: "brown to green (diverging)",
  sinebow: "sinebow (cyclic)",
  turbo: "turbo",
} as const;
export type Scheme = keyof typeof SCHEMES;

const STEPS = 256;

/** The colour of infinite values, which is in no colour map. */
export const INFINITE = { inf: "#ff2fd0", "-inf": "#00b8ff" } as const;

/** The signs of the infinite values that are among some. */
export function signsOf(values: Float64Array): (keyof typeof INFINITE)[] {
  return (["inf", "-inf"] as const).filter((sign) => values.includes(sign === "inf" ? Infinity : -Infinity));
}

function bytesOf(colour: string): [number, number, number] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16)) as [number, number, number];
}

/** A colour as the pixel of an image: bytes of red, green, blue and opacity in memory. */
export function pixelOf(colour: string): number {
  return new Uint32Array(Uint8Array.of(...bytesOf(colour), 255).buffer)[0]!;
}

/** Okabe and Ito's series, which the colour-blind can tell apart, and three greys. */
export const FLAG_COLOURS = [
  "#0072b2",
  "#e69f00",
  "#009e73",
  "#cc79a7",
  "#56b4e9",
  "#d55e00",
  "#f0e442",
  "#000000",
  "#777777",
  "#bbbbbb",
];

export function flagTable(count: number): Uint8ClampedArray {
  const table = new Uint8ClampedArray(3 * STEPS);
  for (let i = 0; i < STEPS; i++) {
    const colour = FLAG_COLOURS[Math.floor((i / STEPS) * count)]!;
    table.set(bytesOf(colour), 3 * i);
  }
  return table;
}

/** The middle of the part of the table that a flag has; what is no flag has no colour. */
export function flagPlacing(flags: { value: number }[]): (value: number) => number {
  const places = new Map(flags.map(({ value }, i) => [value, (i + 0.5) / flags.length]));
  return (value) => places.get(value) ?? NaN;
}

/** Red, green and blue of 256 colours along a map. */
export function tableOf(scheme: Scheme): Uint8ClampedArray {
  const scale = Plot.scale({ color: { type: "linear", scheme, domain: [0, STEPS - 1] } });
  const table = new Uint8ClampedArray(3 * STEPS);
  for (let i = 0; i < STEPS; i++) {
    const found = String(scale!.apply(i));
    const parts = found.startsWith("#") ? bytesOf(found) : (found.match(/[\d.]+/g) ?? []).map(Number);
    table.set(parts.slice(0, 3), 3 * i);
  }
  return table;
}

/** The pixels of cells whose red, green, blue and perhaps opacity are given; clear where one is missing. */
export function blended(
  parts: Float64Array[],
  width: number,
  height: number,
  [low, high]: [number, number],
): ImageData {
  const image = new ImageData(width, height);
  const [red, green, blue, opacity] = parts as [Float64Array, Float64Array, Float64Array, Float64Array | undefined];
  const scale = 255 / (high - low);
  for (let i = 0; i < red.length; i++) {
    if (!Number.isFinite(red[i]! + green[i]! + blue[i]!)) continue;
    // A clamped array rounds, and keeps between 0 and 255.
    image.data[4 * i] = (red[i]! - low) * scale;
    image.data[4 * i + 1] = (green[i]! - low) * scale;
    image.data[4 * i + 2] = (blue[i]! - low) * scale;
    image.data[4 * i + 3] = opacity ? (opacity[i]! - low) * scale : 255;
  }
  return image;
}

/** The colours of a table as pixels. */
export function pixelsOfTable(table: Uint8ClampedArray): Uint32Array {
  const parts = Array.from({ length: STEPS }, (_, i) => [...table.subarray(3 * i, 3 * i + 3), 255]);
  return new Uint32Array(new Uint8Array(parts.flat()).buffer);
}

/** The pixels of cells; what has no colour is left clear. */
export function pixelsOf(
  values: Float64Array,
  width: number,
  height: number,
  table: Uint8ClampedArray,
  place: (value: number) => number,
): ImageData {
  const image = new ImageData(width, height);
  // One write for each pixel instead of four.
  const pixels = new Uint32Array(image.data.buffer);
  const colours = pixelsOfTable(table);
  const [above, below] = [pixelOf(INFINITE.inf), pixelOf(INFINITE["-inf"])];
  for (let i = 0; i < values.length; i++) {
    const number = values[i]!;
    if (number === Infinity || number === -Infinity) {
      pixels[i] = number > 0 ? above : below;
      continue;
    }
    const at = place(number);
    if (!Number.isNaN(at)) pixels[i] = colours[Math.min(STEPS - 1, Math.max(0, Math.floor(at * STEPS)))]!;
  }
  return image;
}

export const SCALES = { linear: "linear", log: "log", symlog: "symlog" } as const;
export type ScaleName = keyof typeof SCALES;

/** Below this share of the highest value symlog is linear. */
const LINEAR_PART = 1e-3;

/** Around zero, what symlog draws as a line. */
export function linearPart([low, high]: [number, number]): number {
  return Math.max(Math.abs(low), Math.abs(high)) * LINEAR_PART || 1;
}

/** Where a value is on the bar, 0 to 1; NaN where a logarithm has no place for it. */
export function placing(name: ScaleName, [low, high]: [number, number]): (value: number) => number {
  // Of halves: the span of the largest numbers is none.
  if (name === "linear") return (value) => (value / 2 - low / 2) / (high / 2 - low / 2);
  if (name === "log") {
    const from = Math.log(low > 0 ? low : high > 0 ? high * LINEAR_PART : NaN);
    const span = Math.log(high) - from;
    return (value) => (value > 0 ? (Math.log(value) - from) / span : NaN);
  }
  const small = linearPart([low, high]);
  const bent = (value: number) => Math.sign(value) * Math.log1p(Math.abs(value) / small);
  const [from, span] = [bent(low), bent(high) - bent(low)];
  return (value) => (bent(value) - from) / span;
}

/** The value at a place on the bar. */
export function inverse(name: ScaleName, [low, high]: [number, number]): (at: number) => number {
  if (name === "linear") return (at) => low * (1 - at) + at * high;
  if (name === "log") {
    const from = Math.log(low > 0 ? low : high * LINEAR_PART);
    return (at) => Math.exp(from + at * (Math.log(high) - from));
  }
  const small = linearPart([low, high]);
  const bent = (value: number) => Math.sign(value) * Math.log1p(Math.abs(value) / small);
  return (at) => {
    const place = bent(low) + at * (bent(high) - bent(low));
    return Math.sign(place) * small * Math.expm1(Math.abs(place));
  };
}

/** The values that enclose a share of all, with the same number below and above. */
export function percentiles(values: Float64Array, share: number): [number, number] | null {
  // A sample is enough for colours, and sorting a million values at each step would be felt.
  const step = Math.max(1, Math.floor(values.length / COUNTED));
  const sample = new Float64Array(Math.ceil(values.length / step));
  let n = 0;
  for (let i = 0; i < values.length; i += step) if (Number.isFinite(values[i]!)) sample[n++] = values[i]!;
  if (n === 0) return null;
  const sorted = sample.subarray(0, n).sort();
  const at = (part: number) => sorted[Math.min(n - 1, Math.max(0, Math.round(part * (n - 1))))]!;
  return [at((1 - share) / 2), at((1 + share) / 2)];
}

/** Values that are sorted, and counted by the histogram beside the bar: its lines are four pixels wide. */
const COUNTED = 50_000;

/** How many of the values, or of a sample of very many, lie in each of some intervals of the bar. */
export function counts(values: Float64Array, place: (value: number) => number, bins: number): number[] {
  const found = new Array<number>(bins).fill(0);
  // Odd, so that a sample does not follow the columns of a picture.
  const step = Math.floor(values.length / COUNTED / 2) * 2 + 1;
  for (let i = 0; i < values.length; i += step) {
    const at = place(values[i]!);
    if (at >= 0 && at <= 1) found[Math.min(bins - 1, Math.floor(at * bins))]! += 1;
  }
  return found;
}
