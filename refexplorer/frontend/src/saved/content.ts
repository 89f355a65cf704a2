/** The contents of a saved page, as `refexplorer/views/saved/recording.py` writes it. */

import type { Message } from "../shared/host.ts";
import type { PartRecord } from "../explorer/state.ts";
import type { ArrayItem, Count, EditorRow, HealthPage, HealthRow, PathItem, Row, TargetRow } from "../shared/wire.ts";

/** A row of the tree, but for whether it is open. */
export type SavedRow = Omit<Row, "open">;
/** A row of a listing, but for what follows from its place. */
export type FoundRow = Omit<SavedRow, "depth" | "position" | "siblings">;
export type Levels = Record<string, { total: Count; rows: SavedRow[] }>;
/** An answer, with the places of its buffers. */
export type SavedAnswer = Message & { buffers?: [number, number][] };
/** Details of a path without nulls; its array is a place in `arrays`. */
type SavedItem = Partial<Omit<PathItem, "array">> & { array?: number };
/** A path with its details, its derivation and its code (a place in `codes`), or with a sentence. */
export type ItemRecord =
  | [path: string, item: SavedItem, explained: Message | null, code: number | Message]
  | [path: string, sentence: string];

/** The contents of each saved page. */
export interface SavedContent {
  title: string;
  version: string;
  made: string;
  /** Which part of the set is here, in a sentence. */
  part: string;
  /** What was found about the targets, as HTML without scripts. */
  reports: { label: string; html: string }[];
  answers: Record<string, SavedAnswer>;
  /** Of each request, the fields that it need not have. */
  defaults: Record<string, Record<string, unknown>>;
  /** What is said where an answer is not here, by the name of the request. */
  unsaved: Record<string, string>;
}

/** The rows of the template editor. */
export interface SavedRows {
  version: number;
  total: Count;
  rows: EditorRow[];
}

export interface Content extends SavedContent {
  /** Where it begins. */
  state: Record<string, string>;
  parts: PartRecord[];
  tree: Levels;
  trouble: Levels;
  items: ItemRecord[];
  arrays: ArrayItem[];
  codes: string[];
  states: Record<string, { total: Count; rows: FoundRow[] }>;
  health: { rows: HealthRow[]; total: Count; sums: HealthPage["sums"]; orders: Record<string, number[]> };
  /** Where on earth arrays are, which have a place, and which lands there are. */
  earth: { arrays: string[]; shown: Record<string, SavedAnswer> };
  targets: { rows: TargetRow[]; total: Count; arrays: Record<string, [places: number[], total: Count]> };
}

export interface Saved {
  content: Content;
  /** A separate buffer for each caller. */
  buffer(place: [number, number]): ArrayBuffer;
}

/** Takes apart what `Packer.packed` put together. */
export function unpack(bytes: ArrayBuffer): Saved {
  const size = new DataView(bytes).getUint32(0, true);
  const content = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, size))) as Content;
  return { content, buffer: ([start, length]) => bytes.slice(4 + size + start, 4 + size + start + length) };
}
