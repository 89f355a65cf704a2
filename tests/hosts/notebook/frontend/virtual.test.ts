import assert from "node:assert/strict";
import { test } from "node:test";

import * as virtual from "../../../../refexplorer/frontend/src/shared/rows/window.ts";

const small = { total: 1_000, rowHeight: 24, height: 480 };
const huge = { total: 1e12, rowHeight: 24, height: 480 };

test("a short list scrolls as the browser scrolls it", () => {
  assert.equal(virtual.isScaled(small), false);
  for (const top of [0, 1, 999, virtual.farthest(small)]) {
    assert.ok(Math.abs(virtual.fromScroll(top, small) - top) < 1e-6);
    assert.ok(Math.abs(virtual.toScroll(top, small) - top) < 1e-6);
  }
});

test("a list of 10^12 rows fits a browser, and both its ends can be reached", () => {
  assert.equal(virtual.spacer(huge), virtual.TALLEST);
  assert.equal(virtual.fromScroll(0, huge), 0);
  const [, end] = virtual.visible(virtual.fromScroll(virtual.TALLEST - 480, huge), huge);
  assert.equal(end, huge.total);
});

test("places and scroll bar agree in a scaled list", () => {
  for (const index of [0, 12_345, 5e11, 1e12 - 20]) {
    const top = index * 24;
    const again = virtual.fromScroll(virtual.toScroll(top, huge), huge);
    assert.ok(Math.abs(again - top) <= top * 1e-9, `${index}`);
  }
});

test("a row is revealed by the smallest move", () => {
  assert.equal(virtual.revealed(5, 0, small), 0);
  assert.equal(virtual.revealed(20, 0, small), 24);
  assert.equal(virtual.revealed(2, 480, small), 48);
  assert.equal(virtual.revealed(999, 0, small), virtual.farthest(small));
});

test("nothing is visible of an empty list", () => {
  assert.deepEqual(virtual.visible(0, { ...small, total: 0 }), [0, 0]);
});
