/** The picture of an array in the colours of its chunks: axes, window and selection stay as they are. */

import { placesOf, type Axis } from "../preview/slices.ts";
import type { ReadingModel } from "../shared/wire.ts";
import { cellAt, failures, presence, spansOf, type By } from "./cells.ts";
import { colours, type Colour } from "./chunkboard.tsx";
import type { GridPicture, Span } from "./maps.ts";
import type { Inks } from "../shared/palette.ts";

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
