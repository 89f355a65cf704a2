/** Finding keys among those that are here, as `refset/search` does with Python. */

import type { Kind } from "../shared/wire.ts";

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
