/** Lights up in the text what follows the chosen rule of the specification. */

import { StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, type DecorationSet } from "@codemirror/view";

type Place = readonly [from: number, to: number];

const setPlaces = StateEffect.define<DecorationSet>();
const PLACE = Decoration.mark({ class: "rule-place" });

/** The marks move along with what is typed, until the next ones come. */
export const rulePlaces = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    const set = transaction.effects.find((effect) => effect.is(setPlaces));
    return set ? set.value : marks.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Shows the places, and scrolls to the first if none is in sight; no places clear what was shown. */
export function showPlaces(view: EditorView, places: readonly Place[], reveal: boolean): void {
  const end = view.state.doc.length;
  const shown = places.filter(([from, to]) => from < to && to <= end);
  const effects: StateEffect<unknown>[] = [
    setPlaces.of(
      Decoration.set(
        shown.map(([from, to]) => PLACE.range(from, to)),
        true,
      ),
    ),
  ];
  const isSeen = shown.some(([from]) => view.visibleRanges.some((range) => range.from <= from && from <= range.to));
  if (reveal && shown[0] && !isSeen) effects.push(EditorView.scrollIntoView(shown[0][0], { y: "center" }));
  view.dispatch({ effects });
}
