/** The keys of the explorer: `/` searches, and `?` lists all of them. */

import { useEffect, useRef } from "preact/hooks";

import type { ExplorerSession } from "./session.ts";
import { Button } from "../shared/parts.tsx";

/** Keys that mean the same wherever no text is written. */
export const SHORTCUTS = new Set(["/", "?"]);

const KEYS: [keys: string, does: string][] = [
  ["/", "search keys and files; ↓ or Esc leaves the search"],
  ["?", "show these shortcuts"],
  ["1 to 4", "look at the values, chunks, files or cost"],
  ["n, N", "select the next or previous key with a problem"],
  ["F6", "go to the next part of the screen"],
  ["Esc", "go from a chunk to its array, and from an array to the set"],
  ["↑ ↓", "move through the tree, a table or a picture"],
  ["→ ←", "open and close a folder, or move along a row of a picture"],
  ["Page Up, Page Down, Home, End", "move by a page, or to the start or end"],
  ["letters", "go to the next key that begins with them"],
  ["Enter", "select the key, the chunk or the range"],
  ["Ctrl+C", "copy the key, or the selected cells of a table"],
  ["Shift+arrows", "move the window of a picture, or select cells of a table"],
  ["p", "keep the profiles through a point of a picture"],
  ["Shift+F10", "open the menu of the key"],
  ["Tab", "go to the next control"],
];

/** What a key of the explorer does, unless text is written where it was pressed. */
export function onShortcut(
  event: KeyboardEvent,
  section: HTMLElement,
  session: ExplorerSession,
  showKeys: () => void,
): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (isWriting(event) && (event.key !== "F6" || isIn(event, "dialog, [role=menu]"))) return;
  const look = session.switched[Number(event.key) - 1];
  const actions: Record<string, () => void> = {
    "?": showKeys,
    "/": () => section.querySelector<HTMLElement>("input[type=search]")?.focus(),
    n: () => session.queue(() => session.showTrouble(1)),
    N: () => session.queue(() => session.showTrouble(-1)),
    F6: () => skip(section, event.shiftKey ? -1 : 1),
    Escape: () => session.queue(() => session.leave()),
    ...(look ? { [event.key]: () => session.show(look.name) } : {}),
  };
  const action = actions[event.key];
  if (!action) return;
  event.preventDefault();
  event.stopPropagation();
  action();
}

/** Where the parts of the screen take the focus. */
const STOPS = ".top button, .tree[role=treegrid], .centre .pane, .details .pane, .foot button";

/** Moves the focus to the next part of the screen, or to the one before. */
function skip(section: HTMLElement, by: 1 | -1): void {
  const parts = [".top", ".left", ".centre", ".details", ".foot"].flatMap((selector) => {
    const part = section.querySelector<HTMLElement>(selector);
    return part && part.offsetParent !== null ? [part] : [];
  });
  const root = section.getRootNode() as Document | ShadowRoot;
  const at = parts.findIndex((part) => part.contains(root.activeElement));
  const next = parts[(at + by + parts.length) % parts.length];
  next?.querySelector<HTMLElement>(STOPS)?.focus();
}

function isWriting(event: KeyboardEvent): boolean {
  return isIn(
    event,
    "input:not([type=checkbox], [type=range]), select, textarea, dialog, [contenteditable], [role=menu]",
  );
}

function isIn({ target }: KeyboardEvent, selector: string): boolean {
  return (target as HTMLElement).closest(selector) !== null;
}

export function KeyList({ close }: { close(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current!;
    element.showModal();
    // Without this the page keeps its previous state out of sight, and what scrolls into view cannot be clicked.
    const leave = () => element.close();
    addEventListener("popstate", leave);
    return () => removeEventListener("popstate", leave);
  }, []);
  return (
    <dialog class="keys" ref={dialog} aria-label="Keyboard shortcuts" onClose={close}>
      <h2>Keyboard shortcuts</h2>
      <dl>
        {KEYS.map(([keys, does]) => [
          <dt key={keys}>
            <kbd>{keys}</kbd>
          </dt>,
          <dd key={does}>{does}</dd>,
        ])}
      </dl>
      <form method="dialog">
        <Button text="Close" type="submit" />
      </form>
    </dialog>
  );
}
