/** What the browser remembers: one that keeps nothing shows everything as it is at first. */

/** What is kept under a name; null where there is nothing, or nothing that can be read. */
export function kept(name: string, store?: Storage): unknown {
  try {
    return JSON.parse((store ?? localStorage).getItem(name) ?? "null");
  } catch {
    return null;
  }
}

/** Texts that are kept under a name. */
export function keptTexts(name: string, store?: Storage): string[] {
  const found = kept(name, store);
  return Array.isArray(found) ? found.filter((each) => typeof each === "string") : [];
}

export function keep(name: string, value: unknown): void {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // A private window, or no room is left.
  }
}

/** Has the browser save a file. */
export function save(name: string, content: string | Blob, type = "application/json"): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(typeof content === "string" ? new Blob([content], { type }) : content);
  link.download = name;
  link.click();
  // The browser reads the content when it starts to save, which is after this.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Puts a text on the clipboard; says whether the browser let it. */
export async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
