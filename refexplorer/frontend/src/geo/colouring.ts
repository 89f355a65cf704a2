/** The pixels of the map: values by their colours, chunks by their state or file, and their edges. */

import { FAILED, failures, presence } from "../maps/cells.ts";
import type { GridPicture } from "../maps/maps.ts";
import { bytesOf, series, type Inks } from "../shared/palette.ts";
import {
  type ChunkAxis,
  axesOf,
  eachLost,
  layout,
  slice,
  stepsIn,
  textsOf,
  type LostState,
} from "../preview/slices.ts";
import { INFINITE, pixelOf, pixelsOfTable, SCHEMES, tableOf, type Scheme, placing } from "../preview/colours.ts";
import type { Raster } from "./raster.ts";
import type { ExplorerSession } from "../explorer/session.ts";
import { PLAIN } from "../explorer/state.ts";
import type { Integers } from "../preview/time/frames.ts";
import type { EarthMap, ReadingModel } from "../shared/wire.ts";

export const FOOTPRINTS = { none: "none", outline: "outlines", state: "by state", file: "by file" } as const;
export type Footprints = keyof typeof FOOTPRINTS;

/** What a value looks like, by its row and column in the array. */
export interface DrawnValues {
  values: Float64Array;
  shape: [number, number];
  /** The first row and column, and how many of the array share a cell. */
  start: [number, number];
  step: [number, number];
  table: Uint8ClampedArray;
  place(value: number): number;
  /** Chunks that were not fetched, by `chunkNumber`, to distinguish them from missing values. */
  lost: Map<number, "fill" | "failed">;
}

/** One number for a chunk down and across. */
export function chunkNumber(down: number, across: number): number {
  return down * 2 ** 26 + across;
}

type Colour = [red: number, green: number, blue: number, ...number[]];

/** What is drawn of chunks. */
export interface DrawnChunks {
  by: Footprints;
  /** The chunks along rows and columns. */
  sides: [ChunkAxis, ChunkAxis];
  grid: GridPicture | null;
}

export function imageOf(raster: Raster, values: DrawnValues | null, chunks: DrawnChunks, inks: Inks): ImageData {
  const { width, height, row, column } = raster;
  const image = new ImageData(width, height);
  const data = new Uint32Array(image.data.buffer);
  const table = values && pixelsOfTable(values.table);
  const isFilled = chunks.by === "state" || chunks.by === "file";
  const looks = isFilled && chunks.grid ? looksOf(chunks.grid, chunks.by, inks) : null;
  const [rows, columns] = chunks.sides;
  const edge = packed(bytesOf(inks.ink), isFilled ? 255 : 190);
  const [paper, hatch, bad] = [inks.paper, inks.hatch, inks.bad].map((ink) => packed(bytesOf(ink), 255)) as [
    number,
    number,
    number,
  ];
  for (let line = 0; line < height; line++) {
    for (let at = 0; at < width; at++) {
      const pixel = line * width + at;
      const i = row[pixel]!;
      if (i < 0) continue;
      const j = column[pixel]!;
      if (values && table && !isFilled) {
        const lost = values.lost.size > 0 ? values.lost.get(chunkNumber(rows.at(i), columns.at(j))) : undefined;
        data[pixel] =
          lost === undefined
            ? valueColour(values, table, i, j)
            : lost === "fill"
              ? isHatched(at, line)
                ? hatch
                : paper
              : isCrossed(at, line)
                ? bad
                : paper;
      }
      if (looks && chunks.grid) data[pixel] = chunkColour(chunks, looks, i, j, at, line);
      if (chunks.by === "none") continue;
      const [down, across] = [rows.at(i), columns.at(j)];
      const [before, above] = [at > 0 ? pixel - 1 : pixel, line > 0 ? pixel - width : pixel];
      const isEdge = (other: number) =>
        row[other]! >= 0 && (rows.at(row[other]!) !== down || columns.at(column[other]!) !== across);
      if (isEdge(before) || isEdge(above)) data[pixel] = edge;
    }
  }
  return image;
}

/** Where the value of a row and a column of the array is; null where it is not among those that are drawn. */
export function placeAmong({ shape, start, step }: DrawnValues, i: number, j: number): number | null {
  const [down, across] = [Math.floor((i - start[0]) / step[0]), Math.floor((j - start[1]) / step[1])];
  return down < 0 || across < 0 || down >= shape[0] || across >= shape[1] ? null : down * shape[1] + across;
}

function valueColour(values: DrawnValues, table: Uint32Array, i: number, j: number): number {
  const among = placeAmong(values, i, j);
  if (among === null) return 0;
  const number = values.values[among]!;
  if (number === Infinity || number === -Infinity) return pixelOf(INFINITE[number > 0 ? "inf" : "-inf"]);
  const at = values.place(number);
  return Number.isNaN(at) ? 0 : table[Math.min(table.length - 1, Math.max(0, Math.floor(at * table.length)))]!;
}

/** The colour of each cell of a grid of chunks, and the pattern over it. */
interface Looks {
  ground: Uint32Array;
  over: Uint32Array;
  /** 0 nothing, 1 hatched, 2 dots, 3 crosses. */
  pattern: Uint8Array;
}

/** The state of a cell of chunks, in a word. */
export function stateOfCell(grid: GridPicture, cell: number): "referenced" | "no reference" | "failed" | "partly" {
  if (failures(grid, cell) > 0) return FAILED;
  const { seen, present } = presence(grid, cell);
  if (present === 0) return "no reference";
  return present < seen ? "partly" : "referenced";
}

/** Whether a cell has chunks of more than one file, none of which it could be coloured by. */
export function isSeveral({ distinct }: GridPicture, cell: number): boolean {
  return distinct[cell]! > 1;
}

function looksOf(grid: GridPicture, by: Footprints, inks: Inks): Looks {
  const cells = grid.rows * grid.columns;
  const looks = { ground: new Uint32Array(cells), over: new Uint32Array(cells), pattern: new Uint8Array(cells) };
  const paper = bytesOf(inks.paper);
  for (let cell = 0; cell < cells; cell++) {
    const state = stateOfCell(grid, cell);
    const number = grid.targets[grid.target[cell]!]?.number ?? -1;
    const ink = series(by !== "file" ? 0 : isSeveral(grid, cell) ? -1 : number);
    const isBlank = state === "no reference" || state === FAILED;
    looks.ground[cell] = packed(isBlank ? paper : mixed(bytesOf(ink.colour), paper, by === "file" ? 0.75 : SOFT), 255);
    looks.over[cell] = packed(
      state === FAILED ? bytesOf(inks.bad) : state === "no reference" ? bytesOf(inks.hatch) : paper,
      255,
    );
    looks.pattern[cell] =
      state === FAILED
        ? 3
        : state !== "referenced"
          ? 1
          : by === "file" && (ink.pattern > 0 || isSeveral(grid, cell))
            ? 2
            : 0;
  }
  return looks;
}

function chunkColour({ sides, grid }: DrawnChunks, looks: Looks, i: number, j: number, x: number, y: number): number {
  const cell = gridCell(grid!, [sides[0].at(i), sides[1].at(j)]);
  if (cell === null) return 0;
  const pattern = looks.pattern[cell]!;
  const isOver =
    pattern === 1 ? isHatched(x, y) : pattern === 2 ? x % 5 === 0 && y % 5 === 0 : pattern === 3 && isCrossed(x, y);
  return isOver ? looks.over[cell]! : looks.ground[cell]!;
}

/** The colours of "no reference" and of "failed". */
function isHatched(x: number, y: number): boolean {
  return (x + y) % 6 === 0;
}

function isCrossed(x: number, y: number): boolean {
  return (x + y) % 8 === 0 || (x - y + 8000) % 8 === 0;
}

/** The cell of a grid that a chunk down and across is in; null where it is not shown. */
export function gridCell({ axes, window, steps, columns, rows }: GridPicture, chunk: [number, number]): number | null {
  const places = axes.map((axis, side) => Math.floor((chunk[side]! - window[axis]![0]) / steps[side]!));
  const [down, across] = [...[0, 0].slice(places.length), ...places] as [number, number];
  return down >= 0 && across >= 0 && down < rows && across < columns ? down * columns + across : null;
}

/** Of the colour of a state: coastlines and the selected chunk are seen over it. */
const SOFT = 0.35;

function mixed(one: Colour, other: Colour, share: number): Colour {
  return one.map((part, i) => Math.round(part * share + other[i]! * (1 - share))) as Colour;
}

/** As the bytes of an image are in memory: the lowest first. */
function packed([red, green, blue]: Colour, alpha: number): number {
  return ((alpha << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** With what its bar of colours says. */
export interface EarthValues extends DrawnValues {
  label: string;
  domain: [number, number];
  /** A value with every digit, by its place among the cells. */
  text(index: number): string;
}

/** The values to draw: the part that was read, along the dimensions of the map. */
export function valuesOf(
  session: ExplorerSession,
  reading: ReadingModel,
  values: Float64Array,
  integers: Integers | null,
  axes: readonly number[],
  asked: number[],
): EarthValues | null {
  const plan = layout(reading, [...axes]);
  if (plan.drawn.length !== 2 || plan.drawn.some(({ dimension }, side) => dimension !== axes[side])) return null;
  const look = session.pictureOf(reading.array);
  const scheme = (Object.hasOwn(SCHEMES, look.scheme) ? look.scheme : PLAIN.scheme) as Scheme;
  const written = look.limits.map((text) => (text === "" ? NaN : Number(text)));
  const low = Number.isFinite(written[0]) ? written[0]! : (reading.minimum ?? 0);
  const high = Number.isFinite(written[1]) ? written[1]! : (reading.maximum ?? 1);
  const domain: [number, number] = low === high ? [low - 0.5, high + 0.5] : [low, high];
  const steps = stepsIn(reading, asked);
  const [rows, columns] = plan.drawn as [(typeof plan.drawn)[0], (typeof plan.drawn)[0]];
  const part = slice(values, reading, plan, steps);
  return {
    values: part,
    text: textsOf(reading, part, integers && slice(integers, reading, plan, steps)),
    shape: [rows.size, columns.size],
    start: [rows.first, columns.first],
    step: [rows.step, columns.step],
    table: tableOf(scheme),
    place: placing(reading.times ? "linear" : look.scale, domain),
    lost: lostOf(reading, axes, steps),
    label: reading.units && !reading.times ? `${reading.name} (${reading.units})` : reading.name,
    domain,
  };
}

/** The chunks below the drawn slice that were not fetched. */
function lostOf(reading: ReadingModel, axes: readonly number[], steps: number[]): Map<number, LostState> {
  const chunks = axesOf(reading.chunk_shape, reading.chunk_runs);
  const at = reading.region.map(([start, , step], axis) =>
    chunks[axis]!.at(Number(start) + steps[axis]! * Number(step)),
  );
  const below = [...eachLost(reading)].filter(({ index }) =>
    index.every((number, axis) => axes.includes(axis) || number === at[axis]),
  );
  return new Map(below.map(({ index, state }) => [chunkNumber(index[axes[0]!]!, index[axes[1]!]!), state]));
}

/** Where along the dimensions that are not on the map a point is looked for. */
export function indexAt(
  earth: EarthMap,
  reading: ReadingModel | null,
  steps: number[],
  chunk: number[] | null,
): number[] {
  if (reading) return reading.region.map(([start, , step], axis) => Number(start) + (steps[axis] ?? 0) * Number(step));
  const sides = axesOf(
    earth.chunks!.map(([, size]) => size),
    earth.chunk_runs,
  );
  const along = new Map(earth.axes!.map((axis, side) => [axis, sides[side]!]));
  return (chunk ?? []).map((at, axis) => along.get(axis)?.start(at) ?? at);
}
