/** Numbers and names as people read them. */

import type { Count, Facts, Kind, NodeType, Severity } from "./wire.ts";

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

/** 57288 → "57.3 kB" (decimal units). */
export function bytes(value: Count): string {
  let size = Number(value);
  if (size < 1000) return `${count(size)} B`;
  const units = ["kB", "MB", "GB", "TB", "PB", "EB"];
  let unit = -1;
  do {
    size /= 1000;
    unit += 1;
  } while (size >= 999.5 && unit < units.length - 1);
  return `${size < 999.5 ? size.toPrecision(3) : count(Math.round(size))} ${units[unit]}`;
}

/** What is said of a size that is not known. */
export const NOT_KNOWN = "not known";

/** "57.3 kB and 2 whole files of unknown size"; null where the size is not known. */
export function extent({ bytes: size, kinds }: Facts): string | null {
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
  return new Date(milliseconds).toISOString().replace(/T00:00:00\.000Z$|\.000Z$/, "").replace("T", " ");
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
