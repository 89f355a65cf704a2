import assert from "node:assert/strict";
import { test } from "node:test";

import {
  extremes,
  layout,
  placeOf,
  range,
  shownText,
  slice,
} from "../../../../refexplorer/frontend/src/preview/slices.ts";
import type { ReadingModel } from "../../../../refexplorer/frontend/src/shared/wire.ts";

function reading(shape: number[], coordinates: (number[] | null)[] = []): ReadingModel {
  return {
    shape,
    region: shape.map((size) => [0, size, 1]),
    dimensions: shape.map((_, i) => "tzyx"[i]!),
    coordinates: shape.map((_, i) => ({ name: "tzyx"[i]!, values: coordinates[i] ?? null })),
  } as ReadingModel;
}

test("the last two dimensions of more than one value are drawn, the others stepped through", () => {
  const { drawn, stepped } = layout(reading([3, 4, 1, 5]));
  assert.deepEqual(
    drawn.map((axis) => axis.dimension),
    [1, 3],
  );
  assert.deepEqual(
    stepped.map((axis) => axis.dimension),
    [0],
  );
});

test("a slice is the values at the step of the other dimensions", () => {
  const asked = reading([2, 2, 3]);
  const values = Float64Array.from({ length: 12 }, (_, i) => i);
  assert.deepEqual([...slice(values, asked, layout(asked), [1, 0, 0])], [6, 7, 8, 9, 10, 11]);
});

test("an axis without a coordinate tells the index in the array", () => {
  const part = { ...reading([4]), region: [[100, 124, 6]] } as ReadingModel;
  assert.equal(placeOf(layout(part).drawn[0]!, 2), "112");
});

test("coordinates are an axis only where they run one way in even steps", () => {
  const places = (values: number[]) => layout(reading([values.length], [values])).drawn[0]!.at;
  assert.deepEqual(places([75, 50, 25]), [75, 50, 25]);
  assert.equal(places([0, 1, 10]), null);
  assert.equal(places([1, 1, 1]), null);
});

test("a thinned line keeps its spikes", () => {
  const values = new Float64Array(1_000_000);
  values[123_456] = 9;
  values[654_321] = -9;
  const drawn = extremes(values, 500);
  assert.ok(drawn.length <= 1_000);
  assert.ok(drawn.includes(123_456) && drawn.includes(654_321));
  assert.deepEqual(
    drawn,
    drawn.toSorted((a, b) => a - b),
  );
});

test("values that are no numbers have no range", () => {
  assert.equal(range(Float64Array.of(NaN, NaN)), null);
  assert.deepEqual(range(Float64Array.of(NaN, 2, -1)), [-1, 2]);
});

test("an unpacked value is shown as it was meant, a stored one with every digit", () => {
  const unpacked = { dtype: "int16", value_type: "float64" };
  assert.equal(shownText(unpacked, "29.189999999999998"), "29.19");
  assert.equal(shownText(unpacked, "1.2300000000000001e-05"), "1.23e-05");
  assert.equal(shownText(unpacked, "3.2857142857142856"), "3.2857142857142856");
  assert.equal(shownText({ dtype: "float64", value_type: "float64" }, "29.189999999999998"), "29.189999999999998");
});
