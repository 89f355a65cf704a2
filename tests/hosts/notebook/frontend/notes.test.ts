import assert from "node:assert/strict";
import { test } from "node:test";

import { grouped, placeOf } from "../../../../refexplorer/frontend/src/shared/notes.ts";
import type { Note } from "../../../../refexplorer/frontend/src/shared/wire.ts";

function note(code: string, pointer: string, more: Partial<Note> = {}): Note {
  return {
    code,
    pointer,
    severity: "info",
    meaning: "",
    message: "",
    hint: null,
    line: null,
    column: null,
    count: 1,
    key: null,
    ...more,
  };
}

test("notes of one kind come together, where the first of them was", () => {
  const notes = [note("a", "/1"), note("b", "/2"), note("a", "/3"), note("a", "/4", { severity: "error" })];
  assert.deepEqual(
    grouped(notes).map((group) => group.map(({ pointer }) => pointer)),
    [["/1", "/3"], ["/2"], ["/4"]],
  );
});

test("a column far into the only line is no place", () => {
  assert.equal(placeOf(note("a", "/refs/x", { line: 1, column: 1_134_220 })), 'refs["x"]');
  assert.equal(placeOf(note("a", "/refs/x", { line: 1, column: 20 })), "line 1:20");
  assert.equal(placeOf(note("a", "/refs/x", { line: 7, column: 300 })), "line 7:300");
  assert.equal(placeOf(note("a", "")), "/");
});

test("a note about a key says the key as the tree does", () => {
  assert.equal(placeOf(note("a", "/refs/x~10.0", { key: "x/0.0" })), "x/0.0");
  assert.equal(placeOf(note("a", "/x~10.0/1", { key: "x/0.0" })), "x/0.0");
  assert.equal(placeOf(note("a", "/templates/u", { key: "x/0.0" })), 'templates["u"]');
  assert.equal(placeOf(note("a", "/refs/x~10.0", { key: "x/0.0", line: 3, column: 1 })), "line 3:1");
});
