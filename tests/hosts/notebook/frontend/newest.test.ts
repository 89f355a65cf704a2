import assert from "node:assert/strict";
import { test } from "node:test";

import { Newest } from "../../../../refexplorer/frontend/src/shared/waiting.ts";

test("of the questions that come while one is answered only the last is asked", async () => {
  const asked: number[] = [];
  let free: () => void = () => undefined;
  const newest = new Newest<number>(async (question) => {
    asked.push(question);
    await new Promise<void>((resolve) => (free = resolve));
  });
  const done = newest.ask(1);
  void newest.ask(2);
  void newest.ask(3);
  assert.deepEqual(asked, [1]);
  free();
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual(asked, [1, 3]);
  free();
  await done;
});

test("after a failure the next question is asked", async () => {
  const asked: number[] = [];
  const newest = new Newest<number>(async (question) => {
    asked.push(question);
    if (question === 1) throw new Error("The kernel is gone.");
  });
  await assert.rejects(newest.ask(1), /kernel is gone/);
  await newest.ask(2);
  assert.deepEqual(asked, [1, 2]);
});

test("a question that came while the one before it failed is asked, and its end counts", async () => {
  const asked: number[] = [];
  let fail: (error: Error) => void = () => undefined;
  const newest = new Newest<number>(async (question) => {
    asked.push(question);
    if (question === 1) await new Promise<void>((_, reject) => (fail = reject));
  });
  const done = newest.ask(1);
  void newest.ask(2);
  fail(new Error("The kernel is gone."));
  await done;
  assert.deepEqual(asked, [1, 2]);
});
