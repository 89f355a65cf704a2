import assert from "node:assert/strict";
import { test } from "node:test";

import {
  keptWith,
  linesAcross,
  linesAlong,
  MOST_KEPT,
  profilesOf,
  type Kept,
} from "../../../../refexplorer/frontend/src/preview/profiles.ts";
import { csvOf } from "../../../../refexplorer/frontend/src/preview/saving.ts";
import type { Axis } from "../../../../refexplorer/frontend/src/preview/slices.ts";
import { cut, holds, stepped } from "../../../../refexplorer/frontend/src/preview/cellrange.ts";
import type { ReadingModel } from "../../../../refexplorer/frontend/src/shared/wire.ts";

const axis = (
  dimension: number,
  name: string,
  size: number,
  first = 0,
  step = 1,
  at: number[] | null = null,
): Axis => ({ dimension, name, size, at, first, step, times: false });
const VALUES = Float64Array.from({ length: 12 }, (_, i) => i);

test("each kept profile has a colour of its own, also after others were removed", () => {
  let kept: Kept[] = [];
  for (let at = 0; at < MOST_KEPT + 2; at++) kept = keptWith(kept, [0, at, at]);
  assert.equal(kept.length, MOST_KEPT);
  assert.equal(new Set(kept.map(({ colour }) => colour)).size, MOST_KEPT);
  assert.equal(keptWith(kept.slice(1), [0, 2, 2]).length, MOST_KEPT - 1);
  const gone = kept[2]!;
  const again = keptWith(
    kept.filter((each) => each !== gone),
    [5, 5, 5],
  );
  assert.equal(again.at(-1)!.colour, gone.colour);
});

test("kept points stay at their place of the array when another part is drawn, and say where they are", () => {
  const kept = keptWith(keptWith([], [0, 5, 20]), [0, 1, 22]);
  const axes: [Axis, Axis] = [axis(1, "y", 3, 4), axis(2, "x", 4, 20, 1, [0, 10, 20, 30])];
  const found = profilesOf(kept, [2, 3], axes);
  assert.deepEqual(
    found.map(({ at }) => at),
    [
      [1, 0],
      [null, 2],
      [2, 3],
    ],
  );
  assert.deepEqual(
    found.map(({ name }) => name),
    ["y 5, x 0", "y index 1, not drawn, x 20", "y 6, x 30"],
  );
  const across = linesAlong(1, found, axes, VALUES);
  assert.deepEqual(
    across.map(({ values }) => [...values]),
    [
      [4, 5, 6, 7],
      [8, 9, 10, 11],
    ],
  );
  const down = linesAlong(0, found, axes, VALUES);
  assert.deepEqual(
    down.map(({ values }) => [...values]),
    [
      [0, 4, 8],
      [2, 6, 10],
      [3, 7, 11],
    ],
  );
  // a slice of other values has other lines at the same points, in the same colours
  assert.deepEqual(
    linesAlong(
      0,
      found,
      axes,
      VALUES.map((value) => -value),
    ).map(({ colour, values }) => [colour, values[1]]),
    down.map(({ colour, values }) => [colour, -values[1]!]),
  );
  assert.equal(profilesOf(kept, [1, 0], axes).length, 2);
});

test("lines go through all that was read, at the places of the other sliders", () => {
  const shape = [2, 3, 2, 4];
  const all = Float64Array.from({ length: 48 }, (_, i) => i);
  const [time, level] = [axis(0, "time", 2), axis(1, "level", 3)];
  const axes: [Axis, Axis] = [axis(2, "y", 2), axis(3, "x", 4)];
  const found = profilesOf([], [1, 2], axes);
  const at = (t: number, l: number) => ((t * 3 + l) * 2 + 1) * 4 + 2;
  assert.deepEqual(
    linesAcross(time, found, axes, all, shape, [0, 2, 0, 0]).map(({ values }) => [...values]),
    [[at(0, 2), at(1, 2)]],
  );
  assert.deepEqual(
    linesAcross(level, found, axes, all, shape, [1, 0, 0, 0]).map(({ values }) => [...values]),
    [[at(1, 0), at(1, 1), at(1, 2)]],
  );
  const turned: [Axis, Axis] = [axes[1], axes[0]];
  assert.deepEqual(
    linesAcross(time, profilesOf([], [2, 1], turned), turned, all, shape, [0, 2, 0, 0]).map(({ values }) => [
      ...values,
    ]),
    [[at(0, 2), at(1, 2)]],
  );
  assert.deepEqual(
    linesAcross(time, profilesOf(keptWith([], [0, 0, 9, 9]), null, axes), axes, all, shape, [0, 0, 0, 0]),
    [],
  );
});

test("a range is drawn with the keys, and copied with its places", () => {
  const [first, last]: [[number, number], [number, number]] = [
    [0, 0],
    [2, 3],
  ];
  let range = stepped(null, "ArrowDown", false, first, last)!;
  assert.deepEqual(range.to, [0, 0]);
  for (const [key, isHeld] of [
    ["ArrowDown", false],
    ["ArrowRight", true],
    ["ArrowRight", true],
    ["ArrowDown", true],
    ["ArrowDown", true],
  ] as const)
    range = stepped(range, key, isHeld, first, last)!;
  assert.deepEqual(range, { from: [1, 0], to: [2, 2] });
  assert.equal(stepped(range, "x", false, first, last), null);
  assert.deepEqual(
    [holds(range, 1, 1), holds(range, 0, 1), holds(range, 2, 3), holds(null, 1, 1)],
    [true, false, false, false],
  );
  const axes = [axis(0, "y", 3, 4, 2), axis(1, "x", 4, 0, 1, [0.5, 1.5, 2.5, 3.5])];
  const part = cut({ from: range.to, to: range.from }, axes);
  assert.deepEqual(part.places, [4, 5, 6, 8, 9, 10]);
  const reading = { name: "t", units: null, reduced: null, times: false } as ReadingModel;
  assert.equal(csvOf(reading, part.axes, part.places.map(String)), "# t\ny \\ x,0.5,1.5,2.5\n6,4,5,6\n8,8,9,10\n");
  const line = cut({ from: [1, 0], to: [2, 0] }, [axis(0, "y", 3)]);
  assert.equal(
    csvOf(
      reading,
      line.axes,
      line.places.map((at) => `${7 + at}`),
    ),
    "# t\ny,1,2\nt,8,9\n",
  );
});
