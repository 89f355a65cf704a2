/** The cells of a map of chunks: what each one is, drawn and in words. */

import { bytes, count, counted, KIND_NAMES, rounded } from "../shared/format.ts";
import type { Kind } from "../shared/wire.ts";
import type { GridPicture, Span } from "./maps.ts";

export const LOOKS = { kind: "kind", target: "file", offset: "offset", size: "size", change: "change" } as const;
/** What colours the chunks of a picture; how often an access reads them has a look of its own. */
export type By = keyof typeof LOOKS | "access";
const ABSENT = 0;
export const FAILED = "failed";

/** A picture of fewer chunks says less than their grid. */
export const TELLING = 4;

/** Row and column of a cell. */
export type Place = [number, number];

export function cellAt({ columns }: GridPicture, [row, column]: Place): number {
  return row * columns + column;
}

/** How many chunks of a cell were looked at, and how many of them have a reference. */
export function presence(picture: GridPicture, cell: number): { seen: number; present: number } {
  const { perState, rows, columns, states } = picture;
  let seen = 0;
  for (let state = 0; state < states.length; state++) seen += perState[state * rows * columns + cell]!;
  return { seen, present: seen - perState[ABSENT * rows * columns + cell]! };
}

/** How many chunks of a cell failed: when they were read, or because their reference cannot be used. */
export function failures({ perState, rows, columns, states }: GridPicture, cell: number): number {
  return perState[states.indexOf(FAILED) * rows * columns + cell]!;
}

/** The state of most chunks of a cell that have a reference; 0, absent, if none has. */
export function stateOf(picture: GridPicture, cell: number): number {
  const { perState, rows, columns, states } = picture;
  if (failures(picture, cell) > 0) return states.indexOf(FAILED);
  let best = ABSENT;
  for (let state = 1; state < states.length; state++) {
    const found = perState[state * rows * columns + cell]!;
    if (found > (best === ABSENT ? 0 : perState[best * rows * columns + cell]!)) best = state;
  }
  return best;
}

/** First and last chunk of a cell along each dimension, the last one not included. */
export function spansOf(picture: GridPicture, place: Place): Span[] {
  const offset = 2 - picture.axes.length;
  return picture.window.map(([start, stop], dimension) => {
    const drawn = picture.axes.indexOf(dimension);
    if (drawn < 0) return [start, stop];
    const step = picture.steps[drawn]!;
    const from = start + place[drawn + offset]! * step;
    return [from, Math.min(stop, from + step)];
  });
}

/** The key of a cell that is one chunk; null for a cell of several. */
export function keyOf(picture: GridPicture, place: Place): string | null {
  const spans = spansOf(picture, place);
  if (spans.some(([start, stop]) => stop - start !== 1 || !Number.isSafeInteger(stop))) return null;
  return picture.key_start + spans.map(([start]) => start).join(picture.separator);
}

/** The cell that a chunk is in, or null if the picture does not show it. */
export function placeOf(picture: GridPicture, index: number[]): Place | null {
  const { window, axes, steps } = picture;
  if (index.length !== window.length) return null;
  if (index.some((at, i) => at < window[i]![0] || at >= window[i]![1])) return null;
  const places = axes.map((axis, i) => Math.floor((index[axis]! - window[axis]![0]) / steps[i]!));
  return [...[0, 0].slice(places.length), ...places] as Place;
}

/** A cell in words: where it is, its key, what it refers to. */
export function said(picture: GridPicture, place: Place): string {
  const cell = cellAt(picture, place);
  const where = spansOf(picture, place)
    .map(([start, stop]) => (stop - start === 1 ? count(start) : `${count(start)}–${count(stop - 1)}`))
    .join(", ");
  const key = keyOf(picture, place);
  const parts = key === null ? several(picture, cell) : single(picture, cell);
  return [`chunk${key === null ? "s" : ""} ${where || "0"}`, key ?? "", ...parts].filter(Boolean).join(" · ");
}

function single(picture: GridPicture, cell: number): string[] {
  const state = picture.states[stateOf(picture, cell)]!;
  if (state === "absent") return ["no reference: reads as the fill value"];
  if (state === FAILED) return ["failed: its reference or its bytes cannot be used", ofFile(picture, cell)];
  const kind = KIND_NAMES[state as Kind];
  const length = picture.size[cell]!;
  if (state === "url") return [kind, targetOf(picture, cell)];
  if (state !== "range") return [kind, bytes(length)];
  return [targetOf(picture, cell), `${rounded(picture.offset[cell]!)} + ${rounded(length)} bytes`];
}

function several(picture: GridPicture, cell: number): string[] {
  const { perState, rows, columns, states, sampled } = picture;
  const counts = states.map((state, i) => ({ state, n: perState[i * rows * columns + cell]! }));
  const found = counts.filter(({ n }) => n > 0).map(({ state, n }) => `${count(n)} ${stateName(state)}`);
  const files = picture.distinct[cell]!;
  const target = sampled || files <= 1 ? ofFile(picture, cell) : counted(files, "file");
  return [sampled ? `one chunk examined: ${found.join(", ")}` : found.join(", "), target, sizeOf(picture, cell)];
}

/** The bytes of a cell of several chunks. */
function sizeOf(picture: GridPicture, cell: number): string {
  const size = picture.size[cell]!;
  if (size < 0) return "size not known";
  return presence(picture, cell).present > 0 ? bytes(size) : "";
}

function stateName(state: string): string {
  if (state === FAILED) return "rejected or failed";
  return state === "absent" ? "without a reference" : KIND_NAMES[state as Kind];
}

/** Nothing where the bytes are in the set itself, or its reference cannot be used. */
function ofFile(picture: GridPicture, cell: number): string {
  return picture.target[cell]! < 0 ? "" : targetOf(picture, cell);
}

function targetOf({ target, targets }: GridPicture, cell: number): string {
  return targetName(targets[target[cell]!]?.url ?? null);
}

export function targetName(url: string | null): string {
  return url ?? "the file given by the reader";
}

/** The whole picture in one sentence, for screen readers. */
export function summary(picture: GridPicture): string {
  const found = picture.states
    .map((state, i) => ({ state, n: picture.counts[i]! }))
    .filter(({ n }) => Number(n) > 0)
    .map(({ state, n }) => `${count(n)} ${stateName(state)}`);
  const size = picture.grid.map(count).join(" × ") || "1";
  return `${size} chunks; shown: ${found.join(", ")}; ${counted(picture.target_count, "file")}`;
}
