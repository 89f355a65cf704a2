import assert from "node:assert/strict";
import { test } from "node:test";

import { escaped } from "../../../../refexplorer/frontend/src/shared/escaping.ts";

test("lines stay lines where an element shows them", () => {
  assert.equal(escaped("a\nb", true), "a\nb");
});
