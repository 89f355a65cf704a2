/** How a person last arranged the explorer; the browser remembers it for the next one. */

import { keep as write, kept as read } from "../shared/browser.ts";

const NAME = "refexplorer.layout";

export interface Arrangement {
  /** Share of the width that the tree has, in percent. */
  tree: number;
  /** Share of the right side. */
  aside: number;
  /** Up to so many bytes another part of an array is read by itself. */
  bound: number;
  /** Bytes of the first picture of an array; null where nobody chose any. */
  budget: number | null;
}

const FIRST: Arrangement = { tree: 26, aside: 24, bound: 1_000_000, budget: null };

export function kept(): Arrangement {
  const { tree, aside, bound, budget } = { ...FIRST, ...(read(NAME) as Partial<Arrangement> | null) };
  return {
    tree: tree >= 12 && tree <= 60 ? tree : FIRST.tree,
    aside: aside >= 12 && aside <= 60 ? aside : FIRST.aside,
    bound: bound >= 0 ? bound : FIRST.bound,
    budget: budget !== null && budget > 0 ? budget : FIRST.budget,
  };
}

export function keep(change: Partial<Arrangement>): void {
  write(NAME, { ...kept(), ...change });
}
