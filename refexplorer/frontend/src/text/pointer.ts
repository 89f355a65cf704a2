/** Between places in the text and JSON pointers, by CodeMirror's syntax tree: also in a broken text. */

import { syntaxTree } from "@codemirror/language";
import type { EditorState } from "@codemirror/state";

export type SyntaxNode = ReturnType<ReturnType<typeof syntaxTree>["resolveInner"]>;

/** The names on the way to the value or property at a place, from the outermost. */
export function pathAt(state: EditorState, place: number): string[] {
  const path: string[] = [];
  let child: SyntaxNode | null = null;
  for (let node: SyntaxNode | null = syntaxTree(state).resolveInner(place, -1); node; node = node.parent) {
    if (node.name === "Property") path.unshift(nameOf(state, node));
    if (node.name === "Array" && child !== null) path.unshift(String(placeIn(node, child)));
    child = node;
  }
  return path;
}

/** The JSON pointer (RFC 6901) of a path. */
export function pointerOf(path: string[]): string {
  return path.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** The name of a property, its escapes resolved. */
export function nameOf(state: EditorState, property: SyntaxNode): string {
  const name = property.getChild("PropertyName");
  const raw = name === null ? '""' : state.sliceDoc(name.from, name.to);
  try {
    return String(JSON.parse(raw));
  } catch {
    return raw.slice(1, -1);
  }
}

const MARKS = new Set(["[", "]", ",", "⚠"]);

function placeIn(array: SyntaxNode, child: SyntaxNode): number {
  let place = 0;
  for (let node = array.firstChild; node && node.from < child.from; node = node.nextSibling) {
    if (!MARKS.has(node.name)) place += 1;
  }
  return place;
}
