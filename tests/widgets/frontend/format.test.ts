import assert from "node:assert/strict";
import { test } from "node:test";

import * as format from "../../../refexplorer/frontend/src/shared/format.ts";

test("sizes are read with three digits", () => {
  const sizes = [0, 999, 1_000, 57_288, 999_499, 999_500, 86_100_000];
  const read = ["0 B", "999 B", "1.00 kB", "57.3 kB", "999 kB", "1.00 MB", "86.1 MB"];
  assert.deepEqual(sizes.map(format.bytes), read);
});

test("a number above 2^53 keeps every digit", () => {
  assert.equal(format.count("9007199254740993"), "9,007,199,254,740,993");
});

test("JSON is indented, unless that would change it", () => {
  assert.equal(format.pretty('{"a":[1]}'), '{\n  "a": [\n    1\n  ]\n}');
  for (const text of ['{"a":1.0}', '{"a":9007199254740993}', '{"a":1,"a":2}', "{{u}}", "plain"]) {
    assert.equal(format.pretty(text), text);
  }
});
