import assert from "node:assert/strict";
import { test } from "node:test";

import { written } from "../../../../refexplorer/frontend/src/preview/time/frames.ts";

test("a time is written as the field has it, to the minute", () => {
  assert.equal(written(Date.UTC(2000, 5, 10, 12, 30, 59)), "2000-06-10T12:30");
  assert.equal(written(NaN), "");
  assert.equal(written(-1e15), "");
});
