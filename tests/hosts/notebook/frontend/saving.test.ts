import assert from "node:assert/strict";
import { test } from "node:test";

import { csvOf } from "../../../../refexplorer/frontend/src/preview/saving.ts";
import { textsOf, type Axis } from "../../../../refexplorer/frontend/src/preview/slices.ts";
import type { ReadingModel } from "../../../../refexplorer/frontend/src/shared/wire.ts";

const axis = (name: string, size: number, at: number[] | null): Axis => ({
  dimension: 0,
  name,
  size,
  at,
  times: false,
  first: 10,
  step: 6,
});

test("cells as a table say where they are and what they are", () => {
  const reading = {
    name: "t, mean",
    units: "K",
    reduced: "mean",
    blocks: [6, 6],
    region: [
      [10, 20, 6],
      [10, 28, 6],
    ],
    times: false,
  } as unknown as ReadingModel;
  const [rows, columns] = [{ ...axis("y", 2, null), block: 6, stop: 20 }, axis("x", 3, [0.5, 1, 1.5])];
  assert.equal(
    csvOf(reading, [rows, columns], ["1", "2.5", "", "4", "5", "6"]),
    '"# t, mean; K; each cell: mean of 6 × 6"\ny \\ x,0.5,1,1.5\n10 to 15,1,2.5,\n16 to 19,4,5,6\n',
  );
});

test("integers that no number has keep their digits, and what was not fetched is none", () => {
  const integers = BigInt64Array.of(9007199254740993n, -(2n ** 63n), 0n);
  const text = textsOf({ reduced: null, value_type: "int64" }, Float64Array.of(2 ** 53, -(2 ** 63), NaN), integers);
  assert.deepEqual([0, 1, 2].map(text), ["9007199254740993", "-9223372036854775808", "NaN"]);
  assert.equal(textsOf({ reduced: null, value_type: "int64" }, Float64Array.of(2 ** 53), null)(0), "≈9.00720e+15");
});
