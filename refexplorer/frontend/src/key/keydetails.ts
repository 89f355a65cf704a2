/** What is asked of one key beyond its facts: derivation, bytes, trace, code. */

import { viewStore } from "../shared/waiting.ts";
import type { BytesPage, ShardModel } from "../shared/wire.ts";

/** Bytes that one request brings; pages of the hex view are parts of it. */
export const BLOCK = 2 ** 15;
/** A few more, so that numbers at the end of a block are whole. */
const MORE = 8;

/** A block of bytes, its first one at `start`. */
export interface Block extends BytesPage {
  data: Uint8Array;
}

/** A shard with the byte ranges of its inner chunks in it; -1 and 0 for empty ones. */
export interface ShardInside extends ShardModel {
  offsets: Float64Array;
  lengths: Float64Array;
}

const NOTHING = {
  path: "",
  /** The byte that the cursor is on. */
  cursor: 0,
  /** The inner chunk that is looked at, by its number in the order of the grid. */
  inner: null as number | null,
};

export class KeyDetails extends viewStore(NOTHING) {
  readonly explained = this.work("key.explain");
  readonly code = this.work("key.code");
  readonly block = this.work("key.bytes", (page, [data]): Block => ({ ...page, data: new Uint8Array(data ?? []) }));
  readonly trace = this.work("key.trace");
  readonly shard = this.work(
    "key.shard",
    (shard, [offsets, lengths]): ShardInside => ({
      ...shard,
      offsets: new Float64Array(offsets ?? []),
      lengths: new Float64Array(lengths ?? []),
    }),
  );
  readonly innerTrace = this.work("key.trace");

  override forget(): void {
    this.look("");
  }

  /** Turns to another key, or to the same one of another set; what was asked before is stopped. */
  look(path: string): void {
    for (const each of [this.explained, this.code, this.block, this.trace, this.shard, this.innerTrace]) each.drop();
    this.set({ ...NOTHING, path });
    if (path !== "") void this.code.start({ path });
  }

  /** Moves the cursor, and reads the block that it is in unless that is here or on its way. */
  moveTo(cursor: number): void {
    const { id, answer } = this.block.state;
    this.set({ cursor });
    if (answer?.state !== "fetched" || id !== null || answer.start !== blockOf(cursor)) this.readBytes();
  }

  readBytes(grant?: string): void {
    const { path, cursor } = this.state;
    void this.block.start({ path, start: blockOf(cursor), n: BLOCK + MORE }, grant);
  }

  /** Looks at an inner chunk; its trace is another question. */
  pickInner(inner: number): void {
    this.innerTrace.drop();
    this.set({ inner });
  }
}

function blockOf(offset: number): number {
  return offset - (offset % BLOCK);
}
