import assert from "node:assert/strict";
import { test } from "node:test";

import * as format from "../../../refexplorer/frontend/src/shared/format.ts";

test("JSON is indented, unless that would change it", () => {
  assert.equal(format.pretty('{"a":[1]}'), '{\n  "a": [\n    1\n  ]\n}');
  for (const text of ['{"a":1.0}', '{"a":9007199254740993}', '{"a":1,"a":2}', "{{u}}", "plain"]) {
    assert.equal(format.pretty(text), text);
  }
});
