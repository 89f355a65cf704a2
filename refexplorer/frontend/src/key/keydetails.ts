/** What is asked of one key beyond its facts: derivation, bytes, trace, code. */

import { ViewStore, type Asked } from "../shared/waiting.ts";
import type {
  BytesPage,
  KeyExplained,
  ExplorerOperations,
  ExplorerWire,
  TraceReply,
  JobProgress,
  ShardModel,
} from "../shared/wire.ts";

/** Bytes that one request brings; pages of the hex view are parts of it. */
export const BLOCK = 2 ** 15;
/** A few more, so that numbers at the end of a block are whole. */
const MORE = 8;

/** A block of bytes, its first one at `start`. */
export interface Block extends BytesPage {
  data: Uint8Array;
}

export interface KeyState {
  path: string;
  explained: Asked<KeyExplained> | null;
  code: Asked<string> | null;
  block: Asked<Block> | null;
  /** The byte that the cursor is on. */
  cursor: number;
  trace: Asked<TraceReply> | null;
  shard: Asked<ShardInside> | null;
  /** The inner chunk that is looked at, by its number in the order of the grid. */
  inner: number | null;
  innerTrace: Asked<TraceReply> | null;
}

/** A shard with the byte ranges of its inner chunks in it; -1 and 0 for empty ones. */
export interface ShardInside extends ShardModel {
  offsets: Float64Array;
  lengths: Float64Array;
}

type Questions = Pick<ExplorerOperations, "key.explain" | "key.code" | "key.bytes" | "key.trace" | "key.shard">;
type Part = "explained" | "code" | Reading;
/** What is read from a target, and so may wait and ask. */
export type Reading = "block" | "trace" | "shard" | "innerTrace";
const READINGS: Reading[] = ["block", "trace", "shard", "innerTrace"];

const NOTHING: KeyState = {
  path: "",
  explained: null,
  code: null,
  block: null,
  cursor: 0,
  trace: null,
  shard: null,
  inner: null,
  innerTrace: null,
};

export class KeyDetails extends ViewStore<KeyState> {
  constructor(wire: ExplorerWire) {
    super(wire, NOTHING);
    this.closing({ close: wire.on("progress", (message) => this.progress(message)) });
  }

  override forget(): void {
    this.look("");
  }

  /** Turns to another key, or to the same one of another set; what was asked before is stopped. */
  look(path: string): void {
    for (const part of READINGS) this.cancel(part);
    this.set({ ...NOTHING, path });
  }

  explain(): void {
    void this.ask("explained", "key.explain", {}, (message) => message);
  }

  writeCode(): void {
    void this.ask("code", "key.code", {}, ({ code }) => code);
  }

  /** Moves the cursor, and reads the block that it is in unless that is here or on its way. */
  moveTo(cursor: number): void {
    const { block } = this.state;
    this.set({ cursor });
    const known = block?.answer?.state === "fetched" && block.id === null && block.answer.start === blockOf(cursor);
    if (!known) this.readBytes();
  }

  readBytes(): void {
    const fields = { start: blockOf(this.state.cursor), n: BLOCK + MORE };
    void this.ask("block", "key.bytes", fields, (page, [data]) => ({
      ...page,
      data: new Uint8Array(data ?? new ArrayBuffer(0)),
    }));
  }

  trace(): void {
    void this.ask("trace", "key.trace", {}, (trace) => trace);
  }

  readShard(): void {
    void this.ask("shard", "key.shard", {}, (shard, [offsets, lengths]) => ({
      ...shard,
      offsets: new Float64Array(offsets ?? new ArrayBuffer(0)),
      lengths: new Float64Array(lengths ?? new ArrayBuffer(0)),
    }));
  }

  /** Looks at an inner chunk; its trace is another question. */
  pickInner(inner: number): void {
    this.cancel("innerTrace");
    this.set({ inner, innerTrace: null });
  }

  traceInner(inner: number[]): void {
    void this.ask("innerTrace", "key.trace", { inner }, (trace) => trace);
  }

  /** Grants what a reading asked for; then `again` reads. */
  async allow(part: Reading, grant: string, again: () => void): Promise<void> {
    try {
      await this.wire.request("allow", { grant });
      again();
    } catch (error) {
      this.set({ [part]: { id: null, progress: null, answer: null, error: (error as Error).message } });
    }
  }

  cancel(part: Reading): void {
    const id = this.state[part]?.id;
    if (!id) return;
    this.set({ [part]: null });
    this.wire.cancel(id);
  }

  private async ask<P extends Part, K extends keyof Questions>(
    part: P,
    op: K,
    fields: Omit<Questions[K]["asks"], "path">,
    read: (message: Questions[K]["reply"], buffers: ArrayBuffer[]) => NonNullable<KeyState[P]>["answer"],
  ): Promise<void> {
    const { id, reply } = this.wire.job(op, { path: this.state.path, ...fields } as Questions[K]["asks"], true);
    // What is here stays in sight until the next comes.
    const answer = this.state[part]?.answer ?? null;
    this.set({ [part]: { id, progress: null, answer, error: null } });
    try {
      const { message, buffers } = await reply;
      this.finish(part, id, { answer: read(message, buffers) });
    } catch (error) {
      this.finish(part, id, { error: (error as Error).message });
    }
  }

  /** Keeps an answer unless another key, or another question, took its place. */
  private finish(part: Part, id: string, change: object): void {
    const asked = this.state[part];
    if (asked?.id === id) this.set({ [part]: { ...asked, ...change, id: null, progress: null } });
  }

  private progress(message: JobProgress): void {
    for (const part of READINGS) {
      const asked = this.state[part];
      if (asked && asked.id === message.id) {
        this.set({ [part]: { ...asked, progress: message } });
      }
    }
  }
}

function blockOf(offset: number): number {
  return offset - (offset % BLOCK);
}
