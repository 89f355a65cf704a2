/** The intervals of a strip, which the cursor moves over: single ranges, or bins of many. */

import { bytes, count, counted, rounded } from "../shared/format.ts";
import type { Count } from "../shared/wire.ts";
import type { Strip } from "./maps.ts";

export interface Interval {
  from: number;
  to: number;
  /** Place in `arrays`, or -1. */
  array: number;
  /** Of a single range; null of a bin. */
  key: string | null;
  /** Its offset and length as they came, every digit kept; null of a bin. */
  range: [Count, Count] | null;
  /** Share of its bytes that are referenced, 0 to 1. */
  share: number;
}

export function intervalsOf(strip: Strip): Interval[] {
  if (strip.shown !== null) {
    return strip.shown.map(({ key, array, offset, length }) => ({
      from: Number(offset),
      to: Number(offset) + Number(length),
      array,
      key,
      range: [offset, length],
      share: 1,
    }));
  }
  return Array.from(strip.most, (array, i) => {
    const [from, to] = [strip.edges[i]!, strip.edges[i + 1]!];
    return { from, to, array, key: null, range: null, share: strip.covered[i]! / (to - from) };
  });
}

/** The interval under a byte: of several the last one, which is drawn on top; -1 for none. */
export function intervalAt(intervals: Interval[], at: number, slack: number): number {
  const inside = intervals.findLastIndex(({ from, to }) => at >= from && at < to);
  if (inside >= 0) return inside;
  return intervals.findLastIndex(({ from, to }) => at >= from - slack && at < to + slack);
}

/** An interval in words. */
export function said(strip: Strip, { from, to, array, key, range, share }: Interval, index: number): string {
  const place =
    range === null ? `${rounded(from)} + ${rounded(to - from)} bytes` : `${count(range[0])} + ${count(range[1])} bytes`;
  const name = arrayName(strip.arrays[array]?.path ?? null);
  if (key !== null) return `${key} · ${place} · ${name}`;
  const begins = strip.begins[index]!;
  const parts = [place, share > 0 ? `${percent(share)} referenced` : "not referenced"];
  if (begins > 0) parts.push(`${counted(begins, "range")} begin${begins === 1 ? "s" : ""} here`);
  if (array >= 0) parts.push(strip.arrays.length === 1 ? name : `mostly ${name}`);
  if (strip.sharedBytes[index]! > 0) parts.push(`${bytes(strip.sharedBytes[index]!)} referenced more than once`);
  return parts.join(" · ");
}

export function arrayName(path: string | null): string {
  return path === null ? "keys outside arrays" : path || "/";
}

/** Never "100 %" of what is not all, nor "0 %" of something. */
export function percent(share: number): string {
  if (share <= 0 || share >= 1) return share >= 1 ? "100 %" : "0 %";
  const value = Math.min(99.9, Math.max(0.1, share * 100));
  return `${value < 99.5 && value >= 10 ? Math.round(value) : value.toFixed(1)} %`;
}

/** The target in one sentence. */
export function summary({
  end,
  bytes: covered,
  ranges,
  gaps,
  gap_bytes: missing,
  shared,
  shared_bytes: twice,
  whole,
  unlisted,
}: Strip): string {
  const wholes = Number(whole) > 0 ? [`${counted(whole, "key")} for the whole file`] : [];
  if (Number(ranges) === 0) return wholes.join(" · ");
  // Keys that were not evaluated may cover what looks like a gap.
  const evaluated = Number(unlisted) > 0 ? ["of the evaluated keys"] : [];
  return [
    ...evaluated,
    counted(ranges, "range"),
    `${percent(Number(covered) / Math.max(1, end))} of the first ${bytes(end)} referenced`,
    Number(gaps) === 0 ? "no gap" : `${counted(gaps, "gap")} of ${bytes(missing)}`,
    Number(shared) === 0 ? "no overlap" : `${counted(shared, "overlap")} of ${bytes(twice)}`,
    ...wholes,
  ].join(" · ");
}

// Names of a column that begin alike: what they share is said once, by an ellipsis.

/** Between the parts of a name. */
const MARKS = "/_. -";

/** A beginning that is shorter is not cut; names that share no more at their ends do not end alike. */
const LONG = 12;

/** As many characters stay of each name: "…0" names nothing. */
const LEFT = 6;

/** What all names begin with, up to a mark between their parts; nothing worth a cut of fewer than three. */
export function common(names: string[]): string {
  if (names.length < 3) return "";
  const [first, last] = [
    names.reduce((one, two) => (two < one ? two : one)),
    names.reduce((one, two) => (two > one ? two : one)),
  ];
  const most = Math.min(...names.map((name) => name.length)) - LEFT;
  let same = 0;
  while (same < first.length && first[same] === last[same]) same += 1;
  while (same > 0 && (same > most || !MARKS.includes(first[same - 1]!))) same -= 1;
  return same >= LONG ? first.slice(0, same) : "";
}

/** Whether names end alike, so they differ at the start. */
export function isAlike(names: string[]): boolean {
  const [first, ...others] = names;
  return first !== undefined && others.length > 0 && others.every((name) => name.slice(-LONG) === first.slice(-LONG));
}

/** A name without what all of them begin with. */
export function apart(name: string, shared: string): string {
  return shared !== "" && name.startsWith(shared) ? `…${name.slice(shared.length)}` : name;
}
