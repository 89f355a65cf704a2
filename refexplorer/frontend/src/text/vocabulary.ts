/** The names that a document offers at a place, and what each part of it is for. */

import { syntaxTree } from "@codemirror/language";
import type { EditorState } from "@codemirror/state";

import { nameOf, type SyntaxNode } from "./pointer.ts";
import type { Help } from "../shared/wire.ts";

const NAMED_BY_ANYONE = new Set(["templates", "gen", "refs"]);

/** The path with `*` for each name that the document chooses itself, as `help.parts` has it. */
function pattern(path: string[]): string {
  const isFree = (depth: number) =>
    (depth === 1 && NAMED_BY_ANYONE.has(path[0]!)) || (depth === 3 && path[2] === "dimensions");
  return path.map((name, depth) => `/${isFree(depth) ? "*" : name}`).join("");
}

export function helpFor(help: Help, path: string[]): string | undefined {
  return help.parts[pattern(path)];
}

/** The names that the specification has for what is right below a part. */
export function namesBelow(help: Help, path: string[]): string[] {
  const start = `${pattern(path)}/`;
  return Object.keys(help.parts)
    .filter((part) => part.startsWith(start))
    .map((part) => part.slice(start.length))
    .filter((name) => name !== "*" && !name.includes("/"));
}

/** A name that an expression may use, and the text of its value. */
export interface Name {
  name: string;
  kind: "template" | "dimension";
  value: string;
}

/** What `{{ … }}` at this path may name: the dimensions of its gen item, and the templates. */
export function namesInExpression(state: EditorState, path: string[]): Name[] {
  const root = syntaxTree(state).topNode.getChild("Object");
  if (root === null || !["gen", "refs"].includes(path[0] ?? "")) return [];
  const dimensions = path[0] === "gen" ? membersAt(state, root, ["gen", path[1]!, "dimensions"]) : [];
  return [
    ...dimensions.map((member) => named(state, member, "dimension")),
    ...membersAt(state, root, ["templates"]).map((member) => named(state, member, "template")),
  ];
}

function named(state: EditorState, member: SyntaxNode, kind: Name["kind"]): Name {
  const value = member.lastChild;
  const text = value === null ? "" : state.sliceDoc(value.from, Math.min(value.to, value.from + 80));
  return { name: nameOf(state, member), kind, value: text.replaceAll(/\s+/g, " ") };
}

/** The properties of the object at a path. */
function membersAt(state: EditorState, root: SyntaxNode, path: string[]): SyntaxNode[] {
  let node: SyntaxNode | null = root;
  for (const name of path) {
    if (node?.name === "Array") node = node.getChildren("Object")[Number(name)] ?? null;
    else node = node?.getChildren("Property").find((one) => nameOf(state, one) === name)?.lastChild ?? null;
  }
  return node?.getChildren("Property") ?? [];
}
