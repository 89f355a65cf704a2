/** Notes as people are shown them: those of one kind together, and where each is. */

import type { Note } from "./wire.ts";

/** As many notes of one kind are folded; Python's `TOGETHER` is the same. */
export const TOGETHER = 4;
/** Beyond it a column of the first line is no help: a whole set is often written as one line. */
const READABLE_COLUMN = 200;

/** Notes of one code and severity together, in the order of the first of each. */
export function grouped<N extends Note>(notes: N[]): N[][] {
  const groups = new Map<string, N[]>();
  for (const note of notes) {
    const kind = `${note.code} ${note.severity}`;
    groups.set(kind, [...(groups.get(kind) ?? []), note]);
  }
  return [...groups.values()];
}

const SECTIONS = ["refs", "templates", "gen", "version", ".zmetadata"];

const namesIn = (pointer: string) => pointer.split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));

/** A pointer as people write it: `refs["x/0"]`; Python's `written` is the same. */
export function written(pointer: string): string {
  const [start, ...rest] = namesIn(pointer);
  if (rest.length === 0 || !(start === "" || start === ".zmetadata")) return pointer || "/";
  const [first, ...parts] = start === "" ? rest : [start, ...rest];
  const named = first !== "gen" && SECTIONS.includes(first!);
  const inside = parts.map((part, i) => `[${/^\d+$/.test(part) && !(named && i === 0) ? part : JSON.stringify(part)}]`);
  return (SECTIONS.includes(first!) ? first! : JSON.stringify(first)) + inside.join("");
}

/** Line and column where they help to find a place, else the key if the pointer is that of a key, else the pointer. */
export function placeOf({ line, column, pointer, key }: Note): string {
  const isOneLine = line === 1 && (column ?? 0) > READABLE_COLUMN;
  if (line !== null && !isOneLine) return `line ${line}:${column ?? 1}`;
  return key && namesIn(pointer).includes(key) ? key : written(pointer);
}
