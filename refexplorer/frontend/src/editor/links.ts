/**
 * A text and an exercise in the fragment of an address, which no browser sends to a server. A link
 * may come from anybody: it is bounded before it is unpacked and while it is, and gives text alone.
 */

import { count } from "../shared/format.ts";

export interface Linked {
  /** The name of an exercise; null for the template editor. */
  exercise: string | null;
  /** Null for what the exercise begins with. */
  text: string | null;
}

/** Where the text came from, if not from Python: from a link, or from what was written before. */
export interface Origin {
  /** Whether there is another text to go back to. */
  leads: "link" | "draft" | null;
  sentence: string;
}

export const KEPT: Origin = { leads: "draft", sentence: "Your last text, kept by this browser." };
export const LINKED: Origin = { leads: "link", sentence: "This text came with the link." };
export const KEPT_OF_LINK: Origin = {
  leads: "draft",
  sentence: "Your changes to the text of the link, kept by this browser.",
};

/** Characters of a fragment: what mail, chats and browsers pass on whole. */
export const LONGEST = 30_000;
/** Bytes of a text in it. */
export const LARGEST = 1_000_000;

const CUT = "It was cut or changed; ask for the text as a file instead.";

/** Writes the fragment; fails with a sentence where it would be too long. */
export async function fragmentOf({ exercise, text }: Linked): Promise<string> {
  const bytes = new TextEncoder().encode(text ?? "");
  if (bytes.length > LARGEST)
    throw tooLong(`The text has ${count(bytes.length)} bytes; a link holds at most ${count(LARGEST)}`);
  const fields = new URLSearchParams();
  if (exercise !== null) fields.set("exercise", exercise);
  if (text !== null)
    fields.set("text", encoded(await collected(bytes, new CompressionStream("deflate-raw"), Infinity)));
  const fragment = `#${fields}`;
  if (fragment.length > LONGEST) {
    throw tooLong(
      `The link would have ${count(fragment.length)} characters, and many programs cut links of more than ${count(LONGEST)}`,
    );
  }
  return fragment;
}

/** Reads a fragment; null for one that names nothing of these. Fails with a sentence. */
export async function linkedBy(fragment: string): Promise<Linked | null> {
  if (!/^#(exercise|text)=/.test(fragment)) return null;
  if (fragment.length > LONGEST) {
    throw new Error(
      `The link has ${count(fragment.length)} characters; at most ${count(LONGEST)} are allowed. Ask for the text as a file instead.`,
    );
  }
  const fields = new URLSearchParams(fragment.slice(1));
  const text = fields.get("text");
  return { exercise: fields.get("exercise"), text: text === null ? null : await unpacked(text) };
}

async function unpacked(text: string): Promise<string> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = await collected(decoded(text), new DecompressionStream("deflate-raw"), LARGEST);
  } catch (error) {
    throw error instanceof RangeError ? error : new Error(`The text of the link cannot be unpacked. ${CUT}`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`The link does not contain text. ${CUT}`);
  }
}

/** Passes bytes through a stream, and stops where more than a limit come out of it. */
async function collected(
  bytes: Uint8Array<ArrayBuffer>,
  way: CompressionStream | DecompressionStream,
  limit: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = new Blob([bytes]).stream().pipeThrough(way).getReader();
  const pieces: BlobPart[] = [];
  let total = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(pieces).arrayBuffer());
    total += value.length;
    if (total > limit) {
      void reader.cancel();
      throw new RangeError(
        `The text of the link has more than the ${count(limit)} bytes that are allowed. Ask for it as a file instead.`,
      );
    }
    pieces.push(value);
  }
}

/** Base64 without the characters that an address has another use for. */
function encoded(bytes: Uint8Array): string {
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function decoded(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
}

function tooLong(reason: string): Error {
  return new Error(`${reason}: save the text and send the file instead.`);
}
