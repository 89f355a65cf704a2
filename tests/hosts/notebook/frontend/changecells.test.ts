import assert from "node:assert/strict";
import { test } from "node:test";

import { changeSaid, changesShown, changesSummary } from "../../../../refexplorer/frontend/src/maps/changecells.ts";
import type { ChangePicture } from "../../../../refexplorer/frontend/src/compare/comparison.ts";

const KINDS = [
  { name: "same", mark: "=", words: "the same", keys: 9 },
  { name: "added", mark: "+", words: "added", keys: 3 },
  { name: "moved", mark: "M", words: "moved", keys: 1 },
];

/** A row of cells, each with its chunks by kind. */
function picture(cells: number[][]): ChangePicture {
  const perChange = Float64Array.from(KINDS.flatMap((_, kind) => cells.map((counts) => counts[kind]!)));
  return { kinds: KINDS, of: { rows: 1, columns: cells.length }, perChange } as unknown as ChangePicture;
}

test("a cell says all that became of its chunks", () => {
  const changes = picture([
    [0, 0, 0],
    [1, 0, 0],
    [4, 2, 1],
  ]);
  assert.equal(changeSaid(changes, [0, 0]), "in neither set");
  assert.equal(changeSaid(changes, [0, 1]), "the same");
  assert.equal(changeSaid(changes, [0, 2]), "4 the same, 2 added, 1 moved");
});

test("what does not occur in view is in no legend", () => {
  const changes = picture([
    [3, 0, 0],
    [0, 0, 2],
  ]);
  assert.deepEqual(
    changesShown(changes).map(({ mark, chunks }) => [mark, chunks]),
    [
      ["=", 3],
      ["M", 2],
    ],
  );
  assert.equal(changesSummary(changes), "3 the same, 2 moved");
});
