import assert from "node:assert/strict";
import { test } from "node:test";

import { Preview } from "../../../../refexplorer/frontend/src/preview/preview.ts";
import { Frames } from "../../../../refexplorer/frontend/src/preview/time/frames.ts";
import type { ExplorerWire, Plan, ReadingModel } from "../../../../refexplorer/frontend/src/shared/wire.ts";

const reading = (slices: string[] = [], failed = 0) =>
  ({ state: "fetched", array: "x", slices, chunks: { fetched: 1, fill: 0, failed } }) as unknown as ReadingModel;
const frame = (failed = 0) => ({ reading: reading([], failed), values: new Float64Array(10), integers: null });

test("the pictures that were not asked for longest go first", () => {
  const frames = new Frames(250);
  for (const name of ["a", "b", "c"]) frames.keep(name, frame());
  assert.ok(frames.get("a"));
  frames.keep("d", frame());
  assert.deepEqual(
    ["a", "b", "c", "d"].filter((name) => frames.has(name)),
    ["a", "c", "d"],
  );
  assert.equal(frames.size, 240);
});

test("what failed in part is asked for again", () => {
  const frames = new Frames();
  frames.keep("a", frame(1));
  assert.equal(frames.has("a"), false);
  assert.equal(frames.size, 0);
});

/** A kernel that answers plans and readings at once, and keeps what it was asked. */
function kernel() {
  const asked: Record<string, unknown>[] = [];
  const plan = (slices: string[]) =>
    ({
      array: "x",
      dimensions: ["t"],
      sizes: [3],
      slices,
      estimate: { bytes: 0, requests: 0, targets: [], label: "", chunks: 0 },
      kept: 0,
      kept_most: 1,
    }) as unknown as Plan;
  const wire = {
    on: () => () => undefined,
    cancel: () => undefined,
    request: (op: string, fields: { slices: string[] | null; index: number[] | null }) => {
      asked.push({ op, ...fields });
      return Promise.resolve({ plan: plan(fields.slices ?? fields.index?.map(String) ?? ["0"]) });
    },
    job: (op: string, fields: { slices: string[]; parts?: string[][] }) => {
      asked.push({ op, ...fields });
      const message = op === "chunk.ahead" ? { kept: 0, parts: 1 } : { reading: reading(fields.slices) };
      return { id: String(asked.length), reply: Promise.resolve({ message, buffers: [new Float64Array(1).buffer] }) };
    },
  };
  return { asked, preview: new Preview(wire as unknown as ExplorerWire, () => {}) };
}

const settled = (milliseconds = 0) => new Promise((resolve) => setTimeout(resolve, milliseconds));

test("what was read ahead is shown without a message, and told once it stays", async () => {
  globalThis.localStorage ??= { getItem: () => null, setItem: () => undefined } as unknown as Storage;
  const { asked, preview } = kernel();
  preview.look("x", null);
  await settled();
  await preview.read();
  await preview.readAhead("x", [["1"], ["2"]]);
  assert.deepEqual(
    asked.filter(({ ahead }) => ahead).map(({ slices }) => slices),
    [["1"]],
    "only what fitted into the budget",
  );
  const before = asked.length;
  preview.want("x", ["1"]);
  preview.want("x", ["0"]);
  preview.want("x", ["1"]);
  assert.equal(asked.length, before);
  assert.deepEqual(preview.state.job?.reading?.slices, ["1"]);
  assert.deepEqual(preview.state.plan?.slices, ["1"]);
  await settled(300);
  assert.deepEqual(asked.slice(before), [
    { op: "slice.plan", array: "x", index: null, slices: ["1"], shown: true, budget: null },
  ]);
  preview.forget();
  preview.want("x", ["1"]);
  await settled();
  assert.deepEqual(asked.at(-1)?.shown, false, "of another set nothing is known");
  preview.close();
});

test("a chunk that is looked at while another part is read or planned stays", async () => {
  globalThis.localStorage ??= { getItem: () => null, setItem: () => undefined } as unknown as Storage;
  const { preview } = kernel();
  preview.look("x", null);
  await settled();
  const reading = preview.read();
  preview.look("x", [2]);
  await reading;
  await settled(300);
  assert.deepEqual(preview.state.plan?.slices, ["2"]);
  const seen: (string[] | undefined)[] = [];
  preview.watch(() => seen.push(preview.state.plan?.slices));
  preview.look("x", [0]);
  preview.look("x", [1]);
  await settled();
  assert.ok(!seen.some((slices) => slices?.join() === "0"), "its Read would read what is not selected");
  assert.deepEqual(preview.state.plan?.slices, ["1"]);
  preview.close();
});
