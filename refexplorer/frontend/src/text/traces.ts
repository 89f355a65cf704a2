/** Lights up in the text what the chosen row comes from, and shows what each expression gave. */

import {
  type EditorState,
  type Extension,
  type Range,
  StateEffect,
  StateField,
  type StateEffectType,
} from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, hoverTooltip, showTooltip, type Tooltip } from "@codemirror/view";

import type { Derivation, Piece } from "../shared/wire.ts";
import { pathAt, pointerOf } from "./assistance.ts";
import { tip } from "./code.ts";

const SOURCE = Decoration.mark({ class: "trace" });

/** Marks that move along with what is typed, until the effect sets the next ones. */
function marksSetBy(set: StateEffectType<DecorationSet>): StateField<DecorationSet> {
  return StateField.define<DecorationSet>({
    create: () => Decoration.none,
    update(marks, transaction) {
      const found = transaction.effects.find((effect) => effect.is(set));
      return found ? found.value : marks.map(transaction.changes);
    },
    provide: (field) => EditorView.decorations.from(field),
  });
}

const setTraces = StateEffect.define<DecorationSet>();
const traces = marksSetBy(setTraces);

/** What the expression at a place gave for the chosen row. */
function valueAt(state: EditorState, place: number): Tooltip | null {
  let found: { from: number; to: number; result: string } | null = null;
  state.field(traces).between(place, place, (from, to, mark) => {
    if (typeof mark.spec["result"] === "string") found = { from, to, result: mark.spec["result"] };
  });
  if (found === null) return null;
  const { from, to, result } = found as { from: number; to: number; result: string };
  return { pos: from, end: to, above: true, create: () => ({ dom: tip(`= \`${result}\``) }) };
}

const hoveredValue = hoverTooltip((view, place) => valueAt(view.state, place));

/** The same at the cursor, for keyboard users. */
const valueAtCursor = StateField.define<Tooltip | null>({
  create: () => null,
  update: (_, { state }) => {
    const { main } = state.selection;
    return main.empty ? valueAt(state, main.head) : null;
  },
  provide: (field) => showTooltip.from(field),
});

/** Says in which part of the document the cursor is, whenever it rests. */
function followCursor(moved: (pointer: string) => void): Extension {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return EditorView.updateListener.of((update) => {
    if (!update.selectionSet) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      const { state } = update.view;
      moved(pointerOf(pathAt(state, state.selection.main.head)));
    }, 120);
  });
}

export function tracing(moved: (pointer: string) => void): Extension {
  return [traces, hoveredValue, valueAtCursor, followCursor(moved)];
}

/** Shows where a row comes from, unless the text has moved on; null clears it. */
export function showTraces(view: EditorView, derivation: Derivation | null, text: string): void {
  if (derivation !== null && view.state.doc.toString() !== text) return;
  const marks = derivation === null ? [] : marksOf(derivation);
  view.dispatch({ effects: setTraces.of(Decoration.set(marks, true)) });
}

/** Scrolls so that the first source of a row is seen, if it is not yet. */
export function revealTraces(view: EditorView, derivation: Derivation): void {
  const first = derivation.steps.find(isTraced);
  if (first?.from == null || first.from > view.state.doc.length) return;
  view.dispatch({ effects: EditorView.scrollIntoView(first.from, { y: "nearest", yMargin: 40 }) });
}

/** Steps that stand for many lines, which would light up too much. */
const WIDE = ["dimensions", "reference"];

function isTraced(step: Derivation["steps"][number]): boolean {
  return step.from !== null && !WIDE.includes(step.name);
}

function marksOf(derivation: Derivation): Range<Decoration>[] {
  return derivation.steps
    .filter(isTraced)
    .flatMap((step) => [SOURCE.range(step.from!, step.to!), ...step.pieces.flatMap(markOf)]);
}

function markOf({ from, to, result }: Piece): Range<Decoration>[] {
  if (from === null || to === null || result === null) return [];
  return [Decoration.mark({ class: "trace-value", result }).range(from, to)];
}

type Place = readonly [from: number, to: number];

const PLACE = Decoration.mark({ class: "rule-place" });
const setPlaces = StateEffect.define<DecorationSet>();
export const rulePlaces = marksSetBy(setPlaces);

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
