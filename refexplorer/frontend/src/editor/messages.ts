/** What the template editor's controller answers; CONTRIBUTING.md holds the contract. */

import type { Count, Kind, Note } from "../shared/wire.ts";

/** What the parts of a document and the filters are for, in the words of the specification. */
export interface Help {
  /** By JSON pointer, with `*` for any name or number. */
  parts: Record<string, string>;
  filters: Record<string, string>;
}

export interface Change {
  from: number;
  to: number;
  insert: string;
}

/** A way to mend what a mark is about. */
export interface Fix {
  label: string;
  changes: Change[];
}

export interface Mark extends Note {
  from: number;
  to: number;
  fixes: Fix[];
}

export interface EditorRow {
  key: string;
  kind: Kind;
  url: string | null;
  offset: Count | null;
  length: Count | null;
  text: string | null;
  origin: string;
  state: "same" | "added" | "changed";
}

export interface EditReply {
  version: number;
  good: boolean;
  total: Count;
  /** Keys that the last change removed; null where there were too many to compare. */
  removed: Count | null;
  notes: Mark[];
  note_count: number;
  sentence: string;
}

export interface Hello extends EditReply {
  document: string;
  help: Help;
}

export interface Piece {
  text: string;
  /** What came of an expression; null for literal text. */
  result: string | null;
  from: number | null;
  to: number | null;
}

export interface Derived {
  name: string;
  pointer: string;
  variables: [string, string][];
  pieces: Piece[];
  result: string;
  from: number | null;
  to: number | null;
}

export interface Derivation {
  key: string;
  number: Count;
  origin: string;
  steps: Derived[];
}

export interface Uses {
  what: string | null;
  ranges: [Count, Count][];
}

/** The rows as V0; or no text, and how large it would be. */
export interface V0Text {
  text: string | null;
  sentence: string | null;
}

/** What one reader makes of the text, and why. */
export interface Reader {
  name: string;
  outcome: "same" | "dropped" | "different" | "refused";
  summary: string;
  reasons: string[];
  examples: string[];
}
