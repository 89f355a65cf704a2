/** State that a view draws from: `set` merges and redraws. */

import { useLayoutEffect, useReducer } from "preact/hooks";

export class Store<S extends object> {
  state: S;
  private readonly watchers = new Set<() => void>();

  constructor(state: S) {
    this.state = state;
  }

  set(part: Partial<S>): void {
    this.state = { ...this.state, ...part };
    for (const watcher of this.watchers) watcher();
  }

  watch(watcher: () => void): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }
}

/** Redraws the component whenever the store changes. */
export function useStore<S extends object>(store: Store<S>): S {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  useLayoutEffect(() => store.watch(() => redraw(0)), [store]);
  return store.state;
}
