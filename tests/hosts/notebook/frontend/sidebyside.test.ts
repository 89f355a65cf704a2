import assert from "node:assert/strict";
import { test } from "node:test";

import {
  ALL,
  besideSides,
  besideText,
  followed,
  type Sides,
} from "../../../../refexplorer/frontend/src/compare/sidebyside.ts";

const part = (slices: string[], array = "sst", other = false) => ({ array, slices, other });

test("an index moves by the same amount on the other side, a slice is the same", () => {
  const before = part(["3", ":", "0:9"]);
  assert.deepEqual(followed(before, part(["5", ":", "0:9"]), part(["12", ":", "0:9"])).slices, ["14", ":", "0:9"]);
  assert.deepEqual(followed(before, part(["0", ":", "0:9"]), part(["1", ":", "0:9"])).slices, ["0", ":", "0:9"]);
  assert.deepEqual(followed(before, part(["3", "2:8", "0:5"]), part(["12", ":", "4:9"])).slices, ["12", "2:8", "4:9"]);
  assert.deepEqual(followed(before, part(["5", ":", "0:9"]), part(["1", ":"])).slices, ["1", ":"]);
});

test("both sides go through an address, whatever an array is called", () => {
  const sides: Sides = [part(["3", ":"], "a;b|c/ü", true), part(["4", "0:7"])];
  assert.deepEqual(besideSides(besideText({ sides, window: ALL })), { sides, window: ALL });
  const window: [[number, number], [number, number]] = [
    [0.25, 0.75],
    [-0.1, 0.5],
  ];
  assert.deepEqual(besideSides(besideText({ sides, window })), { sides, window });
  for (const text of ["", "x", ";a;:|", ";%E0%A4%A;0|;a;0"]) assert.equal(besideSides(text), null);
});
