import assert from "node:assert/strict";
import { test } from "node:test";

import {
  intervalAt,
  intervalsOf,
  percent,
  said,
  summary,
} from "../../../../refexplorer/frontend/src/maps/intervals.ts";
import type { Strip } from "../../../../refexplorer/frontend/src/maps/maps.ts";

const ARRAYS = [
  { path: "sst", number: 0 },
  { path: null, number: 1 },
];

/** Two ranges of which the second begins within the first. */
const ranges = {
  arrays: ARRAYS,
  shown: [
    { key: "sst/0", array: 0, offset: 100, length: 50 },
    { key: "sst/1", array: 0, offset: "9007199254740993", length: 8 },
    { key: "note", array: 1, offset: 120, length: 10 },
  ],
} as unknown as Strip;

/** Too many ranges to show: two bins. */
const bins = {
  arrays: ARRAYS,
  shown: null,
  edges: Float64Array.of(0, 1_000, 2_000),
  covered: Float64Array.of(999.9, 0),
  sharedBytes: Float64Array.of(20, 0),
  begins: Float64Array.of(1, 0),
  most: Float64Array.of(0, -1),
} as unknown as Strip;

test("of ranges that overlap the one on top is under the cursor", () => {
  const intervals = intervalsOf(ranges);
  assert.equal(intervalAt(intervals, 110, 0), 0);
  assert.equal(intervalAt(intervals, 125, 0), 2);
  assert.equal(intervalAt(intervals, 150, 0), -1);
  assert.equal(intervalAt(intervals, 152, 5), 0);
});

test("a range keeps every digit of its offset", () => {
  const intervals = intervalsOf(ranges);
  assert.equal(said(ranges, intervals[1]!, 1), "sst/1 · 9,007,199,254,740,993 + 8 bytes · sst");
  assert.match(said(ranges, intervals[2]!, 2), /· keys outside arrays$/);
});

test("a bin says how much of it is referenced, and never all of what is not", () => {
  const intervals = intervalsOf(bins);
  assert.equal(
    said(bins, intervals[0]!, 0),
    "0 + 1,000 bytes · 99.9 % referenced · 1 range begins here · mostly sst · 20 B referenced more than once",
  );
  assert.equal(said(bins, intervals[1]!, 1), "1,000 + 1,000 bytes · not referenced");
});

test("only nothing is 0 %, and only all is 100 %", () => {
  assert.deepEqual([0, 1e-9, 0.5, 0.999_999, 1].map(percent), ["0 %", "0.1 %", "50 %", "99.9 %", "100 %"]);
});

test("a target is said with its gaps and overlaps, and what was not evaluated", () => {
  const strip = {
    end: 2_000,
    bytes: 1_000,
    ranges: 2,
    gaps: 1,
    gap_bytes: 1_000,
    shared: 0,
    shared_bytes: 0,
    whole: 1,
    unlisted: 0,
  } as Strip;
  const sentence =
    "2 ranges · 50 % of the first 2.00 kB referenced · 1 gap of 1.00 kB · no overlap · 1 key for the whole file";
  assert.equal(summary(strip), sentence);
  assert.equal(summary({ ...strip, unlisted: 5 }), `of the evaluated keys · ${sentence}`);
  assert.equal(summary({ ...strip, ranges: 0 }), "1 key for the whole file");
});
