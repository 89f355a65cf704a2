/** Numbers and names as people read them. */

import type { Count, SetFacts, Kind, NodeType, Severity } from "./wire.ts";

export const KINDS: Kind[] = ["inline", "base64", "url", "range"];
export const KIND_NAMES: Record<Kind, string> = {
  inline: "inline",
  base64: "base64",
  url: "whole URL",
  range: "byte range",
};
export const TYPE_NAMES: Record<NodeType, string> = {
  group: "group",
  array: "array",
  folder: "folder",
  key: "key",
};
export const SEVERITY_MARKS: Record<Severity, string> = { error: "✕", warning: "▲", info: "ℹ" };

/** 1234567 → "1,234,567"; text of a large number keeps every digit. */
export function count(value: Count | bigint): string {
  return (typeof value === "string" ? BigInt(value) : value).toLocaleString("en");
}

/** "1 key", "2 keys". */
export function counted(value: Count | bigint, noun: string): string {
  return `${count(value)} ${noun}${Number(value) === 1 ? "" : "s"}`;
}

const UNITS = ["kB", "MB", "GB", "TB", "PB", "EB"];
const LARGEST = 10n ** 30n;

/** 57288 → "57.3 kB" (decimal units); halves are rounded away from zero, as `size_text` of Python does. */
export function bytes(value: Count | bigint): string {
  const size = Number(value);
  if (size < 0) return `-${bytes(typeof value === "number" ? -value : -BigInt(value))}`;
  if (size < 1000) return `${count(value)} B`;
  // BigInt keeps every digit, and fails at fractions, which the ticks of an axis may have.
  const exact = typeof value === "number" ? BigInt(Math.round(value)) : BigInt(value);
  if (exact > LARGEST) return `more than ${bytes(LARGEST)}`;
  const step = 10n ** BigInt(String(exact).length - 3);
  const shown = ((exact + step / 2n) / step) * step;
  const power = Math.min(Math.floor((String(shown).length - 1) / 3), UNITS.length);
  const number = Number(shown) / 1000 ** power;
  return `${number < 1000 ? number.toPrecision(3) : count(number)} ${UNITS[power - 1]}`;
}

/** 0.0123456 → "12.35 ms". */
export function milliseconds(seconds: number): string {
  return `${(seconds * 1000).toFixed(2)} ms`;
}

/** What is said of a size that is not known. */
export const NOT_KNOWN = "not known";

/** "57.3 kB and 2 whole files of unknown size"; null where the size is not known. */
export function extent({ bytes: size, kinds }: SetFacts): string | null {
  if (size === null) return null;
  return Number(kinds.url) === 0 ? bytes(size) : `${bytes(size)} and ${counted(kinds.url, "whole file")} of unknown size`;
}

/** One number less another, every digit kept. */
export function less(whole: Count, part: Count): bigint {
  return BigInt(whole) - BigInt(part);
}

/** A number from a buffer: of one that may have been rounded on its way only the size is said. */
export function rounded(value: number): string {
  return Number.isSafeInteger(value) ? count(value) : `about ${bytes(value)}`;
}

/** A value of an array, short. */
export function value(number: number): string {
  if (Number.isNaN(number)) return "NaN";
  if (Number.isInteger(number) && Math.abs(number) < 1e15) return number.toLocaleString("en");
  return String(Number(number.toPrecision(6)));
}

/** Milliseconds since 1970 as a date, with the time where there is one. */
export function moment(milliseconds: number): string {
  if (!Number.isFinite(milliseconds) || Math.abs(milliseconds) > 8.64e15) return "NaT";
  return new Date(milliseconds).toISOString().replace(/T00:00:00\.000Z$|(\.000)?Z$/, "").replace("T", " ");
}

/** What is after the last slash: the file of a URL. */
export function fileName(url: string): string {
  return url.replace(/\/+$/, "").split("/").pop() || url;
}

/** Indented JSON where the text is JSON, the text itself otherwise. */
export function pretty(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    // Numbers are only re-indented when reading and writing them again keeps every digit.
    const again = JSON.stringify(JSON.parse(text), null, 2);
    return bare(again) === bare(text) ? again : text;
  } catch {
    return text;
  }
}

function bare(text: string): string {
  return text.replace(/\s+/g, "");
}
