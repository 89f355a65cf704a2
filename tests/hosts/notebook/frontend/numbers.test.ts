import assert from "node:assert/strict";
import { test } from "node:test";

import { decode } from "../../../../refexplorer/frontend/src/key/numbers.ts";

function meanings(bytes: number[], at = 0): Record<string, [string, string]> {
  return Object.fromEntries(decode(Uint8Array.from(bytes), at).map(({ name, little, big }) => [name, [little, big]]));
}

test("bytes are read in both orders", () => {
  const read = meanings([0, 1, 0, 0, 0, 0, 0, 0x80]);
  assert.deepEqual(read["uint16"], ["256", "1"]);
  assert.deepEqual(read["int64"], ["-9223372036854775552", "281474976710784"]);
  assert.deepEqual(read["uint8"], ["0", "0"]);
});

test("a float32 has no more digits than it holds", () => {
  assert.deepEqual(meanings([0xcd, 0xcc, 0xcc, 0x3d])["float32"]![0], "0.1");
});

test("a number that reaches past the end has no value", () => {
  const read = meanings([1, 2, 3, 4], 2);
  assert.deepEqual(read["int16"], ["1027", "772"]);
  assert.deepEqual(read["int32"], ["–", "–"]);
});
