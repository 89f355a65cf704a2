/** What the template editor's controller answers; CONTRIBUTING.md holds the contract. */

import type { Count, Derived, Kind, Note } from "../shared/wire.ts";

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
  /** Since the last good text; or, of what another reader makes of it, beside the specification. */
  state: "same" | "added" | "changed" | "removed" | "different" | "absent" | "unknown";
  /** Why another reader has it differently. */
  why: string | null;
}

/** A template of the text, and what is tried in its place. */
export interface TemplateField {
  name: string;
  written: string;
  given: string | null;
}

/** A dimension: a range of `size` values, or the first of those it lists. */
export interface Axis {
  name: string;
  size: Count;
  start: Count | null;
  step: Count | null;
  listed: Count[] | null;
}

export interface Generator {
  number: number;
  axes: Axis[];
}

export interface EditReply {
  version: number;
  good: boolean;
  total: Count;
  /** Rows of the table: keys, and those that the last change removed. */
  shown: Count;
  removed: Count;
  /** Whether `removed` is more than a lower bound. */
  removed_exactly: boolean;
  /** The part of a large document that is shown; null where all of it is. */
  window: { first: number; sentence: string } | null;
  /** Makes a version 0 document one of version 1. */
  wrap: Fix | null;
  templates: TemplateField[];
  generators: Generator[];
  /** With exercises only, as the next two. */
  task?: Task;
  result?: Result;
  solved?: string[];
}

/** What is wrong or odd about the text. */
export interface Remarks {
  good: boolean;
  notes: Mark[];
  note_count: number;
  sentence: string;
}

export interface Hello extends EditReply {
  document: string;
  help: Help;
  exercises?: Listed[];
}

/** An exercise in the list of all. */
export interface Listed {
  name: string;
  title: string;
  topic: string;
  level: number;
}

/** The exercise that is open, with the hints that were asked for. */
export interface Task extends Listed {
  task: string;
  hints: string[];
  hint_count: number;
}

export interface Result {
  passed: boolean;
  sentence: string;
}

export interface Derivation {
  key: string;
  number: Count;
  /** Where the table shows it. */
  row: Count;
  origin: string;
  steps: Derived[];
  /** Which value of each dimension made it. */
  places: [string, Count][];
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
