/** Pictures that were seen or are about to be, kept so that showing one of them needs no message. */

import type { ReadingModel } from "../../shared/wire.ts";

export type Integers = BigInt64Array | BigUint64Array;

export interface Frame {
  reading: ReadingModel;
  values: Float64Array | null;
  integers: Integers | null;
}

/** A reading with its buffers. */
export function frameOf(reading: ReadingModel, [values, integers]: ArrayBuffer[]): Frame {
  return {
    reading,
    values: values ? new Float64Array(values) : null,
    integers: integersOf(integers, reading.value_type),
  };
}

/** Integers, or ticks of times, of a buffer; null where there are none. */
export function integersOf(buffer: ArrayBuffer | undefined, type: string | null | undefined): Integers | null {
  if (buffer === undefined || buffer.byteLength === 0) return null;
  return type === "uint64" ? new BigUint64Array(buffer) : new BigInt64Array(buffer);
}

/** Bytes of values: 64 pictures of 512 × 512. */
const MOST = 2 ** 27;

export class Frames {
  private readonly kept = new Map<string, Frame>();
  private readonly most: number;
  size = 0;

  constructor(most = MOST) {
    this.most = most;
  }

  has(name: string): boolean {
    return this.kept.has(name);
  }

  /** A picture that is here, which becomes the last to go. */
  get(name: string): Frame | null {
    const found = this.kept.get(name);
    if (found === undefined) return null;
    this.kept.delete(name);
    this.kept.set(name, found);
    return found;
  }

  /** Keeps what came whole; what failed may be there another time. */
  keep(name: string, frame: Frame): void {
    this.drop(name);
    const { state, chunks } = frame.reading;
    if ((state !== "fetched" && state !== "fill") || chunks.failed > 0) return;
    this.kept.set(name, frame);
    this.size += bytesOf(frame);
    for (const oldest of this.kept.keys()) {
      if (this.size <= this.most) break;
      this.drop(oldest);
    }
  }

  clear(): void {
    this.kept.clear();
    this.size = 0;
  }

  private drop(name: string): void {
    const found = this.kept.get(name);
    if (found !== undefined && this.kept.delete(name)) this.size -= bytesOf(found);
  }
}

function bytesOf({ values, integers }: Frame): number {
  return (values?.byteLength ?? 0) + (integers?.byteLength ?? 0);
}

/** A time as the field has it, to the minute; nothing of years that it cannot have. */
export function written(milliseconds: number): string {
  const date = new Date(milliseconds);
  if (Number.isNaN(date.getTime()) || date.getUTCFullYear() < 1 || date.getUTCFullYear() > 9999) return "";
  return date.toISOString().slice(0, 16);
}
