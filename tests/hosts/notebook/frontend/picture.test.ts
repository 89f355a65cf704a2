import assert from "node:assert/strict";
import { test } from "node:test";

import { put } from "../../../../refexplorer/frontend/src/preview/preview.ts";
import { moved, slicesOf, wholeOf, zoomed } from "../../../../refexplorer/frontend/src/preview/slices.ts";
import type { Axis } from "../../../../refexplorer/frontend/src/preview/slices.ts";
import type { ReadingModel } from "../../../../refexplorer/frontend/src/shared/wire.ts";

const axis = (dimension: number, size: number): Axis => ({
  dimension,
  name: `d${dimension}`,
  size,
  at: null,
  times: false,
  first: 0,
  step: 1,
});
const axes: [Axis, Axis] = [axis(1, 100), axis(2, 50)];
const reading = {
  slices: ["3", "100:700", ":200:2"],
  region: [
    [3, 4, 1],
    [100, 700, 6],
    [0, 200, 4],
  ],
  blocks: [1, 6, 2],
} as unknown as ReadingModel;
const sizes = [10, 1000, 300];

test("what is in sight already is not asked for again", () => {
  assert.equal(slicesOf(reading, axes, wholeOf(axes), sizes), null);
});

test("a window is of whole values inside the array, by the steps that were asked for", () => {
  assert.deepEqual(
    slicesOf(
      reading,
      axes,
      [
        [10, 20],
        [5, 10],
      ],
      sizes,
    ),
    ["3", "160:220", "20:40:2"],
  );
  assert.deepEqual(
    slicesOf(
      reading,
      axes,
      [
        [-50, 20],
        [25, 90],
      ],
      sizes,
    ),
    ["3", ":420", "40::2"],
  );
  assert.deepEqual(
    slicesOf(
      reading,
      axes,
      [
        [-500, 5000],
        [-9, 9000],
      ],
      sizes,
    ),
    ["3", ":", "::2"],
  );
  assert.deepEqual(
    slicesOf(
      reading,
      axes,
      [
        [10, 10.01],
        [5, 5.01],
      ],
      sizes,
    ),
    ["3", "158:162", "16:24:2"],
  );
});

test("zooming keeps the point below the pointer", () => {
  const window = zoomed(wholeOf(axes), 2, [0.25, 1]);
  assert.deepEqual(window, [
    [12.5, 62.5],
    [25, 50],
  ]);
  assert.deepEqual(zoomed(window, 0.5, [0.25, 1]), wholeOf(axes));
  assert.deepEqual(moved(window, [0.5, -1]), [
    [37.5, 87.5],
    [0, 25],
  ]);
});

test("boxes of values are put where they are among the cells", () => {
  const cells = new Float64Array(2 * 3 * 4).fill(-1);
  put(
    cells,
    [2, 3, 4],
    [
      [
        [0, 2],
        [1, 3],
        [2, 4],
      ],
      [
        [1, 2],
        [0, 1],
        [0, 1],
      ],
    ],
    Float64Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9),
  );
  assert.deepEqual([...cells], [-1, -1, -1, -1, -1, -1, 1, 2, -1, -1, 3, 4, 9, -1, -1, -1, -1, -1, 5, 6, -1, -1, 7, 8]);
  const single = new Float64Array(1);
  put(single, [], [[]], Float64Array.of(7));
  assert.deepEqual([...single], [7]);
});
