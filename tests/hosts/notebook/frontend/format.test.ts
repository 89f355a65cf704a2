import assert from "node:assert/strict";
import { test } from "node:test";

import * as format from "../../../../refexplorer/frontend/src/shared/format.ts";

test("JSON is indented, unless that would change it", () => {
  assert.equal(format.pretty('{"a":[1]}'), '{\n  "a": [\n    1\n  ]\n}');
  for (const text of ['{"a":1.0}', '{"a":9007199254740993}', '{"a":1,"a":2}', "{{u}}", "plain"]) {
    assert.equal(format.pretty(text), text);
  }
});

test("what is not known is said so, and whole files are counted beside it", () => {
  const kinds = { inline: 0, base64: 0, url: 0, range: 3 };
  const facts = { keys: 3, arrays: 1, targets: 1, bytes: null, kinds };
  assert.equal(format.extent(facts), null);
  assert.equal(format.extent({ ...facts, bytes: 0 }), "0 B");
  const whole = { ...facts, bytes: 1_000, kinds: { ...kinds, url: 1 } };
  assert.equal(format.extent(whole), "1.00 kB and 1 whole file (size unknown)");
});

test("a number that may have been rounded on its way is said as a size", () => {
  assert.equal(format.rounded(2 ** 53 - 1), "9,007,199,254,740,991");
  assert.equal(format.rounded(2 ** 60), "about 1.15 EB");
  assert.equal(format.less("9007199254740993", 1), 9007199254740992n);
});

test("one is singular", () => {
  assert.deepEqual(
    [0, 1, "1", 2].map((n) => format.counted(n, "key")),
    ["0 keys", "1 key", "1 key", "2 keys"],
  );
});

test("values are short, and NaN and NaT keep their names", () => {
  assert.deepEqual([Number.NaN, 3, 1e6, 0.1 + 0.2].map(format.value), ["NaN", "3", "1,000,000", "0.3"]);
  assert.equal(format.moment(0), "1970-01-01");
  assert.equal(format.moment(90_061_000), "1970-01-02 01:01:01");
  assert.equal(format.moment(Number.NaN), "NaT");
  assert.equal(format.moment(9e15), "9000000000000000 ms since 1970");
});
