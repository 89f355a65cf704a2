/** The picture of a map of chunks, with its cursor; and that of an array in the colours of its chunks. */

import * as Plot from "@observablehq/plot";
import { useMemo, useState } from "preact/hooks";

import { stepped } from "../shared/pointing.ts";
import { escaped } from "../shared/escaping.ts";
import { bytes, count } from "../shared/format.ts";
import type { Kind, ReadingModel } from "../shared/wire.ts";
import type { ChunkState } from "../health/health.ts";
import { Board, type Frame } from "./board.tsx";
import { changeSaid, changesSummary, paintChanges } from "./changecells.ts";
import {
  cellAt,
  FAILED,
  failures,
  keyOf,
  placeOf,
  presence,
  said,
  spansOf,
  stateOf,
  summary,
  type By,
  type Place,
} from "./cells.ts";
import type { ChangePicture } from "../compare/comparison.ts";
import type { GridPicture, Span } from "./maps.ts";
import {
  type Box,
  cross,
  fill,
  GAPPED,
  hatching,
  kindInk,
  letter,
  LETTERED,
  outline,
  series,
  type Inks,
} from "../shared/palette.ts";
import { wholeTicks } from "../preview/plot.ts";
import { range, placesOf, type Axis } from "../preview/slices.ts";

const MARGINS = { marginRight: 12, marginTop: 8, marginBottom: 36 };
const LARGEST_CELL = 56;
/** Of the picture, px: so much that what is said below it stays in sight. */
const heightFor = (width: number) => Math.min(340, Math.max(160, width * 0.42));
/** A square cell is no smaller, px. */
const POINTED = 6;
/** Height of a single row, px. */
const LOWEST_ROW = 24;

interface Props {
  picture: GridPicture;
  by: By;
  /** What became of the chunks, to colour them by. */
  changes: ChangePicture | null;
  /** Index of the selected chunk if it is one of this array. */
  selected: number[] | null;
  /** The state that the tree is narrowed to: cells without such a chunk stand back. */
  only: ChunkState | null;
  select(key: string): void;
  zoomTo(spans: Span[]): void;
}

export function ChunkBoard({ picture, by, changes, selected, only, select, zoomTo }: Props) {
  const [cursor, setCursor] = useState<Place | null>(null);
  const shown = cursor && cursor[0] < picture.rows && cursor[1] < picture.columns ? cursor : null;
  const chosen = selected && placeOf(picture, selected);
  const options = useMemo(() => (width: number) => frameOf(picture, width), [picture]);
  const paint = useMemo(
    () => (context: CanvasRenderingContext2D, frame: Frame) => {
      if (by !== "change") paintCells(context, frame, picture, by);
      else if (changes) paintChanges(context, frame, changes, (place) => rectangle(frame, picture, place));
      if (only) veil(context, frame, picture, only);
      if (chosen) outline(context, frame.inks, rectangle(frame, picture, chosen), false);
      if (shown) outline(context, frame.inks, rectangle(frame, picture, shown), true);
    },
    [picture, by, changes, only, shown?.join(), chosen?.join()],
  );
  const pick = (place: Place | null) => {
    if (place === null) return;
    const key = keyOf(picture, place);
    if (key === null) zoomTo(spansOf(picture, place));
    else if (presence(picture, cellAt(picture, place)).present > 0) select(key);
  };
  const since = changes ? `; since the other set: ${changesSummary(changes)}` : "";
  const onKeyDown = (event: KeyboardEvent) => {
    const next = stepped(shown ?? chosen, event.key, [{ size: picture.rows }, { size: picture.columns }]);
    if (event.key === "Enter" || event.key === " ") pick(shown);
    else if (next) setCursor(next as Place);
    else return;
    event.preventDefault();
  };
  return (
    <Board
      label={`Chunks of ${picture.array || "/"}: ${summary(picture)}${since}. Arrow keys move, Enter selects.`}
      options={options}
      paint={paint}
      point={(at) => setCursor(at && placeAt(picture, at))}
      pick={() => pick(shown)}
      onKeyDown={onKeyDown}
      readout={
        shown ? said(picture, shown) + (changes ? ` · ${changeSaid(changes, shown)}` : "") : hint(picture, chosen)
      }
    />
  );
}

function hint(picture: GridPicture, chosen: Place | null): string {
  if (chosen) return `Selected: ${said(picture, chosen)}`;
  const single = keyOf(picture, [0, 0]) !== null;
  return `Point at a cell, or move with the arrow keys; click or press Enter to ${single ? "select its chunk" : "zoom in"}.`;
}

/** The drawn dimension of rows (0) or columns (1), its window and step; of none, a single cell. */
function side(picture: GridPicture, which: 0 | 1) {
  const at = which - (2 - picture.axes.length);
  const axis = picture.axes[at];
  if (axis === undefined) return { name: null, start: 0, stop: 1, step: 1 };
  const [start, stop] = picture.window[axis]!;
  return { name: picture.dimensions[axis]!, start, stop, step: picture.steps[at]! };
}

function frameOf(picture: GridPicture, width: number): Plot.PlotOptions {
  const [rows, columns] = [side(picture, 0), side(picture, 1)];
  const marginLeft = 34 + 7 * count(rows.stop).length;
  const room = width - marginLeft - MARGINS.marginRight;
  const [widest, highest] = [room / picture.columns, heightFor(width) / picture.rows];
  // Square as long as a square can be pointed at.
  const edge = Math.min(LARGEST_CELL, widest, highest);
  const [wide, high] =
    edge >= POINTED
      ? [edge, picture.rows === 1 ? Math.max(edge, LOWEST_ROW) : edge]
      : [Math.min(LARGEST_CELL, widest), Math.min(LARGEST_CELL, highest)];
  const [across, down] = [wide * picture.columns, high * picture.rows];
  return {
    ...MARGINS,
    marginLeft,
    width: across + marginLeft + MARGINS.marginRight,
    height: down + MARGINS.marginTop + MARGINS.marginBottom,
    x: axis(columns, Math.max(1, across / 52)),
    y: { ...axis(rows, Math.max(1, down / 22)), reverse: true },
    marks: [Plot.frame({ stroke: "var(--line)" })],
  };
}

/** Chunks are counted, so a tick is in the middle of its chunk. */
function axis({ name, start, stop }: ReturnType<typeof side>, most: number) {
  return {
    domain: [start - 0.5, stop - 0.5],
    label: name === null ? null : escaped(name),
    labelArrow: "none" as const,
    labelAnchor: "center" as const,
    ticks: name === null ? [] : wholeTicks(start, stop, most),
    tickFormat: (at: number) => count(at),
  };
}

function placeAt(picture: GridPicture, [x, y]: [number, number]): Place | null {
  const [rows, columns] = [side(picture, 0), side(picture, 1)];
  const row = Math.floor((y + 0.5 - rows.start) / rows.step);
  const column = Math.floor((x + 0.5 - columns.start) / columns.step);
  return row >= 0 && row < picture.rows && column >= 0 && column < picture.columns ? [row, column] : null;
}

/** Left, top, width and height of a cell, px. */
function rectangle({ x, y }: Frame, picture: GridPicture, [row, column]: Place): Box {
  const [rows, columns] = [side(picture, 0), side(picture, 1)];
  // On whole pixels, or seams would show between cells without a gap.
  const across = (at: number) => Math.round(x(Math.min(columns.stop, at) - 0.5));
  const down = (at: number) => Math.round(y(Math.min(rows.stop, at) - 0.5));
  const [left, right] = [column, column + 1].map((at) => across(columns.start + at * columns.step)) as Span;
  const [top, bottom] = [row, row + 1].map((at) => down(rows.start + at * rows.step)) as Span;
  return [left, top, right - left, bottom - top];
}

/** The shorter side of a whole cell, px, before it is put on whole pixels. */
function cellSize({ x, y }: Frame, picture: GridPicture): number {
  const [rows, columns] = [side(picture, 0), side(picture, 1)];
  return Math.min(Math.abs(x(1) - x(0)) * columns.step, Math.abs(y(1) - y(0)) * rows.step);
}

function paintCells(context: CanvasRenderingContext2D, frame: Frame, picture: GridPicture, by: By): void {
  const nothing = hatching(context, frame.inks);
  const colour = colours(context, frame.inks, picture, by);
  const gap = cellSize(frame, picture) >= GAPPED ? 1 : 0;
  for (let row = 0; row < picture.rows; row++) {
    for (let column = 0; column < picture.columns; column++) {
      const cell = cellAt(picture, [row, column]);
      const [left, top, width, height] = rectangle(frame, picture, [row, column]);
      const { seen, present } = presence(picture, cell);
      context.fillStyle = nothing;
      if (present < seen) context.fillRect(left, top, width - gap, height - gap);
      if (present === 0) continue;
      // A cell of several chunks is filled as far as they have references.
      const full = Math.max(Math.min(2, height), (height - gap) * (present / seen));
      context.fillStyle = colour(cell);
      context.fillRect(left, top + height - gap - full, width - gap, full);
      if (failures(picture, cell) > 0) {
        cross(context, frame.inks, [left, top, width - gap, height - gap]);
      } else if (by === "kind" && Math.min(width, height) >= LETTERED) {
        const state = picture.states[stateOf(picture, cell)]!;
        const inks: [string, string] = [frame.inks.of(`--${state}`), frame.inks.paper];
        letter(context, [left, top, width - gap, height - gap], state[0]!.toUpperCase(), inks);
      }
    }
  }
}

/** Lets the cells stand back that have no chunk of a state; the map does not tell which chunks were read. */
function veil(context: CanvasRenderingContext2D, frame: Frame, picture: GridPicture, only: ChunkState): void {
  const has: Partial<Record<ChunkState, (cell: number) => boolean>> = {
    absent: (cell) => presence(picture, cell).present < presence(picture, cell).seen,
    rejected: (cell) => failures(picture, cell) > 0,
    failed: (cell) => failures(picture, cell) > 0,
  };
  context.save();
  context.globalAlpha = 0.78;
  context.fillStyle = frame.inks.paper;
  for (let row = 0; row < picture.rows; row++) {
    for (let column = 0; column < picture.columns; column++) {
      const place: Place = [row, column];
      if (has[only]?.(cellAt(picture, place)) === false) context.fillRect(...rectangle(frame, picture, place));
    }
  }
  context.restore();
}

export type Colour = (cell: number) => string | CanvasPattern;

/** What each cell is filled with. */
export function colours(context: CanvasRenderingContext2D, inks: Inks, picture: GridPicture, by: By): Colour {
  if (by === "kind") {
    const fills = picture.states.map((state) =>
      state === "absent" || state === FAILED ? "" : fill(context, kindInk(state as Kind), inks),
    );
    return (cell) => fills[stateOf(picture, cell)]!;
  }
  if (by === "target") {
    const fills = picture.targets.map(({ number }) => fill(context, series(number), inks));
    return (cell) => fills[picture.target[cell]!] ?? series(-1).colour;
  }
  const numbers = by === "size" ? picture.size : picture.offset;
  const scale = Plot.scale({ color: { type: "linear", scheme: "viridis", domain: domainOf(picture, by) ?? [0, 1] } });
  return (cell) => (lacks(numbers[cell]!) ? series(-1).colour : String(scale.apply(numbers[cell])));
}

/** Whether a cell has no offset, or a size that is not known. */
function lacks(number: number): boolean {
  return number < 0;
}

/** The legend of sizes and offsets. */
export function ramp(domain: Span, label: string): Element {
  const color = { type: "linear" as const, scheme: "viridis" as const, domain, label };
  return Plot.legend({ color, width: 300, height: 44, ticks: 4, tickFormat: (at: number) => bytes(at) }) as Element;
}

/** Least and greatest of the sizes or offsets that are drawn; null if there is none. */
export function domainOf(picture: GridPicture, by: By): Span | null {
  const numbers = by === "size" ? picture.size : picture.offset;
  const found = range(numbers.filter((number, cell) => !lacks(number) && presence(picture, cell).present > 0));
  return found && (found[0] === found[1] ? [found[0], found[0] + 1] : found);
}

/** What is painted in place of the values, and where chunks begin: cells along rows and columns. */
export interface Painted {
  cells: HTMLCanvasElement;
  edges: { rows: number[]; columns: number[] };
}

/** Pixels of the canvas: so many that the patterns of files are seen. */
const SHARP = 900;
/** More edges than these would be the picture. */
const MOST_EDGES = 60;

export function paintedBy(
  picture: GridPicture,
  by: By,
  reading: ReadingModel,
  [rows, columns]: [Axis, Axis],
  inks: Inks,
  own: Colour | null,
): Painted {
  const cells = document.createElement("canvas");
  const scale = Math.max(1, Math.ceil(SHARP / Math.max(rows.size, columns.size)));
  [cells.width, cells.height] = [columns.size * scale, rows.size * scale];
  const context = cells.getContext("2d")!;
  const colour = own ?? colours(context, inks, picture, by);
  const [down, across] = [rows, columns].map(({ dimension }, side) => spread(picture, reading, dimension, side)) as [
    Span[],
    Span[],
  ];
  for (const [row, [top, bottom]] of down.entries()) {
    for (const [column, [left, right]] of across.entries()) {
      const cell = cellAt(picture, [row, column]);
      // Those that failed are marked on the picture.
      if (presence(picture, cell).present === 0 || failures(picture, cell) > 0) continue;
      const box = [left, top, right - left, bottom - top].map((each) => each * scale) as [
        number,
        number,
        number,
        number,
      ];
      context.fillStyle = colour(cell);
      context.fillRect(...box);
    }
  }
  return { cells, edges: { rows: edgesOf(down), columns: edgesOf(across) } };
}

/** Where in the values each row or column of chunks is. */
function spread(picture: GridPicture, reading: ReadingModel, dimension: number, side: number): Span[] {
  const length = side === 0 ? picture.rows : picture.columns;
  return Array.from({ length }, (_, at): Span => {
    const spans = spansOf(picture, side === 0 ? [at, 0] : [0, at]);
    const [from, to] = [0, 1].map(
      (end) =>
        placesOf(
          reading,
          spans.map((span) => span[end]! - end),
        )[dimension]![end]!,
    );
    return [Math.min(from!, to!), Math.max(from!, to!)];
  });
}

function edgesOf(spans: Span[]): number[] {
  return spans.length > MOST_EDGES ? [] : spans.map(([from]) => from).filter((at) => at > 0);
}
