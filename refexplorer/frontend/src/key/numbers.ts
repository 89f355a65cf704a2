/** What the bytes at a place mean as numbers of each type, in both orders. */

import { exact } from "../shared/format.ts";

export interface Decoded {
  name: string;
  little: string;
  big: string;
}

type Read = (view: DataView, little: boolean) => number | bigint;

const TYPES: [name: string, size: number, read: Read][] = [
  ["int8", 1, (view) => view.getInt8(0)],
  ["uint8", 1, (view) => view.getUint8(0)],
  ["int16", 2, (view, little) => view.getInt16(0, little)],
  ["uint16", 2, (view, little) => view.getUint16(0, little)],
  ["int32", 4, (view, little) => view.getInt32(0, little)],
  ["uint32", 4, (view, little) => view.getUint32(0, little)],
  ["int64", 8, (view, little) => view.getBigInt64(0, little)],
  ["uint64", 8, (view, little) => view.getBigUint64(0, little)],
  ["float32", 4, (view, little) => view.getFloat32(0, little)],
  ["float64", 8, (view, little) => view.getFloat64(0, little)],
];

/** A dash means that the type reaches past the end of the bytes. */
export function decode(data: Uint8Array, at: number): Decoded[] {
  return TYPES.map(([name, size, read]) => {
    if (at < 0 || at + size > data.length) return { name, little: "–", big: "–" };
    const view = new DataView(data.buffer, data.byteOffset + at, size);
    return { name, little: written(read(view, true), name), big: written(read(view, false), name) };
  });
}

function written(value: number | bigint, name: string): string {
  return typeof value === "bigint" ? String(value) : exact(value, name);
}
