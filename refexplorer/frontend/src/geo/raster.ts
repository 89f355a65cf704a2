/** From a mesh to pixels: which value of the array each pixel of the map shows. */

import type { Placed, Size } from "./projecting.ts";

/** Points of the earth by place in an array, as Python's `Mesh`. */
export interface EarthMesh {
  rows: Float64Array;
  columns: Float64Array;
  longitude: Float64Array;
  latitude: Float64Array;
}

/** Row and column in the array of each pixel; -1 where there is none. */
export interface Raster extends Size {
  row: Int32Array;
  column: Int32Array;
}

/** @param ratio - Pixels of the raster for one of the map. */
export function rasterOf(mesh: EarthMesh, points: Placed, size: Size, ratio: number): Raster {
  const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
  const raster = {
    width,
    height,
    row: new Int32Array(width * height).fill(-1),
    column: new Int32Array(width * height).fill(-1),
  };
  const across = mesh.columns.length;
  const [x, y] = [new Float64Array(4), new Float64Array(4)];
  const { disk } = points;
  for (let i = 0; i + 1 < mesh.rows.length; i++) {
    const [top, bottom] = [mesh.rows[i]!, mesh.rows[i + 1]!];
    for (let j = 0; j + 1 < across; j++) {
      const at = i * across + j;
      const corners = [at, at + 1, at + across + 1, at + across];
      if (disk !== null && corners.every((corner) => disk.hidden[corner] === 2)) continue;
      const turns = turnsOf(points, corners);
      const [left, right] = [mesh.columns[j]!, mesh.columns[j + 1]!];
      // A quad that the edge of the map cuts is drawn on both sides of it.
      for (let copy = 0; copy < (turns === null ? 1 : 2); copy++) {
        for (let corner = 0; corner < 4; corner++) {
          const point = corners[corner]!;
          const shift = turns === null ? 0 : turns[corner]! - copy;
          x[corner] = (points.x[point]! + shift * (points.turn?.[point] ?? 0)) * ratio;
          y[corner] = points.y[point]! * ratio;
        }
        if (Number.isNaN(y[0]! + y[2]!)) {
          // A corner is off the earth: the three others may not be.
          triangle(raster, x, y, 0, 1, 3, left, top, right, top, left, bottom);
          triangle(raster, x, y, 1, 2, 3, right, top, right, bottom, left, bottom);
          continue;
        }
        triangle(raster, x, y, 0, 1, 2, left, top, right, top, right, bottom);
        triangle(raster, x, y, 0, 2, 3, left, top, right, bottom, left, bottom);
      }
    }
  }
  if (disk !== null) cutRound(raster, disk.radius * ratio);
  return raster;
}

/** Leaves out what cells at the rim of a round map have beyond it. */
function cutRound({ width, height, row, column }: Raster, radius: number): void {
  for (let line = 0; line < height; line++) {
    const room = radius ** 2 - (line + 0.5 - height / 2) ** 2;
    const half = room > 0 ? Math.sqrt(room) : 0;
    for (let at = 0; at < width; at++) {
      if (Math.abs(at + 0.5 - width / 2) > half) row[line * width + at] = column[line * width + at] = -1;
    }
  }
}

/** How many rows and columns of the array a cell of the mesh has at most. */
export function coarsest({ rows, columns }: EarthMesh): [number, number] {
  const widest = (places: Float64Array) =>
    places.reduce((most, place, i) => (i === 0 ? 1 : Math.max(most, place - places[i - 1]!)), 1);
  return [widest(rows), widest(columns)];
}

/** Of a quad on both sides of the edge: by how many turns each corner moves to be next to the others. */
function turnsOf({ east }: Placed, corners: number[]): number[] | null {
  if (east === null) return null;
  const found = corners.map((corner) => east[corner]!);
  if (Math.max(...found) - Math.min(...found) <= 180) return null;
  return found.map((degrees) => (degrees < 0 ? 1 : 0));
}

/** Fills the pixels whose middle is in a triangle; column and row are linear in it. */
function triangle(
  { width, height, row, column }: Raster,
  x: Float64Array,
  y: Float64Array,
  a: number,
  b: number,
  c: number,
  columnA: number,
  rowA: number,
  columnB: number,
  rowB: number,
  columnC: number,
  rowC: number,
): void {
  const [xa, ya, xb, yb, xc, yc] = [x[a]!, y[a]!, x[b]!, y[b]!, x[c]!, y[c]!];
  const area = (xb - xa) * (yc - ya) - (xc - xa) * (yb - ya);
  // Also where a corner is not seen, which is NaN.
  if (!(Math.abs(area) > 1e-12)) return;
  const [first, last] = [
    Math.max(0, Math.ceil(Math.min(ya, yb, yc) - 0.5)),
    Math.min(height - 1, Math.floor(Math.max(ya, yb, yc) - 0.5)),
  ];
  const [from, to] = [
    Math.max(0, Math.ceil(Math.min(xa, xb, xc) - 0.5)),
    Math.min(width - 1, Math.floor(Math.max(xa, xb, xc) - 0.5)),
  ];
  if (last - first > 4 * height || to < from) return;
  const [lowRow, highRow] = [Math.min(rowA, rowB, rowC), Math.max(rowA, rowB, rowC)];
  const [lowColumn, highColumn] = [Math.min(columnA, columnB, columnC), Math.max(columnA, columnB, columnC)];
  for (let line = first; line <= last; line++) {
    for (let at = from; at <= to; at++) {
      const [px, py] = [at + 0.5, line + 0.5];
      const ofB = ((px - xa) * (yc - ya) - (xc - xa) * (py - ya)) / area;
      const ofC = ((xb - xa) * (py - ya) - (px - xa) * (yb - ya)) / area;
      if (ofB < -1e-9 || ofC < -1e-9 || ofB + ofC > 1 + 1e-9) continue;
      const pixel = line * width + at;
      row[pixel] = inside(rowA + ofB * (rowB - rowA) + ofC * (rowC - rowA), lowRow, highRow);
      column[pixel] = inside(columnA + ofB * (columnB - columnA) + ofC * (columnC - columnA), lowColumn, highColumn);
    }
  }
}

/** The cell that a place is in; on the last edge of a quad the one before it. */
function inside(place: number, low: number, high: number): number {
  return Math.floor(Math.min(Math.max(place, low), high - 1e-9));
}

/** Row and column at a point of the map; null where there is none. */
export function cellAt(raster: Raster | null, [x, y]: [number, number], ratio: number): [number, number] | null {
  if (raster === null) return null;
  const [column, line] = [Math.floor(x * ratio), Math.floor(y * ratio)];
  if (column < 0 || line < 0 || column >= raster.width || line >= raster.height) return null;
  const pixel = line * raster.width + column;
  return raster.row[pixel]! < 0 ? null : [raster.row[pixel]!, raster.column[pixel]!];
}

/** First and last row and column that pixels show, the last ones not included; null where there is none. */
export function inView({ row, column }: Raster): [[number, number], [number, number]] | null {
  let [top, bottom, left, right] = [Infinity, -1, Infinity, -1];
  for (let pixel = 0; pixel < row.length; pixel++) {
    if (row[pixel]! < 0) continue;
    [top, bottom] = [Math.min(top, row[pixel]!), Math.max(bottom, row[pixel]!)];
    [left, right] = [Math.min(left, column[pixel]!), Math.max(right, column[pixel]!)];
  }
  return bottom < 0
    ? null
    : [
        [top, bottom + 1],
        [left, right + 1],
      ];
}
