import assert from "node:assert/strict";
import { test } from "node:test";

import { RowWindow } from "../../../../refexplorer/frontend/src/shared/rows/window.ts";

/** Python, of which each answer is let through by hand. */
function slowPython(total: number) {
  const asked: { start: number; answer(): Promise<void>; refuse(): Promise<void> }[] = [];
  const fetch = (start: number, n: number) =>
    new Promise<{ start: number; total: number; rows: number[] }>((resolve, reject) => {
      const rows = Array.from({ length: Math.min(n, total - start) }, (_, i) => start + i);
      const settled = (settle: () => void) => async () => {
        settle();
        await new Promise((done) => setTimeout(done));
      };
      asked.push({
        start,
        answer: settled(() => resolve({ start, total, rows })),
        refuse: settled(() => reject(new Error("The kernel is gone."))),
      });
    });
  return { asked, fetch };
}

test("one request is in flight, and then the newest wish is asked for", async () => {
  const { asked, fetch } = slowPython(1e6);
  const rows = new RowWindow(fetch, () => undefined);
  rows.reset(1e6);
  for (const start of [0, 5_000, 70_000, 900_000]) rows.want(start, start + 30);
  assert.equal(asked.length, 1);
  await asked[0]!.answer();
  assert.equal(asked.length, 2);
  await asked[1]!.answer();
  assert.equal(rows.at(900_010), 900_010);
  assert.equal(rows.at(5_000), undefined);
  assert.equal(asked.length, 2);
});

test("an answer to what was asked before a reset is dropped", async () => {
  const { asked, fetch } = slowPython(100);
  const rows = new RowWindow(fetch, () => undefined);
  rows.reset(100);
  rows.want(0, 20);
  rows.reset(50);
  await asked[0]!.answer();
  assert.equal(rows.at(3), undefined);
  await asked[1]!.answer();
  assert.equal(rows.at(3), 3);
});

test("rows stay on the screen until the new ones come", async () => {
  const { asked, fetch } = slowPython(100);
  const rows = new RowWindow(fetch, () => undefined);
  rows.reset(100);
  rows.want(0, 20);
  await asked[0]!.answer();
  rows.reset(100, true);
  assert.equal(rows.at(3), 3);
  assert.equal(asked.length, 2);
});

test("a refusal is kept as words, and asked again only when told to", async () => {
  const { asked, fetch } = slowPython(100);
  const rows = new RowWindow(fetch, () => undefined);
  rows.reset(100);
  rows.want(0, 20);
  await asked[0]!.refuse();
  assert.equal(rows.error, "The kernel is gone.");
  rows.want(0, 20);
  assert.equal(asked.length, 1);
  rows.retry();
  await asked[1]!.answer();
  assert.equal(rows.at(0), 0);
});

test("rows that come unasked are not asked for", async () => {
  const { asked, fetch } = slowPython(100);
  const rows = new RowWindow(fetch, () => undefined);
  rows.fill({ start: 0, total: 100, rows: [0, 1, 2, 3] });
  rows.want(0, 4);
  assert.equal(asked.length, 0);
  rows.want(0, 5);
  assert.equal(asked.length, 1);
});

test("whether there is anything to draw", () => {
  const rows = new RowWindow(slowPython(100).fetch, () => undefined);
  rows.fill({ start: 0, total: 100, rows: [0, 1, 2, 3] });
  assert.equal(rows.has(3, 10), true);
  assert.equal(rows.has(4, 10), false);
  assert.equal(rows.has(0, 0), true);
});

test("what is done with a row that is waited for is done once it comes, and only the newest of it", async () => {
  const { asked, fetch } = slowPython(1e6);
  const rows = new RowWindow(fetch, () => undefined);
  const done: number[] = [];
  const act = (row: number) => done.push(row);
  rows.reset(1e6);
  rows.want(70_000, 70_030);
  rows.withRow(70_001, act);
  rows.withRow(70_002, act);
  await asked[0]!.answer();
  assert.deepEqual(done, [70_002]);
  rows.withRow(70_003, act);
  assert.deepEqual(done, [70_002, 70_003]);
  rows.withRow(5, act);
  rows.reset(1e6);
  rows.want(0, 20);
  await asked[1]!.answer();
  assert.deepEqual(done, [70_002, 70_003], "other rows have the places of those before");
});
