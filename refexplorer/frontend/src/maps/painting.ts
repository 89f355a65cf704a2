/** The picture of an array in the colours of its chunks: axes, window and selection stay as they are. */

import * as Plot from "@observablehq/plot";

import { chunkOf, indexOf, placesOf, type Axis } from "../preview/slices.ts";
import type { ReadingModel } from "../shared/wire.ts";
import type { TouchedChunks } from "../advice/costs.ts";
import { cellAt, failures, presence, spansOf, type By } from "./cells.ts";
import { colours } from "./chunkboard.tsx";
import type { GridPicture, GridWish, Span } from "./maps.ts";
import { series, type Inks } from "./palette.ts";

/** What is painted in place of the values, and where chunks begin: cells along rows and columns. */
export interface Painted {
  cells: HTMLCanvasElement;
  edges: { rows: number[]; columns: number[] };
}

/** Pixels of the canvas: so many that the patterns of files are seen. */
const SHARP = 900;
/** More edges than these would be the picture. */
const MOST_EDGES = 60;

/** The chunks of what a picture shows of an array. */
export function wishOf(reading: ReadingModel, [rows, columns]: [Axis, Axis], steps: number[]): GridWish {
  const isDrawn = (dimension: number) => dimension === rows.dimension || dimension === columns.dimension;
  const ends = [0, 1].map((end) => {
    const places = steps.map((at, dimension) => (isDrawn(dimension) ? end * (reading.shape[dimension]! - 1) : at));
    return chunkOf(reading, indexOf(reading, places)).index;
  });
  const window = ends[0]!.map((from, dimension): Span => {
    const to = ends[1]![dimension]!;
    return [Math.min(from, to), Math.max(from, to) + 1];
  });
  return { array: reading.array, axes: [rows.dimension, columns.dimension], window };
}

export function paintedBy(
  picture: GridPicture,
  by: By,
  reading: ReadingModel,
  [rows, columns]: [Axis, Axis],
  inks: Inks,
  touched: TouchedChunks | null,
): Painted {
  const cells = document.createElement("canvas");
  const scale = Math.max(1, Math.ceil(SHARP / Math.max(rows.size, columns.size)));
  [cells.width, cells.height] = [columns.size * scale, rows.size * scale];
  const context = cells.getContext("2d")!;
  const colour = touched ? costColours(picture, touched) : colours(context, inks, picture, by);
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

const shades = (most: number) =>
  Plot.scale({ color: { type: "linear", scheme: "viridis", domain: [0, Math.max(1, most)] } });

/** The colour of what is read most often. */
export const brightest = (most: number): string => String(shades(most).apply(most));

/** The more often an access reads a chunk, the brighter; grey is what it does not read. */
function costColours(picture: GridPicture, touched: TouchedChunks): (cell: number) => string {
  const scale = shades(touched.most);
  return (cell) => {
    const [row, column] = [Math.floor(cell / picture.columns), cell % picture.columns];
    const [down, across] = [row, column].map((at, side) =>
      Math.floor((at * (picture.steps[side] ?? 1)) / Number(touched.steps[side] ?? 1)),
    ) as [number, number];
    const times = touched.cells[down * touched.columns + across] ?? 0;
    return times > 0 ? String(scale.apply(times)) : series(-1).colour;
  };
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
