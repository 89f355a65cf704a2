import assert from "node:assert/strict";
import { test } from "node:test";

import { measured } from "../../../../refexplorer/frontend/src/shared/waiting.ts";

const told = { ev: "progress", id: "v:1", label: "" } as const;

test("a bar has a value only where both numbers are known", () => {
  assert.deepEqual(measured({ ...told, done: 0, of: 4 }), { max: 4, value: 0 });
  assert.deepEqual(measured({ ...told, done: 3, of: null }), {});
  assert.deepEqual(measured({ ...told, done: null, of: null }), {});
  assert.deepEqual(measured(null), {});
});
