/** What the explorer shows, in the words of its views, its search and its state. */

import type { ChunkState } from "../health/health.ts";
import type { By } from "../maps/cells.ts";
import type { DatasetView, Hello, PathItem, KeysFound, Kind, Severity } from "../shared/wire.ts";

/** A part of the explorer, as Python's registry describes it. */
export interface PartRecord {
  name: string;
  label: string;
  title: string;
  /** Whether the middle of the screen shows it. */
  look: boolean;
  /** The look whose form it is; null: the switch offers it itself; empty: something else leads to it. */
  under: string | null;
  /** What it colours the chunks of the picture by; "by": what a person chose. */
  paints: string | null;
}

/** The part that is all of them. */
export const WHOLE = "explorer";

export interface Search {
  text: string;
  kinds: Kind[];
}

/** What the tree lists in place of what a search would find. */
export type Focus =
  /** Chunks of one state; of all arrays where it names none. */
  | { by: "state"; state: ChunkState; array: string | null }
  /** The keys that refer to a target. */
  | { by: "target"; url: string | null };

/** What a tree may show alone: what is wrong, or what differs from the other set. */
export type Only = "trouble" | "changes";

/** How the values of an array are drawn. */
export const PLAIN = {
  /** The array; null for any, as long as nothing was chosen. */
  array: null as string | null,
  mode: "heatmap" as "heatmap" | "channel" | "line" | "lines" | "table" | "statistics",
  /** The dimensions that are drawn; none: the last ones. */
  axes: [] as number[],
  scheme: "viridis",
  /** Of the colours, as they were written. */
  limits: ["", ""] as [string, string],
  scale: "linear" as "linear" | "log" | "symlog",
};
export type Picture = typeof PLAIN;

/** A value: its index in an array, and where that is in words. */
export interface Pin {
  array: string;
  index: number[];
  where: string;
  text: string;
}

export const START = {
  hello: null as Hello | null,
  failure: null as string | null,
  /** What of the selection the middle shows: its values, chunks, files or cost. */
  look: "data",
  /** Whether the right side is about the set although something is selected. */
  aboutSet: false,
  /** Whether the right side is open while it covers the picture. */
  isAside: false,
  selection: "",
  item: null as PathItem | null,
  /** Whether the item of what was selected last is on its way, and `item` is of what was before. */
  isComing: false,
  itemError: null as string | null,
  /** The row that the keyboard is on. */
  active: 0,
  search: { text: "", kinds: [] } as Search,
  searching: false,
  focus: null as Focus | null,
  /** The array whose notes alone are shown. */
  notesOf: null as string | null,
  /** The severity that the notes are narrowed to. */
  severity: null as Severity | null,
  /** Counts up whenever the notes should be scrolled to. */
  notesShown: 0,
  /** What the tree is narrowed to. */
  only: null as Only | null,
  /** What the search found so far. */
  found: null as KeysFound | null,
  searchError: null as string | null,
  /** Why the last move in the tree failed. */
  trouble: null as string | null,
  /** Python that does what was done last. */
  code: "",
  /** Null until it was asked for. */
  dataset: null as DatasetView | null,
  /** Why the notes are not known. */
  notesError: null as string | null,
  /** Why the references were not counted. */
  factsError: null as string | null,
  /** Where along each dimension of the values the drawn slice is. */
  steps: [] as number[],
  /** How often an address asked for another part of the array that is looked at already. */
  partsAsked: 0,
  picture: PLAIN as Picture,
  /** The value that was chosen in a picture. */
  pin: null as Pin | null,
  /** What the map of chunks is coloured by; null: as it is at first. */
  by: null as By | null,
  /** Whether chunks are shown as a grid rather than on the picture of their array; null: what says more. */
  asGrid: null as boolean | null,
  /** Whether values of some chunks are compared with the files, too. */
  withValues: false,
  /** Counts up whenever the active row should be scrolled to. */
  revealed: 0,
};
export type ExplorerState = typeof START;
