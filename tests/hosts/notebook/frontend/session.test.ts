import assert from "node:assert/strict";
import { test } from "node:test";

import { ExplorerSession } from "../../../../refexplorer/frontend/src/explorer/session.ts";
import { followState, readListed } from "../../../../refexplorer/frontend/src/explorer/address.ts";
import type { Host, Message } from "../../../../refexplorer/frontend/src/shared/host.ts";

const PARTS = [
  { name: "data", label: "Values", title: "Values", look: true },
  { name: "census", label: "Census", title: "All heads", look: true },
  { name: "tree", label: "Keys", title: "Keys", look: false },
  { name: "key", label: "Key", title: "One key", look: false },
];
const ANSWERS: Record<string, object> = {
  hello: { title: "a.json", code: "refs", notes: [], note_count: 0, arrays: [] },
  "tree.rows": { start: 0, total: 1, rows: [] },
  "tree.reveal": { total: 1, index: 0 },
  "key.show": { item: { path: "a", notes: [] } },
  "tree.find": { total: 1, capped: false, in_targets: 0, unfinished: false },
  "tree.state": { total: 1, capped: false, in_targets: 0, unfinished: false },
};

/** A page whose Python answers at once. */
function page(state: Record<string, unknown> = {}) {
  const values: Record<string, unknown> = {
    parts: PARTS,
    selection: "",
    here: { address: "", step: -1 },
    asked: { address: "", step: 0 },
    ...state,
  };
  const watchers = new Map<string, Set<(value: unknown) => void>>();
  const listeners = new Set<(message: Message, buffers: ArrayBuffer[]) => void>();
  const set = (name: string, value: unknown) => {
    values[name] = value;
    for (const watcher of watchers.get(name) ?? []) watcher(value);
  };
  const host: Host = {
    place: "page",
    isMain: true,
    get: (name) => values[name],
    set,
    send: ({ id, op }) =>
      (op === "tree.more" ? setTimeout : queueMicrotask)(() => {
        for (const listener of listeners) listener({ id, ...ANSWERS[String(op)] }, []);
      }),
    onChange: (name, callback) => {
      watchers.set(name, (watchers.get(name) ?? new Set()).add(callback));
      return () => watchers.get(name)!.delete(callback);
    },
    onMessage: (callback) => {
      listeners.add(callback);
      return () => listeners.delete(callback);
    },
    child: () => Promise.resolve(null),
  };
  return { host, values, set };
}

const settled = () => new Promise((resolve) => setTimeout(resolve));

test("the looks and the titles are those that Python names", async () => {
  const session = new ExplorerSession(page().host);
  await session.opened;
  assert.deepEqual(
    session.looks.map(({ label }) => label),
    ["Values", "Census"],
  );
  assert.equal(session.titleOf("census"), "All heads");
  assert.equal(session.lookNamed("census"), "census");
  assert.equal(session.lookNamed("tree"), "data");
  session.close();
});

test("choosing a key turns the right side from the set to the key, and the look stays", async () => {
  const session = new ExplorerSession(page().host);
  await session.opened;
  session.show("census");
  session.showDetails(true);
  await session.reveal("a");
  assert.deepEqual([session.state.look, session.state.aboutSet], ["census", false]);
  session.close();
});

test("a search shows what it found so far until it is done, stopped, or another one begins", async () => {
  const found = ANSWERS["tree.find"]!;
  const session = new ExplorerSession(page().host);
  await session.opened;
  const more = (total: number, unfinished: boolean) =>
    Object.assign(ANSWERS, { "tree.more": { total, capped: false, in_targets: 0, unfinished } });
  try {
    ANSWERS["tree.find"] = { ...found, unfinished: true };
    more(7, true);
    await session.find({ text: "a" });
    assert.deepEqual([session.state.searching, session.rows.total], [true, 1]);
    await settled();
    assert.deepEqual([session.state.found?.unfinished, session.rows.total], [true, 7]);
    more(9, false);
    await settled();
    assert.deepEqual([session.state.found?.unfinished, session.rows.total], [false, 9]);
    more(7, true);
    await session.find({ text: "b" });
    session.stopSearch();
    more(9, true);
    await settled();
    assert.deepEqual([session.state.found?.capped, session.rows.total < 9], [true, true]);
    await session.find({ text: "c" });
    await session.reveal("a");
    await settled();
    assert.deepEqual([session.state.searching, session.rows.total], [false, 1]);
  } finally {
    ANSWERS["tree.find"] = found;
  }
  session.close();
});

test("the explorer goes where the address says, and tells where it is", async () => {
  const { host, values, set } = page({ asked: { address: "view=census&key=a&slice=1%2C0", step: 3 } });
  const session = new ExplorerSession(host);
  const off = followState(host, session);
  await settled();
  const { look, selection, steps } = session.state;
  assert.deepEqual({ look, selection, steps }, { look: "census", selection: "a", steps: [1, 0] });
  assert.deepEqual(values["here"], { address: "view=census&key=a&slice=1%2C0", step: 3 });
  set("asked", { address: "view=nowhere&slice=-1", step: 4 });
  await settled();
  assert.deepEqual([session.state.look, session.state.steps], ["data", []]);
  assert.deepEqual(values["here"], { address: "", step: 4 });
  off();
  session.close();
});

test("a notebook tells where it is in one trait, and what came from there is not told back", async () => {
  const { host, values, set } = page({ state: { key: "a" } });
  const session = new ExplorerSession({ ...host, place: "notebook" });
  const off = followState({ ...host, place: "notebook" }, session);
  await settled();
  assert.deepEqual([session.state.look, session.state.selection], ["data", "a"]);
  assert.deepEqual(values["state"], { key: "a" });
  session.show("census");
  assert.deepEqual(values["state"], { view: "census", key: "a" });
  set("state", { list: "absent:a" });
  await settled();
  assert.deepEqual(session.state.focus, { by: "state", state: "absent", array: "a" });
  assert.deepEqual(values["state"], { list: "absent:a" });
  off();
  session.close();
});

test("what an address lists is read, and what is no such thing is not", () => {
  assert.deepEqual(readListed("rejected"), { by: "state", state: "rejected", array: null });
  assert.deepEqual(readListed("absent:a:b/c"), { by: "state", state: "absent", array: "a:b/c" });
  assert.deepEqual(readListed("unread:"), { by: "state", state: "unread", array: "" });
  assert.deepEqual(readListed("target:s3://b/f"), { by: "target", url: "s3://b/f" });
  assert.deepEqual(readListed("target"), { by: "target", url: null });
  for (const text of ["", "other:x", "toString"]) assert.equal(readListed(text), null);
});
