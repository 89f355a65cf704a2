/** The difference of two parts, as `refexplorer/views/compare/beside.py` makes it with Python. */

import type { ReadingModel } from "../shared/wire.ts";
import type { ReadPart } from "./parts.ts";

/** Why two readings have no difference; null if they have one. */
export function obstacle(left: ReadingModel, right: ReadingModel): string | null {
  for (const [side, reading] of [
    ["left", left],
    ["right", right],
  ] as const) {
    if (reading.state === "fill") return `No difference: the ${side} part has no reference.`;
    if (reading.state !== "fetched" || reading.texts != null) return `No difference: the ${side} part has no numbers.`;
    if (reading.times || (reading.flags?.length ?? 0) > 0)
      return `No difference: the ${side} part has ${reading.times ? "times" : "flags"}, not numbers.`;
  }
  if (left.units !== right.units)
    return `No difference: the units differ (${left.units ?? "none"} and ${right.units ?? "none"}).`;
  return grids(drawn(left), drawn(right));
}

/** The right part less the left one; NaN where one of them has no number. */
export function subtract(left: ReadPart, right: ReadPart): Float64Array {
  const digits = ({ values, integers }: ReadPart, i: number) => integers?.[i] ?? BigInt(values![i]!);
  const isExact =
    [left, right].every(({ reading }) => !reading.reduced && /^u?int/.test(reading.value_type!)) &&
    (left.integers ?? right.integers) !== null;
  return right.values!.map((value, i) => {
    const gap = value - left.values![i]!;
    return isExact && !Number.isNaN(gap) ? Number(digits(right, i) - digits(left, i)) : gap;
  });
}

interface Side {
  name: string;
  size: number;
  values: (number | null)[] | null;
}

/** The dimensions of more than one value. */
function drawn({ dimensions, shape, coordinates }: ReadingModel): Side[] {
  return shape.flatMap((size, axis) =>
    size > 1 ? [{ name: dimensions[axis]!, size, values: coordinates[axis]?.values ?? null }] : [],
  );
}

function grids(left: Side[], right: Side[]): string | null {
  if (left.length !== right.length)
    return `No difference: the left part has ${left.length} dimensions longer than 1, the right part ${right.length}.`;
  for (const [i, one] of left.entries()) {
    const other = right[i]!;
    if (one.size !== other.size) {
      return `No difference: ${one.name} has ${commas(one.size)} cells on the left, ${other.name} ${commas(other.size)} on the right.`;
    }
    if (one.values === null || other.values === null) continue;
    const [ours, theirs] = [one.values, other.values].map((values) => values.map((value) => value ?? NaN)) as [
      number[],
      number[],
    ];
    const near = Math.min(...ours.slice(1).map((value, at) => Math.abs(value - ours[at]!))) / 1000;
    const isAway = (value: number, at: number) => !(Math.abs(value - theirs[at]!) <= near);
    if (!ours.some((value, at) => isAway(value, at) && !(Number.isNaN(value) && Number.isNaN(theirs[at]!)))) continue;
    const at = ours.findIndex(isAway);
    return `No difference: the grids differ: ${one.name} is ${short(ours[at]!)} on the left, ${other.name} is ${short(theirs[at]!)} on the right.`;
  }
  return null;
}

function commas(count: number): string {
  return count.toLocaleString("en-US");
}

/** As Python's `g` writes it, but for very large and very small numbers. */
function short(value: number): string {
  return String(Number(value.toPrecision(6)));
}
