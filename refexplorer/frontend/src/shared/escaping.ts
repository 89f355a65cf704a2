/** No text reaches the page with characters that hide or turn other text: one place for all views. */

import { Fragment, options } from "preact";

const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this looks for
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e007f}]/gu;
const SHORT: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
/** Elements that show lines as lines. */
const LINES = new Set<unknown>(["pre", "dd", "textarea", Fragment]);
const SPOKEN = ["title", "aria-label"];

/** Control, bidirectional and zero-width characters as escapes such as `\u202e`. */
export function escaped(text: string, lines = false): string {
  return text.replace(UNSEEN, (found) => {
    if (lines && (found === "\n" || found === "\t")) return found;
    if (SHORT[found]) return SHORT[found];
    const code = found.codePointAt(0)!.toString(16);
    if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
    return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
  });
}

/** Whether all characters of a text are visible. */
export function isPlain(text: string): boolean {
  return escaped(text) === text;
}

function cleaned(child: unknown, lines: boolean): unknown {
  if (typeof child === "string") return escaped(child, lines);
  return Array.isArray(child) ? child.map((each) => cleaned(each, lines)) : child;
}

// Preact's own hook for every element that is made (`options.vnode`, part of its documented interface), set once for
// the copy of Preact in this bundle: what else is on the page has another. Texts of a set reach the page in many
// places, and one where a call of `escaped` was forgotten would show a URL that reads as another one
// ("Trojan Source", CVE-2021-42574); no linter rule finds such a place. What other hook was set is called as well.
const before = options.vnode;
options.vnode = (vnode) => {
  const props = vnode.props as unknown as Record<string, unknown>;
  if (typeof vnode.type === "string" || vnode.type === Fragment) {
    if ("children" in props) props["children"] = cleaned(props["children"], LINES.has(vnode.type));
    for (const name of SPOKEN) if (typeof props[name] === "string") props[name] = escaped(props[name]);
  }
  before?.(vnode);
};
