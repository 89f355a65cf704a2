/** The rows of a tree whose levels are all here, and finding among its keys; `views/tree/rows.py` is the one with Python. */

import { count } from "../shared/format.ts";
import { EMPTY_ROW, type Row, type Kind } from "../shared/wire.ts";
import type { Levels, SavedRow } from "./content.ts";

export class SavedTree {
  private levels: Levels;
  private readonly opened = new Set<string>();
  private shown: Row[] = [];

  constructor(levels: Levels) {
    this.levels = levels;
    this.list();
  }

  get total(): number {
    return this.shown.length;
  }

  /** Shows something else; what was open stays so if it is there. */
  show(levels: Levels): void {
    this.levels = levels;
    this.list();
    for (const path of this.opened) if (!this.shown.some((row) => row.path === path)) this.opened.delete(path);
  }

  rows(start: number, n: number): Row[] {
    return this.shown.slice(start, start + n);
  }

  /** Opens or closes a folder, and says where it is. */
  toggle(path: string, open: boolean): number {
    if (open) {
      const row = this.shown[this.reveal(path)];
      if (Number(row?.children ?? 0) > 0) this.opened.add(path);
    } else {
      // What is below is closed, too, as it is with Python.
      for (const each of this.opened) if (each === path || each.startsWith(`${path}/`)) this.opened.delete(each);
    }
    this.list();
    return this.index(path);
  }

  /** Opens what is above a path, and says where it is; -1 if it is not here. */
  reveal(path: string): number {
    if (Object.values(this.levels).some(({ rows }) => rows.some((row) => row.path === path))) this.openAbove(path);
    this.list();
    return this.index(path);
  }

  private index(path: string): number {
    return this.shown.findIndex((row) => row.path === path);
  }

  private openAbove(path: string): void {
    for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) {
      const above = path.slice(0, at);
      if (this.levels[above] !== undefined) this.opened.add(above);
    }
  }

  private list(): void {
    this.shown = [];
    const rest = [this.below("")];
    while (rest.length > 0) {
      const row = rest.at(-1)!.shift();
      if (row === undefined) rest.pop();
      else {
        const open = this.opened.has(row.path);
        this.shown.push({ ...row, open });
        if (open) rest.push(this.below(row.path, row));
      }
    }
  }

  /** The rows of a folder, and one that says how many others there are. */
  private below(path: string, folder?: SavedRow): SavedRow[] {
    const level = this.levels[path] ?? { total: folder?.children ?? 0, rows: [] };
    const left = Number(level.total) - level.rows.length;
    return left > 0 ? [...level.rows, others(path, left, folder, level.rows.length)] : [...level.rows];
  }
}

function others(path: string, left: number, folder: SavedRow | undefined, before: number): SavedRow {
  const name = `… ${count(left)} more`;
  return {
    ...EMPTY_ROW,
    path: path === "" ? name : `${path}/${name}`,
    name,
    depth: folder ? folder.depth + 1 : 0,
    position: before + 1,
    siblings: before + left,
    form: "not in this page",
  };
}

export interface Sought {
  text: string;
  mode: "substring" | "glob" | "regex";
  kinds: Kind[];
}

export interface Searched {
  path: string;
  kind: Kind | null;
  /** Of a generated key none, as targets of these are not searched. */
  url: string | null;
}

/** The keys that match, then those of which only the target does, and how many these are. */
export function search<K extends Searched>(
  keys: readonly K[],
  { text, mode, kinds }: Sought,
): { found: K[]; inTargets: number } {
  const matches = matcher(text, mode);
  const asked = keys.filter(({ kind }) => kind !== null && (kinds.length === 0 || kinds.includes(kind)));
  const byKey = asked.filter(({ path }) => matches(path));
  const byTarget = text === "" ? [] : asked.filter(({ path, url }) => url !== null && !matches(path) && matches(url));
  return { found: [...byKey, ...byTarget], inTargets: byTarget.length };
}

/** Tells what matches; throws what is wrong with a pattern. */
function matcher(text: string, mode: Sought["mode"]): (name: string) => boolean {
  if (mode === "regex" && text !== "") {
    const expression = new RegExp(text, "u");
    return (name) => expression.test(name);
  }
  if (mode === "glob" && GLOB_MARKS.test(text)) {
    const expression = new RegExp(`^${text.split(GLOB_MARKS).map(globPart).join("")}$`, "su");
    return (name) => expression.test(name);
  }
  return (name) => name.includes(text);
}

const GLOB_MARKS = /(\[!?\]?[^\]]+\]|[*?])/;

function globPart(part: string): string {
  if (part === "*") return ".*";
  if (part === "?") return ".";
  if (part.length > 2 && part.startsWith("[") && part.endsWith("]")) {
    const inside = part.slice(1, -1).replace(/[\\[\]]/g, "\\$&");
    return inside.startsWith("!") ? `[^${inside.slice(1)}]` : `[${inside}]`;
  }
  return part.replace(/[$()*+.?[\\\]^{|}/]/g, "\\$&");
}
