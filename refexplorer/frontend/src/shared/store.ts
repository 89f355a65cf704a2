/** State that a view draws from: `set` merges and redraws. */

import { useEffect, useLayoutEffect, useReducer, useState } from "preact/hooks";

/** Something that may fail; it may return what is set then. */
export type Work<S> = (() => Promise<Partial<S>>) | (() => Promise<void>);

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

  /**
   * Does something that may fail, and sets what it returns; under `failure` is then why it failed, or null.
   * A failure sets `otherwise`, too. Nothing is set if the response is no longer wanted.
   */
  async attempt(
    failure: keyof S,
    work: Work<S>,
    { otherwise = {}, isWanted = () => true }: { otherwise?: Partial<S>; isWanted?(): boolean } = {},
  ): Promise<void> {
    let part: object;
    try {
      part = { [failure]: null, ...(await work()) };
    } catch (error) {
      part = { ...otherwise, [failure]: (error as Error).message };
    }
    if (isWanted()) this.set(part);
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

/** What came of a question, by its name: until it is here what came of the one before; null asks nothing. */
export function useAnswer<A>(name: string | null, ask: () => Promise<A>) {
  const [found, setFound] = useState({
    of: null as string | null,
    answer: null as A | null,
    error: null as string | null,
  });
  useEffect(() => {
    if (name === null) return;
    let isCurrent = true;
    const set = (answer: A | null, error: string | null) => isCurrent && setFound({ of: name, answer, error });
    ask().then(
      (answer) => set(answer, null),
      (error: Error) => set(null, error.message),
    );
    return () => {
      isCurrent = false;
    };
  }, [name]);
  return { ...found, isComing: found.of !== name };
}

/** What came of the last action, for some milliseconds or until the next, and a way to run one; a failure says why. */
export function useSaid(
  forget = Infinity,
): [said: string | null, run: (act: () => Promise<string | null>) => Promise<void>] {
  const [said, say] = useState<string | null>(null);
  const run = async (act: () => Promise<string | null>) => {
    say(null);
    say(await act().catch((error: Error) => error.message));
    if (forget < Infinity) setTimeout(() => say(null), forget);
  };
  return [said, run];
}
