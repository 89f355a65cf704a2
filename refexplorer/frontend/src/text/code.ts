/** CodeMirror for a reference set: JSON with templates in its texts, and the notes from Python. */

import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab, isolateHistory } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from "@codemirror/language";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
  MatchDecorator,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { getChunks, unifiedMergeView } from "@codemirror/merge";

import { assistance } from "./assistance.ts";
import { rulePlaces, tracing } from "./traces.ts";
import type { EditorDiagnostic, Fix, Help } from "../shared/wire.ts";

const highlight = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--syn-name)" },
  { tag: tags.string, color: "var(--syn-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--syn-number)" },
  { tag: tags.punctuation, color: "var(--ink2)" },
]);

const TEMPLATES = new MatchDecorator({
  regexp: /\{\{.*?\}\}|\{%.*?%\}/g,
  decoration: Decoration.mark({ class: "template" }),
});

const templates = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;

    constructor(view: EditorView) {
      this.decorations = TEMPLATES.createDeco(view);
    }

    update(update: ViewUpdate): void {
      this.decorations = TEMPLATES.updateDeco(update, this.decorations);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

interface Options {
  parent: HTMLElement;
  root: ShadowRoot;
  text: string;
  help: Help;
  /** The first line of a part that cannot be edited; null for a whole document. */
  first: number | null;
  edited(text: string): void;
  /** The cursor rests in the part of the document that this JSON pointer names. */
  moved(pointer: string): void;
  /** So many places differ from the text that it is compared with; null while there is none. */
  compared(differing: number | null): void;
}

interface Created {
  view: EditorView;
  /** Puts another text in place, with nothing to undo before it. */
  begin(text: string, first: number | null): void;
}

export function createEditor({ parent, root, text, help, first, edited, moved, compared }: Options): Created {
  const begun = (doc: string, line: number | null) =>
    EditorState.create({
      doc,
      extensions: [
        EditorState.readOnly.of(line !== null),
        lineNumbers({ formatNumber: (number) => String(number + (line ?? 1) - 1) }),
        highlightActiveLineGutter(),
        lintGutter(),
        foldGutter(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        search({ top: true }),
        json(),
        syntaxHighlighting(highlight),
        templates,
        tracing(moved),
        rulePlaces,
        comparable,
        assistance(help),
        EditorView.contentAttributes.of({ "aria-label": "The reference set, version 1", tabindex: "0" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) edited(update.state.doc.toString());
          const differing = differences(update.state);
          if (differing !== differences(update.startState)) compared(differing);
        }),
        keymap.of([
          ...closeBracketsKeymap,
          ...defaultKeymap,
          ...searchKeymap,
          ...historyKeymap,
          ...foldKeymap,
          ...lintKeymap,
          indentWithTab,
        ]),
      ],
    });
  const view = new EditorView({ state: begun(text, first), parent, root });
  return { view, begin: (doc, line) => view.setState(begun(doc, line)) };
}

/** Puts another text in place; it can be undone like anything typed. */
export function replaceText(view: EditorView, text: string): void {
  if (view.state.doc.toString() === text) return;
  view.dispatch({
    changes: { from: 0, to: view.state.doc.length, insert: text },
    annotations: isolateHistory.of("full"),
  });
}

/** Shows the notes at their places, unless the text has moved on since they were made. */
export function showMarks(view: EditorView, marks: EditorDiagnostic[], text: string): void {
  if (view.state.doc.toString() !== text) return;
  const { length } = view.state.doc;
  const diagnostics = marks
    .filter((mark) => mark.from >= 0)
    .map(
      (mark): Diagnostic => ({
        from: Math.min(mark.from, length),
        to: Math.min(Math.max(mark.to, mark.from), length),
        severity: mark.severity,
        message: said(mark),
        renderMessage: () => tip(said(mark)),
        actions: mark.fixes.map((fix) => ({ name: fix.label, apply: () => applyFix(view, fix, text) })),
      }),
    );
  view.dispatch(setDiagnostics(view.state, diagnostics));
}

function said({ message, hint }: EditorDiagnostic): string {
  return hint ? `${message} ${hint}` : message;
}

/** Mends the text, unless it has moved on since the fix was found. */
export function applyFix(view: EditorView, { changes }: Fix, text: string): void {
  if (view.state.doc.toString() !== text) return;
  view.dispatch({ changes, annotations: isolateHistory.of("full"), scrollIntoView: true });
  view.focus();
}

export function jumpTo(view: EditorView, { from, to }: { from: number; to: number }): void {
  const end = view.state.doc.length;
  view.dispatch({
    selection: { anchor: Math.min(from, end), head: Math.min(to, end) },
    effects: EditorView.scrollIntoView(Math.min(from, end), { y: "center" }),
  });
  view.focus();
}

export function tip(sentence: string): HTMLElement {
  const dom = document.createElement("div");
  dom.className = "tip";
  sentence.split("`").forEach((part, i) => {
    if (i % 2 === 0) {
      dom.append(part);
      return;
    }
    const code = document.createElement("code");
    code.textContent = part;
    dom.append(code);
  });
  return dom;
}

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
