/** What was written stays with the tab of the browser, so that a reload of the page loses nothing. */

import type { EditReply } from "../shared/wire.ts";

const STORED = "refexplorer-draft";
/** Characters of a text that is kept: a browser gives a page about five million. */
const LONGEST = 1_000_000;

type Opened = EditReply & { document: string };

interface Draft {
  /** The text that was there before; of an exercise it does not matter. */
  start: string;
  text: string;
}

/** Where the draft of a text lies: each exercise has one. */
function place(reply: Opened): string {
  return `${STORED} ${reply.task?.name ?? ""}`;
}

/** Returns what was written in place of a text before the page was loaded anew; null for nothing. */
export function draftOf(reply: Opened): string | null {
  try {
    const { start, text }: Draft = JSON.parse(sessionStorage.getItem(place(reply)) ?? "{}");
    const isOfThis = reply.task !== undefined || start === reply.document;
    return isOfThis && typeof text === "string" && text !== reply.document ? text : null;
  } catch {
    return null;
  }
}

export function keepDraft(opened: Opened, text: string): void {
  try {
    const draft: Draft = { start: opened.document, text };
    if (text.length <= LONGEST) sessionStorage.setItem(place(opened), JSON.stringify(draft));
  } catch {
    // A browser that keeps nothing: the text lasts as long as the page.
  }
}

export function forgetDraft(opened: Opened): void {
  try {
    sessionStorage.removeItem(place(opened));
  } catch {
    // There was none.
  }
}
