/** What the template editor's controller answers about rows; CONTRIBUTING.md holds the contract. */

import type { Count } from "../shared/wire.ts";

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
