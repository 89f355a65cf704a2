import assert from "node:assert/strict";
import { test } from "node:test";

import {
  counts,
  inverse,
  percentiles,
  placing,
  type ScaleName,
} from "../../../../refexplorer/frontend/src/preview/colours.ts";

test("a place on the bar and back", () => {
  for (const [name, domain] of [
    ["linear", [-3, 5]],
    ["log", [0.1, 1000]],
    ["symlog", [-100, 1e6]],
  ] as [ScaleName, [number, number]][]) {
    const place = placing(name, domain);
    assert.ok(Math.abs(place(domain[0])) < 1e-12 && Math.abs(place(domain[1]) - 1) < 1e-12);
    for (const at of [0.1, 0.5, 0.9]) assert.ok(Math.abs(place(inverse(name, domain)(at)) - at) < 1e-9);
  }
});

test("what a logarithm has no place for has no colour", () => {
  const place = placing("log", [-5, 100]);
  assert.ok(Number.isNaN(place(0)) && Number.isNaN(place(-1)) && Number.isNaN(place(NaN)));
  assert.equal(place(100), 1);
});

test("limits leave out as many values below as above", () => {
  const values = Float64Array.from({ length: 101 }, (_, i) => (i === 50 ? NaN : i));
  assert.deepEqual(percentiles(values, 1), [0, 100]);
  assert.deepEqual(percentiles(values, 0.9), [5, 95]);
  assert.equal(percentiles(Float64Array.of(NaN), 0.9), null);
});

test("the histogram counts what is on the bar", () => {
  assert.deepEqual(counts(Float64Array.of(0, 1, 1, 2, 4, 9, NaN), placing("linear", [0, 4]), 4), [1, 2, 1, 1]);
});
