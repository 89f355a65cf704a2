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

/** "2 × 96 × 96"; of no dimension 1. */
export function sizes(numbers: readonly Count[]): string {
  return numbers.map(count).join(" × ") || "1";
}

/** "1 key", "2 keys". */
export function counted(value: Count | bigint, noun: string): string {
  return `${count(value)} ${noun}${Number(value) === 1 ? "" : "s"}`;
}

export function countedNotes(severity: Severity, n: number): string {
  return severity === "info" ? counted(n, "note") : counted(n, severity);
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

/** "57.3 kB and 2 whole files (size unknown)"; null where the size is not known. */
export function extent({ bytes: size, kinds }: SetFacts): string | null {
  if (size === null) return null;
  return kinds === null || Number(kinds.url) === 0
    ? bytes(size)
    : `${bytes(size)} and ${counted(kinds.url, "whole file")} (size unknown)`;
}

/** One number less another, every digit kept. */
export function less(whole: Count, part: Count): bigint {
  return BigInt(whole) - BigInt(part);
}

/** A number from a buffer: of one that may have been rounded on its way only the size is said. */
export function rounded(value: number): string {
  return Number.isSafeInteger(value) ? count(value) : `about ${bytes(value)}`;
}

/** What was computed of values, short: six digits, and all before the point. */
export function value(number: number): string {
  if (!Number.isFinite(number)) return infinite(number);
  if (Number.isInteger(number) && Math.abs(number) < 1e15) return number.toLocaleString("en");
  const size = Math.abs(number);
  if (size >= 1e6 && size < 1e15) return Math.round(number).toLocaleString("en");
  return String(Number(number.toPrecision(6)));
}

function infinite(number: number): string {
  return Number.isNaN(number) ? "NaN" : number > 0 ? "inf" : "-inf";
}

/** Digits after which a number of a type is another one. */
const DIGITS: Record<string, number> = { float16: 5, float32: 9 };

/**
 * A value of an array with every digit of its data type, as `value_text` of Python writes it.
 *
 * @param integer - The same as an integer or ticks of a time, where a number has not all its digits.
 */
export function exact(number: number, type: string, integer?: bigint): string {
  if (type.startsWith("datetime64")) return timeText(number, type, integer);
  if (!Number.isFinite(number)) return infinite(number);
  if (type === "bool") return number ? "True" : "False";
  if (integer !== undefined) return String(integer);
  if (/^u?int/.test(type) && !Number.isSafeInteger(number)) return `≈${number.toPrecision(6)}`;
  if (Object.is(number, -0)) return "-0";
  const isWhole = Number.isInteger(number) && Math.abs(number) < 1e16;
  const [digits, power] = (isWhole ? number : shortest(number, type)).toExponential().split("e") as [string, string];
  const at = Number(power);
  if (at >= -4 && at < 16) return positional(digits, at);
  return `${digits}e${at < 0 ? "-" : "+"}${String(Math.abs(at)).padStart(2, "0")}`;
}

/** The number of fewest digits that is the same in its type: 0.1, not 0.10000000149011612. */
function shortest(number: number, type: string): number {
  const most = DIGITS[type];
  for (let digits = 1; most !== undefined && digits < most; digits++) {
    const short = Number(number.toPrecision(digits));
    if ((type === "float32" ? Math.fround(short) : half(short)) === number) return short;
  }
  return number;
}

/** The nearest float16, halves to even. */
function half(number: number): number {
  const step = 2 ** (Math.max(Math.floor(Math.log2(Math.abs(number))), -14) - 10);
  const steps = number / step;
  const even = Math.floor(steps / 2) * 2;
  return (
    (Math.abs(steps - Math.floor(steps)) === 0.5 ? (Math.floor(steps) === even ? even : even + 2) : Math.round(steps)) *
    step
  );
}

function positional(digits: string, at: number): string {
  const sign = digits.startsWith("-") ? "-" : "";
  const all = digits.replace(/[-.]/g, "");
  if (at < 0) return `${sign}0.${"0".repeat(-at - 1)}${all}`;
  const whole = all.padEnd(at + 1, "0");
  return `${sign}${whole.slice(0, at + 1)}${whole.length > at + 1 ? `.${whole.slice(at + 1)}` : ""}`;
}

/** An exact value as it is shown: whole numbers with commas, times with a space. */
export function grouped(text: string): string {
  return text
    .replace(/^(≈?-?)(\d{4,})(?=$|\.)/, (_, sign: string, digits: string) => sign + BigInt(digits).toLocaleString("en"))
    .replace(/^(-?\d+-\d\d-\d\d)T/, "$1 ");
}

/** Ticks of the units of times in a second. */
const TICKS: Record<string, bigint> = { s: 1n, ms: 1000n, us: 1_000_000n, ns: 1_000_000_000n };
const LAST_MOMENT = 8.64e15;

function timeText(milliseconds: number, type: string, ticks?: bigint): string {
  if (Number.isNaN(milliseconds)) return "NaT";
  const unit = /\[(\w+)\]/.exec(type)?.[1] ?? "ms";
  const second = TICKS[unit];
  if (Math.abs(milliseconds) > LAST_MOMENT || (ticks !== undefined && second === undefined))
    return `${ticks ?? milliseconds} ${ticks === undefined ? "ms" : unit} since 1970`;
  if (ticks === undefined || second === undefined)
    return moment(milliseconds)
      .replace(" ", "T")
      .replace(/(\.\d*[1-9])0+$/, "$1");
  const part = ((ticks % second) + second) % second;
  const [date, time] = new Date(Number((ticks - part) / second) * 1000).toISOString().slice(0, -5).split("T") as [
    string,
    string,
  ];
  const fraction =
    part === 0n
      ? ""
      : `.${String(part)
          .padStart(String(second).length - 1, "0")
          .replace(/0+$/, "")}`;
  return time === "00:00:00" && !fraction ? date : `${date}T${time}${fraction}`;
}

/** "at 14:03", with the day where that is not today. */
export function clock(milliseconds: number): string {
  const at = new Date(milliseconds);
  const day = at.toDateString() === new Date().toDateString() ? "" : ` on ${at.toLocaleDateString("en-CA")}`;
  return `at ${at.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })}${day}`;
}

/** Milliseconds since 1970 as a date, with the time where there is one. */
export function moment(milliseconds: number): string {
  if (!Number.isFinite(milliseconds)) return "NaT";
  if (Math.abs(milliseconds) > LAST_MOMENT) return `${milliseconds} ms since 1970`;
  return new Date(milliseconds)
    .toISOString()
    .replace(/T00:00:00\.000Z$|(\.000)?Z$/, "")
    .replace("T", " ");
}

/** What is after the last slash: the file of a URL. */
export function fileName(url: string): string {
  return url.replace(/\/+$/, "").split("/").pop() || url;
}

/** Indented JSON if the text is JSON, else the text itself. */
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

/** A long name without its middle: its ends tell the most. */
export function middled(text: string): string {
  return text.replace(/^(.{14}).{4,}(.{26})$/su, "$1…$2");
}

export function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** "time 18 × lat 96 × lon 192, int16" */
export function shapeText({
  shape,
  dimensions,
  dtype,
}: {
  shape: Count[];
  dimensions: string[] | null;
  dtype: string;
}): string {
  const sides = shape.map((size, i) => [dimensions?.[i], count(size)].filter(Boolean).join(" "));
  return [sides.join(" × "), dtype].filter(Boolean).join(", ");
}
