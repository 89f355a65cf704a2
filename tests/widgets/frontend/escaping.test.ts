import assert from "node:assert/strict";
import { test } from "node:test";

import { escaped } from "../../../refexplorer/frontend/src/shared/escaping.ts";

test("characters that hide or turn text are escapes, as Python writes them", () => {
  assert.equal(escaped("a\u0000\u202eb\n"), "a\\x00\\u202eb\\n");
  assert.equal(escaped("a\nb", true), "a\nb");
});
