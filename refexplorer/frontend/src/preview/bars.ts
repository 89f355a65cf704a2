/** The bar of colours: where values are on it, its limits, how often they occur. */

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
