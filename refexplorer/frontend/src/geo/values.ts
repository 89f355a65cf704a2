/** The values of a reading as the map draws them. */

import type { ExplorerSession } from "../explorer/session.ts";
import { PLAIN } from "../explorer/state.ts";
import { placing } from "../preview/bars.ts";
import { axesOf } from "../preview/chunkaxis.ts";
import { SCHEMES, tableOf, type Scheme } from "../preview/colours.ts";
import { eachLost, layout, slice, stepsIn, textsOf, type LostState } from "../preview/slices.ts";
import type { Integers } from "../preview/time/frames.ts";
import type { EarthMap, ReadingModel } from "../shared/wire.ts";
import { chunkNumber, type DrawnValues } from "./colouring.ts";

/** With what its bar of colours says. */
export interface EarthValues extends DrawnValues {
  label: string;
  domain: [number, number];
  /** A value with every digit, by its place among the cells. */
  text(index: number): string;
}

/** The values to draw: the part that was read, along the dimensions of the map. */
export function valuesOf(
  session: ExplorerSession,
  reading: ReadingModel,
  values: Float64Array,
  integers: Integers | null,
  axes: readonly number[],
  asked: number[],
): EarthValues | null {
  const plan = layout(reading, [...axes]);
  if (plan.drawn.length !== 2 || plan.drawn.some(({ dimension }, side) => dimension !== axes[side])) return null;
  const look = session.pictureOf(reading.array);
  const scheme = (Object.hasOwn(SCHEMES, look.scheme) ? look.scheme : PLAIN.scheme) as Scheme;
  const written = look.limits.map((text) => (text === "" ? NaN : Number(text)));
  const low = Number.isFinite(written[0]) ? written[0]! : (reading.minimum ?? 0);
  const high = Number.isFinite(written[1]) ? written[1]! : (reading.maximum ?? 1);
  const domain: [number, number] = low === high ? [low - 0.5, high + 0.5] : [low, high];
  const steps = stepsIn(reading, asked);
  const [rows, columns] = plan.drawn as [(typeof plan.drawn)[0], (typeof plan.drawn)[0]];
  const part = slice(values, reading, plan, steps);
  return {
    values: part,
    text: textsOf(reading, part, integers && slice(integers, reading, plan, steps)),
    shape: [rows.size, columns.size],
    start: [rows.first, columns.first],
    step: [rows.step, columns.step],
    table: tableOf(scheme),
    place: placing(reading.times ? "linear" : look.scale, domain),
    lost: lostOf(reading, axes, steps),
    label: reading.units && !reading.times ? `${reading.name} (${reading.units})` : reading.name,
    domain,
  };
}

/** The chunks below the drawn slice that were not fetched. */
function lostOf(reading: ReadingModel, axes: readonly number[], steps: number[]): Map<number, LostState> {
  const chunks = axesOf(reading.chunk_shape, reading.chunk_runs);
  const at = reading.region.map(([start, , step], axis) =>
    chunks[axis]!.at(Number(start) + steps[axis]! * Number(step)),
  );
  const below = [...eachLost(reading)].filter(({ index }) =>
    index.every((number, axis) => axes.includes(axis) || number === at[axis]),
  );
  return new Map(below.map(({ index, state }) => [chunkNumber(index[axes[0]!]!, index[axes[1]!]!), state]));
}

/** Where along the dimensions that are not on the map a point is looked for. */
export function indexAt(
  earth: EarthMap,
  reading: ReadingModel | null,
  steps: number[],
  chunk: number[] | null,
): number[] {
  if (reading) return reading.region.map(([start, , step], axis) => Number(start) + (steps[axis] ?? 0) * Number(step));
  const sides = axesOf(
    earth.chunks!.map(([, size]) => size),
    earth.chunk_runs,
  );
  const along = new Map(earth.axes!.map((axis, side) => [axis, sides[side]!]));
  return (chunk ?? []).map((at, axis) => along.get(axis)?.start(at) ?? at);
}
