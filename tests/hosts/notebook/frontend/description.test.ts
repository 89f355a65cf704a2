import assert from "node:assert/strict";
import { test } from "node:test";

import { sentences } from "../../../../refexplorer/frontend/src/preview/description.ts";
import type { Axis } from "../../../../refexplorer/frontend/src/preview/slices.ts";

const axis = (name: string, at: number[]): Axis => ({
  dimension: 0,
  name,
  size: at.length,
  at,
  times: false,
  first: 0,
  step: 1,
});
const about = { units: "K", times: false, reduced: null };

test("a picture is told by its extremes, its mean and the means of its parts", () => {
  const values = Float64Array.from([1, 2, 3, 4, 5, 6, 7, NaN, 9]);
  assert.equal(
    sentences(values, [axis("lat", [30, 20, 10]), axis("lon", [0, 5, 10])], about),
    "3 by 3 values. Lowest 1 K at lat 30, lon 0; highest 9 K at lat 10, lon 10; mean 4.625 K. 1 missing. " +
      "Means of nine parts, each line along lon, the first for the first third of lat: 1 K, 2 K, 3 K; 4 K, 5 K, 6 K; 7 K, none, 9 K.",
  );
});

test("a line has three parts, and what has no number says so", () => {
  const found = sentences(Float64Array.from([1, 1, 2, 2, 3, 9]), [axis("time", [0, 1, 2, 3, 4, 5])], {
    ...about,
    units: null,
  });
  assert.match(
    found,
    /^6 values\. Lowest 1 at time 0; highest 9 at time 5; mean 3\. Means of three parts along time: 1, 2, 6\.$/,
  );
  assert.equal(sentences(Float64Array.from([NaN]), [axis("x", [0])], about), "1 cell, none of them a number.");
});
