/** How a person last arranged the explorer; the browser remembers it for the next one. */

const NAME = "refexplorer.layout";

export interface Arrangement {
  tab: string;
  /** Share of the width that the tree has, in percent. */
  tree: number;
  /** Up to so many bytes another part of an array is read by itself. */
  bound: number;
  /** Bytes of the first picture of an array; null where nobody chose any. */
  budget: number | null;
}

const FIRST: Arrangement = { tab: "overview", tree: 40, bound: 1_000_000, budget: null };

export function kept(): Arrangement {
  try {
    const { tab, tree, bound, budget } = { ...FIRST, ...JSON.parse(localStorage.getItem(NAME) ?? "{}") };
    return {
      tab: String(tab),
      tree: tree >= 15 && tree <= 80 ? tree : FIRST.tree,
      bound: bound >= 0 ? bound : FIRST.bound,
      budget: budget > 0 ? budget : FIRST.budget,
    };
  } catch {
    return FIRST;
  }
}

export function keep(change: Partial<Arrangement>): void {
  try {
    localStorage.setItem(NAME, JSON.stringify({ ...kept(), ...change }));
  } catch {
    // A browser that keeps nothing shows the explorer as it is at first.
  }
}
