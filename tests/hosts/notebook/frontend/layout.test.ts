import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { keep, kept } from "../../../../refexplorer/frontend/src/explorer/layout.ts";

/** A browser's storage; `refuses` is one where a person allows none. */
function storage(refuses = false) {
  const items = new Map<string, string>();
  const use = <T>(value: () => T): T => {
    if (refuses) throw new Error("The operation is insecure.");
    return value();
  };
  return {
    getItem: (name: string) => use(() => items.get(name) ?? null),
    setItem: (name: string, text: string) => use(() => void items.set(name, text)),
  };
}

function browser(local: ReturnType<typeof storage>): void {
  Object.defineProperty(globalThis, "localStorage", { value: local, configurable: true });
}

afterEach(() => browser(storage()));

test("what one arranged is there the next time, each by itself", () => {
  browser(storage());
  keep({ tab: "chunks" });
  keep({ tree: 55 });
  assert.deepEqual(kept(), { tab: "chunks", tree: 55, bound: 1_000_000, budget: null });
});

test("a tree that would leave no room is as wide as at first", () => {
  browser(storage());
  keep({ tree: 99 });
  assert.equal(kept().tree, 40);
});

test("a browser that keeps nothing, or something else, shows the explorer as at first", () => {
  browser(storage(true));
  keep({ tab: "chunks" });
  assert.deepEqual(kept(), { tab: "overview", tree: 40, bound: 1_000_000, budget: null });
  const local = storage();
  browser(local);
  local.setItem("refexplorer.layout", "{broken");
  assert.deepEqual(kept(), { tab: "overview", tree: 40, bound: 1_000_000, budget: null });
});
