/** The messages between the views and their controllers; CONTRIBUTING.md holds the contract. */

import type { Host, Message, Off } from "./host.ts";

export type Kind = "inline" | "base64" | "url" | "range";
export type NodeType = "group" | "array" | "folder" | "key";
export type Severity = "error" | "warning" | "info";
/** A number; above 2^53 it travels as text. */
export type Count = number | string;

export interface Note {
  code: string;
  severity: Severity;
  message: string;
  hint: string | null;
  pointer: string;
  line: number | null;
  column: number | null;
  count: number;
  key: string | null;
}

export interface Facts {
  keys: Count;
  arrays: Count;
  targets: Count;
  /** Of what is in the set and of byte ranges; null where it is not known. Whole files are beside it. */
  bytes: Count | null;
  kinds: Record<Kind, Count>;
}

export interface Hello {
  title: string;
  form: "V0" | "V1" | "parquet";
  facts: Facts;
  /** Null until they are known: of a large set they are asked for after the first rows. */
  notes: Note[] | null;
  note_count: number | null;
  code: string;
  /** Paths of the first arrays. */
  arrays: string[];
}

export interface Row {
  path: string;
  name: string;
  depth: number;
  type: NodeType;
  kind: Kind | null;
  size: Count | null;
  target: string | null;
  origin: string | null;
  children: Count;
  open: boolean;
  position: Count;
  siblings: Count;
}

export interface Estimate {
  /** Null where whole files are read, whose size is not known. */
  bytes: Count | null;
  requests: number;
  targets: string[];
  label: string;
}

export interface ArrayItem {
  path: string;
  shape: Count[];
  chunks: Count[];
  grid: Count[];
  dtype: string;
  codecs: string[];
  fill: unknown;
  dimensions: string[] | null;
  zarr_format: number;
  /** The first ones. */
  attributes: [string, string][];
  attribute_count: number;
  chunk_count: Count;
  present: Count | null;
  /** Chunks that an error left out. */
  left_out: Count | null;
  /** Null where it is not known. */
  bytes: Count | null;
  small: boolean;
  estimate: Estimate | null;
}

export interface ChunkItem {
  array: string;
  index: number[];
  shape: number[];
  estimate: Estimate;
}

export interface Item {
  path: string;
  name: string;
  type: NodeType;
  kind: Kind | null;
  raw: string | null;
  url: string | null;
  offset: Count | null;
  length: Count | null;
  resolved: string | null;
  text: string | null;
  text_total: number;
  origin: string | null;
  size: Count | null;
  /** Null until those of the whole set are known. */
  notes: Note[] | null;
  array: ArrayItem | null;
  chunk: ChunkItem | null;
  code: string;
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

/** A page of raw bytes, which come beside it, or why there are none. */
export interface BytesPage {
  state: "fetched" | "failed" | "ask";
  start: number;
  total: Count;
  message: string | null;
  grant: string | null;
}

/** One step of a decode ladder; `head` is hexadecimal. */
export interface Rung {
  name: string;
  size: Count | null;
  seconds: number;
  head: string;
  form: string;
  message: string | null;
}

export interface LadderReply {
  state: "fetched" | "fill" | "failed" | "ask";
  rungs: Rung[];
  message: string | null;
  grant: string | null;
  /** The first values. */
  values: string[];
}

/** A part of an array, and what reading it takes. */
export interface Plan {
  array: string;
  dimensions: string[];
  sizes: Count[];
  /** One for each dimension, as Python writes them: "3", "0:10:2". */
  slices: string[];
  shape: number[];
  chunk_count: number;
  estimate: Estimate;
}

export interface Reading {
  state: "fetched" | "fill" | "failed" | "ask";
  array: string;
  slices: string[];
  /** Start, stop and step along each dimension. */
  region: [number, number, number][];
  chunk_shape: number[];
  key_start: string;
  separator: string;
  shape: number[];
  dtype: string;
  dimensions: string[];
  units: string | null;
  name: string;
  /** Whether the values are milliseconds since 1970. */
  times: boolean;
  minimum: number | null;
  maximum: number | null;
  missing: number;
  seconds: number;
  message: string | null;
  grant: string | null;
  coordinates: { name: string; values: (number | null)[] | null; times: boolean }[];
  chunks: { fetched: number; fill: number; failed: number };
  /** The first chunks that were not fetched. */
  lost: { key: string; index: number[]; state: "fill" | "failed" }[];
  texts?: string[];
}

export interface Progress {
  done: number;
  of: number;
  label: string;
}

export interface Reply<T> {
  message: T;
  buffers: ArrayBuffer[];
}

interface Waiting {
  resolve(reply: Reply<never>): void;
  reject(error: Error): void;
  timer: ReturnType<typeof setTimeout> | undefined;
}

const PATIENCE = 60_000;
/** The event of an answer to another view of the same model. */
export const OVERHEARD = "overheard";

/** Requests with unique ids; replies that other views of the same model asked for are dropped. */
export class Wire {
  private readonly host: Pick<Host, "send" | "onMessage">;
  private readonly patience: number;
  private readonly view = Math.random().toString(36).slice(2, 10);
  private readonly waiting = new Map<string, Waiting>();
  private readonly listeners = new Map<string, Set<(message: Message) => void>>();
  private readonly off: Off;
  private sequence = 0;

  constructor(host: Pick<Host, "send" | "onMessage">, patience = PATIENCE) {
    this.host = host;
    this.patience = patience;
    this.off = host.onMessage((message, buffers) => this.receive(message, buffers));
  }

  /** Asks; rejects with a sentence when Python refuses or does not answer. */
  async request<T>(op: string, fields: object = {}): Promise<T> {
    return (await this.job<T>(op, fields).reply).message;
  }

  /** Asks for what may take long: no time limit when `patient`, and an id to cancel it by. */
  job<T>(op: string, fields: object = {}, patient = false): { id: string; reply: Promise<Reply<T>> } {
    const id = `${this.view}:${++this.sequence}`;
    const reply = new Promise<Reply<T>>((resolve, reject) => {
      const timer = patient ? undefined : setTimeout(() => this.giveUp(id), this.patience);
      this.waiting.set(id, { resolve: resolve as Waiting["resolve"], reject, timer });
    });
    this.host.send({ id, op, ...fields });
    return { id, reply };
  }

  /** Listens to what Python says without being asked: `{"ev": name, …}`. */
  on(name: string, callback: (message: Message) => void): Off {
    const callbacks = this.listeners.get(name) ?? new Set();
    this.listeners.set(name, callbacks.add(callback));
    return () => callbacks.delete(callback);
  }

  close(): void {
    this.off();
    for (const { timer } of this.waiting.values()) clearTimeout(timer);
    this.waiting.clear();
    this.listeners.clear();
  }

  private receive(message: Message, buffers: ArrayBuffer[]): void {
    if (typeof message["ev"] === "string") {
      this.emit(message["ev"], message);
      return;
    }
    const asked = this.settle(message["id"] as string);
    if (!asked) this.emit(OVERHEARD, message);
    else if (typeof message["error"] === "string") asked.reject(new Error(message["error"]));
    else asked.resolve({ message: message as never, buffers });
  }

  private emit(name: string, message: Message): void {
    for (const callback of this.listeners.get(name) ?? []) callback(message);
  }

  private giveUp(id: string): void {
    const seconds = Math.round(this.patience / 1000);
    const sentence = `Python has not answered for ${seconds} s: it is busy, or was stopped.`;
    this.settle(id)?.reject(new Error(sentence));
  }

  private settle(id: string): Waiting | undefined {
    const asked = this.waiting.get(id);
    clearTimeout(asked?.timer);
    this.waiting.delete(id);
    return asked;
  }
}
