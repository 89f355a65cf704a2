/** What was written stays in the browser, so that neither a reload nor a closed tab loses it. */

import { kept, keptTexts } from "../shared/browser.ts";
import type { EditReply } from "../shared/wire.ts";

const STORED = "refexplorer-draft";
/** Lists the names of all drafts, the newest last. */
const LISTED = "refexplorer-drafts";
/** Characters of a text that is kept: a browser gives a page about five million. */
const LONGEST = 1_000_000;
const MOST = 100;

export type Opened = EditReply & {
  document: string;
  /** Whether the text came with a link. */
  linked?: boolean;
};

interface Draft {
  /** The text that was there before; of an exercise it does not matter, unless a link brought it. */
  start: string;
  text: string;
}

/** Returns the draft of a text from before the page was reloaded; null if there is none. */
export function draftOf(opened: Opened): string | null {
  const isOfThis = ({ start }: Partial<Draft>) => isOneForAll(opened) || start === opened.document;
  const text = found(nameOf(opened), isOfThis);
  return text === opened.document ? null : text;
}

/** Returns what was written for an exercise; null for nothing. */
export function exerciseDraft(name: string): string | null {
  return found(exerciseName(name), () => true);
}

/** The text of the first draft of a name that is one of those. */
function found(name: string, isOne: (draft: Partial<Draft>) => boolean): string | null {
  for (const store of stores()) {
    const draft = kept(name, store) as Partial<Draft> | null;
    if (typeof draft?.text === "string" && isOne(draft)) return draft.text;
  }
  return null;
}

export function keepDraft(opened: Opened, text: string): void {
  if (text.length > LONGEST) return;
  const draft: Draft = { start: opened.document, text };
  for (const store of stores()) keep(store, nameOf(opened), JSON.stringify(draft));
}

export function forgetDraft(opened: Opened): void {
  for (const store of stores()) forget(store, [nameOf(opened)]);
}

/** Forgets what was written in place of any text. */
export function forgetDrafts(): void {
  for (const store of stores()) forget(store, listed(store));
}

/**
 * Of this tab and of the browser, as far as it lets a page keep anything: the first tells what was
 * written here where two tabs write on one text, the second outlasts the tab.
 */
function stores(): Storage[] {
  return [() => sessionStorage, () => localStorage].flatMap((store) => {
    try {
      return [store()];
    } catch {
      return [];
    }
  });
}

function isOneForAll({ task, linked }: Opened): boolean {
  return task !== undefined && !linked;
}

/** The key of the draft of a text: each exercise has one, and each other text. */
function nameOf(opened: Opened): string {
  const { task, document } = opened;
  return isOneForAll(opened) ? exerciseName(task!.name) : [STORED, task?.name ?? "", digest(document)].join(" ");
}

function exerciseName(name: string): string {
  return [STORED, name, ""].join(" ");
}

/** A short name of a text; two texts of one name are distinguished by the stored value. */
function digest(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return `${(hash >>> 0).toString(36)}.${text.length}`;
}

function listed(store: Storage): string[] {
  return keptTexts(LISTED, store).filter((name) => name.startsWith(STORED));
}

/** Keeps a draft; the oldest ones make room for it. */
function keep(store: Storage, name: string, draft: string): void {
  const names = [...listed(store).filter((each) => each !== name), name];
  if (names.length > MOST) forget(store, names.splice(0, names.length - MOST));
  for (;;) {
    try {
      store.setItem(name, draft);
      store.setItem(LISTED, JSON.stringify(names));
      return;
    } catch {
      // Without room the text lasts as long as the page.
      if (names.length === 1) return;
      forget(store, names.splice(0, 1));
    }
  }
}

function forget(store: Storage, names: string[]): void {
  try {
    for (const name of names) store.removeItem(name);
    store.setItem(LISTED, JSON.stringify(listed(store).filter((name) => !names.includes(name))));
  } catch {
    // There was none.
  }
}
