import assert from "node:assert/strict";
import { test } from "node:test";

import { Newest } from "../../../refexplorer/frontend/src/shared/newest.ts";

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
