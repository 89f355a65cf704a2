/** A picture in words, for screen readers. */

import { count, counted, moment, value } from "../shared/format.ts";
import type { ReadingModel } from "../shared/wire.ts";
import { placeOf, type Axis } from "./slices.ts";

/** The number of parts along each side of a picture whose means are described. */
const PARTS = 3;

/** What is highest and lowest and where, the mean, what is missing, and the means of nine parts. */
export function sentences(
  values: Float64Array,
  axes: Axis[],
  { units, times, reduced }: Pick<ReadingModel, "units" | "times" | "reduced">,
): string {
  const [rows, columns] = axes.length === 2 ? [axes[0]!, axes[1]!] : [null, axes[0]!];
  const width = columns.size;
  const say = (number: number) =>
    times
      ? moment(number)
      : `${value(Math.abs(number) < 1e4 ? Number(number.toPrecision(4)) : number)}${units ? ` ${units}` : ""}`;
  const [sums, counts] = [new Float64Array(PARTS * PARTS), new Float64Array(PARTS * PARTS)];
  let [low, high, missing, infinite] = [-1, -1, 0, 0];
  for (let at = 0; at < values.length; at++) {
    const number = values[at]!;
    if (!Number.isFinite(number)) {
      if (Number.isNaN(number)) missing += 1;
      else infinite += 1;
      continue;
    }
    if (low < 0 || number < values[low]!) low = at;
    if (high < 0 || number > values[high]!) high = at;
    const part =
      PARTS * (rows ? Math.floor((Math.floor(at / width) * PARTS) / rows.size) : 0) +
      Math.floor(((at % width) * PARTS) / width);
    sums[part]! += number;
    counts[part]! += 1;
  }
  if (low < 0)
    return `${counted(values.length, "cell")}, ${infinite > 0 ? `${count(infinite)} infinite and no other number` : "none of them a number"}.`;
  const where = (at: number) =>
    [
      ...(rows ? [`${rows.name} ${placeOf(rows, Math.floor(at / width))}`] : []),
      `${columns.name} ${placeOf(columns, at % width)}`,
    ].join(", ");
  const known = counts.reduce((sum, each) => sum + each, 0);
  const mean = sums.reduce((sum, each) => sum + each, 0) / known;
  const meanOf = (part: number) => (counts[part]! > 0 ? say(sums[part]! / counts[part]!) : "none");
  const lines = Array.from({ length: rows ? PARTS : 1 }, (_, row) =>
    Array.from({ length: PARTS }, (_, column) => meanOf(row * PARTS + column)).join(", "),
  );
  return [
    `${rows ? `${count(rows.size)} by ${count(width)}` : count(width)} ${reduced ? "cells of several values each" : "values"}.`,
    `Lowest ${say(values[low]!)} at ${where(low)}; highest ${say(values[high]!)} at ${where(high)}; mean ${say(mean)}.`,
    missing > 0 ? `${count(missing)} missing.` : "",
    infinite > 0 ? `${count(infinite)} infinite.` : "",
    `Means of ${rows ? `nine parts, each line along ${columns.name}, the first for the first third of ${rows.name}` : `three parts along ${columns.name}`}: ${lines.join("; ")}.`,
  ]
    .filter(Boolean)
    .join(" ");
}
