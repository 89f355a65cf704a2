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
  keep({ aside: 30 });
  keep({ tree: 55 });
  assert.deepEqual(kept(), { tree: 55, aside: 30, bound: 1_000_000, budget: null });
});

test("a side that would leave no room is as wide as at first", () => {
  browser(storage());
  keep({ tree: 99, aside: 2 });
  assert.deepEqual([kept().tree, kept().aside], [26, 24]);
});

test("a browser that keeps nothing, or something else, shows the explorer as at first", () => {
  browser(storage(true));
  keep({ tree: 55 });
  assert.deepEqual(kept(), { tree: 26, aside: 24, bound: 1_000_000, budget: null });
  const local = storage();
  browser(local);
  local.setItem("refexplorer.layout", "{broken");
  assert.deepEqual(kept(), { tree: 26, aside: 24, bound: 1_000_000, budget: null });
});
