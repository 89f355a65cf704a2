/** The sets that a person compared with before; the browser remembers them. */

import { keep, keptTexts } from "../shared/kept.ts";

const NAME = "refexplorer.compared";
const MOST = 8;

export function recent(): string[] {
  return keptTexts(NAME).slice(0, MOST);
}

/** Puts a set before the others; one whose address may carry a password is not kept. */
export function remember(source: string): void {
  if (/^[a-z0-9+]+:\/\/[^/]*@|^[a-z0-9+]+:\/\/.*\?/i.test(source)) return;
  keep(NAME, [source, ...recent().filter((each) => each !== source)].slice(0, MOST));
}
