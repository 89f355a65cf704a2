/** Shows in the text what another one has differently: its lines above ours. */

import { getChunks, unifiedMergeView } from "@codemirror/merge";
import { Compartment, type EditorState, type Extension } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";

const comparison = new Compartment();

/** How long is looked for the smallest difference: of texts in one line it may be all of them. */
const DIFF = { scanLimit: 500, timeout: 300 };

export const comparable: Extension = comparison.of([]);

/** Compares with another text; null ends it. */
export function compareWith(view: EditorView, other: string | null): void {
  const extension =
    other === null
      ? []
      : unifiedMergeView({ original: other, mergeControls: false, syntaxHighlightDeletions: false, diffConfig: DIFF });
  view.dispatch({ effects: comparison.reconfigure(extension) });
}

/** How many places differ; null while nothing is compared. */
export function differences(state: EditorState): number | null {
  return getChunks(state)?.chunks.length ?? null;
}
