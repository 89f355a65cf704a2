import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";

import { csvOf, npyOf } from "../../../refexplorer/frontend/src/preview/saving.ts";
import type { Axis } from "../../../refexplorer/frontend/src/preview/slices.ts";
import type { ReadingModel } from "../../../refexplorer/frontend/src/shared/wire.ts";

const values = Float64Array.of(1, 2.5, NaN, 4, 5, 6);

test("an array as numpy writes it", () => {
  const bytes = npyOf(values, [2, 3]);
  const header = new TextDecoder("latin1").decode(bytes.subarray(0, 128));
  assert.equal(header.slice(1, 6), "NUMPY");
  assert.equal((bytes.length - values.byteLength) % 64, 0);
  assert.match(header, /'descr': '<f8', 'fortran_order': False, 'shape': \(2, 3\), \} *\n$/);
  assert.deepEqual(new Float64Array(bytes.slice(bytes.length - values.byteLength).buffer), values);
  const folder = process.env["REFEXPLORER_NPY"];
  if (folder) {
    writeFileSync(`${folder}/two.npy`, bytes);
    writeFileSync(`${folder}/one.npy`, npyOf(values, [6]));
  }
});

test("cells as a table say where they are and what they are", () => {
  const axis = (name: string, size: number, at: number[] | null): Axis => ({ dimension: 0, name, size, at, times: false, first: 10, step: 6 });
  const reading = { name: "t, mean", units: "K", reduced: "mean", times: false } as ReadingModel;
  assert.equal(csvOf(reading, [axis("y", 2, null), axis("x", 3, [0.5, 1, 1.5])], values), '"# t, mean; K; each cell: mean of its block"\ny \\ x,0.5,1,1.5\n10,1,2.5,\n16,4,5,6\n');
});
