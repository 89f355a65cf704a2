import assert from "node:assert/strict";
import { test } from "node:test";

import * as cells from "../../../../refexplorer/frontend/src/maps/cells.ts";
import type { GridPicture } from "../../../../refexplorer/frontend/src/maps/maps.ts";

const STATES = ["absent", "inline", "range", "failed"];

/** The map of `sst`, of 4 × 1 × 6 chunks: the first dimension down, two chunks of the last one in a cell. */
function picture(counts: number[][], change: Partial<GridPicture> = {}): GridPicture {
  const [rows, columns] = [2, 3];
  const perState = Float64Array.from(STATES.flatMap((_, state) => counts.map((cell) => cell[state]!)));
  return {
    key_start: "sst/",
    separator: ".",
    grid: [4, 1, 6],
    axes: [0, 2],
    window: [
      [1, 3],
      [0, 1],
      [0, 5],
    ],
    steps: [1, 2],
    rows,
    columns,
    states: STATES,
    counts: [1, 0, 9, 0],
    target_count: 1,
    targets: [{ url: "a.nc", number: 0 }],
    sampled: false,
    perState,
    target: Float64Array.from(counts, () => 0),
    offset: Float64Array.from(counts, () => 100),
    size: Float64Array.from(counts, () => 50),
    distinct: Float64Array.from(counts, () => 1),
    ...change,
  } as GridPicture;
}

const SIX = [
  [0, 0, 2, 0],
  [2, 0, 0, 0],
  [1, 0, 0, 0],
  [0, 1, 1, 0],
  [0, 0, 1, 1],
  [0, 0, 1, 0],
];

test("a cell holds the chunks from its place to the next, within the window", () => {
  assert.deepEqual(cells.spansOf(picture(SIX), [1, 1]), [
    [2, 3],
    [0, 1],
    [2, 4],
  ]);
  assert.deepEqual(cells.spansOf(picture(SIX), [0, 2]), [
    [1, 2],
    [0, 1],
    [4, 5],
  ]);
});

test("a chunk is in the cell that spans it, or in none", () => {
  const grid = picture(SIX);
  assert.deepEqual(cells.placeOf(grid, [2, 0, 3]), [1, 1]);
  assert.equal(cells.placeOf(grid, [0, 0, 3]), null);
  assert.equal(cells.placeOf(grid, [2, 0]), null);
});

test("a single chunk has a key, several have none", () => {
  assert.equal(cells.keyOf(picture(SIX), [1, 2]), "sst/2.0.4");
  assert.equal(cells.keyOf(picture(SIX), [1, 1]), null);
});

test("a failed chunk is told before those that are fine, and an absent one only where no other is", () => {
  const grid = picture(SIX);
  const states = SIX.map((_, cell) => STATES[cells.stateOf(grid, cell)]);
  assert.deepEqual(states, ["range", "absent", "absent", "inline", "failed", "range"]);
  assert.deepEqual(cells.presence(grid, 3), { seen: 2, present: 2 });
  assert.equal(cells.failures(grid, 4), 1);
});

test("no reference, failed and referenced are said apart", () => {
  const grid = picture(SIX);
  assert.equal(cells.said(grid, [0, 2]), "chunk 1, 0, 4 · sst/1.0.4 · no reference: reads as the fill value");
  assert.equal(cells.said(grid, [1, 2]), "chunk 2, 0, 4 · sst/2.0.4 · a.nc · 100 + 50 bytes");
  assert.equal(cells.said(grid, [1, 1]), "chunks 2, 0, 2–3 · 1 byte range, 1 rejected or failed · a.nc · 50 B");
});

test("what failed in the set itself is not said to be in a file", () => {
  const inline = SIX.with(5, [0, 0, 0, 1]);
  const grid = picture(inline, { target: Float64Array.from(inline, () => -1) });
  assert.match(cells.said(grid, [1, 2]), /sst\/2\.0\.4 · failed: its reference or its bytes cannot be used$/);
});

test("of several targets none is named, since no more than their number is sure", () => {
  const grid = picture(SIX, { distinct: Float64Array.from(SIX, () => 24) });
  assert.match(cells.said(grid, [0, 0]), / · 24 files · /);
});

test("a size that is not known is not 0", () => {
  const grid = picture(SIX, { size: Float64Array.from(SIX, () => -1) });
  assert.match(cells.said(grid, [0, 0]), /size not known$/);
});

test("of a sample only what was looked at is said", () => {
  assert.match(cells.said(picture(SIX, { sampled: true }), [0, 0]), /one chunk examined: 2 byte range · a\.nc/);
});
