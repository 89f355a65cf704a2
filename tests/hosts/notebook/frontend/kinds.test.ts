import assert from "node:assert/strict";
import { test } from "node:test";

import { blended, pixelsOf } from "../../../../refexplorer/frontend/src/preview/colours.ts";
import { rowsOf } from "../../../../refexplorer/frontend/src/preview/profiles.ts";
import type { Axis } from "../../../../refexplorer/frontend/src/preview/slices.ts";

class Image {
  data: Uint8ClampedArray;
  constructor(width: number, height: number) {
    this.data = new Uint8ClampedArray(4 * width * height);
  }
}
globalThis.ImageData = Image as unknown as typeof ImageData;

const axis = (name: string, size: number): Axis => ({
  dimension: 0,
  name,
  size,
  at: null,
  times: false,
  first: 0,
  step: 1,
});

test("red, green and blue are the values between the limits, and clear where one is missing", () => {
  const parts = [
    [0, 5, NaN],
    [10, 5, 5],
    [20, 0, 5],
  ].map((part) => Float64Array.from(part));
  assert.deepEqual([...blended(parts, 3, 1, [0, 10]).data], [0, 255, 255, 255, 128, 128, 0, 255, 0, 0, 0, 0]);
  const clear = [...parts, Float64Array.from([0, 10, 10])];
  assert.deepEqual(
    [...blended(clear, 3, 1, [0, 10]).data].filter((_, i) => i % 4 === 3),
    [0, 255, 0],
  );
});

test("a value has the colour of its place, what is beyond the limits that of the end", () => {
  const table = Uint8ClampedArray.from({ length: 768 }, (_, i) => Math.floor(i / 3));
  const found = pixelsOf(Float64Array.from([0, 1, 0.5, -3, NaN]), 5, 1, table, (value) => value);
  assert.deepEqual(
    [...found.data].filter((_, i) => i % 4 === 0),
    [0, 255, 128, 0, 0],
  );
  assert.deepEqual(
    [...found.data].filter((_, i) => i % 4 === 3),
    [255, 255, 255, 255, 0],
  );
});

test("of many rows the first, the last, and some between are lines", () => {
  const values = Float64Array.from({ length: 300 }, (_, i) => i);
  const found = rowsOf(values, [axis("time", 100), axis("x", 3)]);
  assert.equal(found.length, 16);
  assert.deepEqual([found[0]!.name, found.at(-1)!.name], ["time 0", "time 99"]);
  assert.deepEqual([...found.at(-1)!.values], [297, 298, 299]);
  assert.equal(rowsOf(values, [axis("time", 1), axis("x", 300)]).length, 1);
});
