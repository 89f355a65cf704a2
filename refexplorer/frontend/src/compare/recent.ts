/** The sets that a person compared with before; the browser remembers them. */

const NAME = "refexplorer.compared";
const MOST = 8;

export function recent(): string[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(NAME) ?? "[]");
    return Array.isArray(found) ? found.filter((each) => typeof each === "string").slice(0, MOST) : [];
  } catch {
    return [];
  }
}

/** Puts a set before the others; one whose address may carry a password is not kept. */
export function remember(source: string): void {
  if (/^[a-z0-9+]+:\/\/[^/]*@|^[a-z0-9+]+:\/\/.*\?/i.test(source)) return;
  try {
    localStorage.setItem(NAME, JSON.stringify([source, ...recent().filter((each) => each !== source)].slice(0, MOST)));
  } catch {
    // A browser that keeps nothing offers nothing.
  }
}
