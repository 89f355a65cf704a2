/** Completion of names, and help where the pointer rests: in the words of the specification. */

import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  snippetCompletion,
  startCompletion,
} from "@codemirror/autocomplete";
import { syntaxTree } from "@codemirror/language";
import type { EditorState, Extension } from "@codemirror/state";
import { EditorView, hoverTooltip, type ViewUpdate } from "@codemirror/view";

import { tip } from "./code.ts";
import type { Help } from "../shared/wire.ts";

/** What a new property begins with; the cursor goes into it. */
const VALUES: Record<string, string> = {
  version: "1",
  templates: "{${}}",
  gen: "[{${}}]",
  refs: "{${}}",
  dimensions: '{"${i}": {"stop": ${1}}}',
  start: "${0}",
  stop: "${1}",
  step: "${1}",
};

export function assistance(help: Help): Extension {
  return [
    autocompletion({ override: [(context) => complete(context, help)], icons: false }),
    EditorView.updateListener.of(offerAtOnce),
    hoverTooltip((view, place) => {
      const found = explained(view.state, place, help);
      return found && { ...found, above: true, create: () => ({ dom: tip(found.said) }) };
    }),
  ];
}

/** Where a name or an expression has just been begun the list opens by itself, before its first letter. */
function offerAtOnce({ view, state, transactions }: ViewUpdate): void {
  if (!transactions.some((one) => one.isUserEvent("input.type"))) return;
  const pos = state.selection.main.head;
  const isName =
    state.sliceDoc(pos - 1, pos) === '"' && syntaxTree(state).resolveInner(pos, -1).name === "PropertyName";
  const isExpression = state.sliceDoc(pos - 2, pos) === "{{";
  // An update may not dispatch another one.
  if (isName || isExpression) setTimeout(() => view.dom.isConnected && startCompletion(view));
}

function complete(context: CompletionContext, help: Help): CompletionResult | null {
  const { state, pos } = context;
  const node = syntaxTree(state).resolveInner(pos, -1);
  if (node.name === "String") return completeExpression(context, node, help);
  const isName = node.name === "PropertyName" && pos < node.to;
  if (!isName && !context.explicit) return null;
  const object = isName ? node.parent?.parent : objectAround(node, pos);
  return object ? completeName(state, object, isName ? node : null, pos, help) : null;
}

/** The object whose properties stand at a place, if it is between them. */
function objectAround(node: SyntaxNode, pos: number): SyntaxNode | null {
  for (let around: SyntaxNode | null = node; around; around = around.parent) {
    if (around.name !== "Object" && around.name !== "Array") continue;
    const isClosed = around.lastChild?.name === "}" || around.lastChild?.name === "]";
    const isInside = around.from < pos && (pos < around.to || !isClosed);
    if (isInside) return around.name === "Object" ? around : null;
  }
  return null;
}

/** A name of the specification's, where a property's name is being written. */
function completeName(
  state: EditorState,
  object: SyntaxNode,
  name: SyntaxNode | null,
  pos: number,
  help: Help,
): CompletionResult {
  const path = pathAt(state, object.from + 1);
  const others = object.getChildren("Property").filter((one) => one.from !== name?.from);
  const taken = new Set(others.map((one) => nameOf(state, one)));
  const between = name === null ? commas(state, pos) : ["", ""];
  const hasValue = name !== null && /^\s*:/.test(state.sliceDoc(name.to, name.to + 20));
  const options = namesBelow(help, path)
    .filter((each) => !taken.has(each))
    .map((each) => {
      const option: Completion = { label: `"${each}"`, info: () => tip(helpFor(help, [...path, each]) ?? "") };
      return hasValue
        ? option
        : snippetCompletion(`${between[0]}"${each}": ${VALUES[each] ?? '"${}"'}${between[1]}`, option);
    });
  // Two quotation marks without a letter between them are no pattern that a name would match.
  const isBegun = name !== null && name.to - name.from > 2;
  return { from: name?.from ?? pos, to: name?.to ?? pos, options, filter: isBegun };
}

/** The commas that a new property needs before and behind it. */
function commas(state: EditorState, pos: number): [string, string] {
  const before = state.sliceDoc(Math.max(0, pos - 200), pos).trimEnd();
  const after = state.sliceDoc(pos, pos + 200).trimStart();
  return [/[{,]$/.test(before) ? "" : ", ", after.startsWith('"') ? "," : ""];
}

/** A dimension, a template or a filter, inside `{{ … }}`. */
function completeExpression(
  { state, pos, explicit }: CompletionContext,
  text: SyntaxNode,
  help: Help,
): CompletionResult | null {
  const before = state.sliceDoc(text.from, pos);
  const offered = namesInExpression(state, pathAt(state, text.from + 1));
  if (!isInExpression(before)) return explicit ? completeBraces(offered, pos) : null;
  const word = /\w*$/.exec(before)![0];
  const isFilter = /\|\s*\w*$/.test(before);
  if (word === "" && !explicit && !isFilter && !/\{\{\s*$/.test(before)) return null;
  const options = isFilter
    ? Object.entries(help.filters).map(([label, said]) => ({ label, info: () => tip(said) }))
    : offered.map((name) => ({ label: name.name, detail: name.kind, info: name.value }));
  return { from: pos - word.length, options, validFor: /^\w*$/ };
}

/** A name with its braces, where there is only text so far. */
function completeBraces(names: Name[], pos: number): CompletionResult | null {
  const options = names.map(({ name, kind, value }) => ({ label: `{{${name}}}`, detail: kind, info: value }));
  return options.length === 0 ? null : { from: pos, options, filter: false };
}

function isInExpression(before: string): boolean {
  return before.lastIndexOf("{{") > before.lastIndexOf("}}");
}

interface Explained {
  pos: number;
  end: number;
  said: string;
}

function explained(state: EditorState, place: number, help: Help): Explained | null {
  const node = syntaxTree(state).resolveInner(place, 0);
  if (node.name === "PropertyName") {
    const said = helpFor(help, pathAt(state, node.to));
    return said === undefined ? null : { pos: node.from, end: node.to, said };
  }
  return node.name === "String" ? explainedWord(state, place, node, help) : null;
}

/** A word of an expression: the meaning of its name, or what the filter does. */
function explainedWord(state: EditorState, place: number, text: SyntaxNode, help: Help): Explained | null {
  const before = /\w*$/.exec(state.sliceDoc(text.from, place))![0];
  const after = /^\w*/.exec(state.sliceDoc(place, text.to))![0];
  const [pos, end, word] = [place - before.length, place + after.length, before + after];
  const start = state.sliceDoc(text.from, pos);
  if (word === "" || !isInExpression(start)) return null;
  const filter = /\|\s*$/.test(start) ? help.filters[word] : undefined;
  if (filter !== undefined) return { pos, end, said: filter };
  const name = namesInExpression(state, pathAt(state, text.from + 1)).find((one) => one.name === word);
  return name ? { pos, end, said: sentence(name) } : null;
}

function sentence({ name, kind, value }: Name): string {
  return kind === "dimension" ? `\`${name}\` runs over \`${value}\`` : `\`${name}\` stands for \`${value}\``;
}

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
