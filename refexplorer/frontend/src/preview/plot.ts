/** The line and the heatmap with its coasts, drawn by Observable Plot; hovering is by position in its scales. */

import * as Plot from "@observablehq/plot";

import { escaped } from "../shared/escaping.ts";
import { count, moment } from "../shared/format.ts";
import type { Land } from "../geo/earth.ts";
import { linearPart, type ScaleName, FLAG_COLOURS, INFINITE, type Scheme } from "./colours.ts";
import { extremes, infinities, titleOf, type Axis, type Window } from "./slices.ts";
import type { ReadingModel } from "../shared/wire.ts";

export interface Figure {
  element: SVGElement | HTMLElement;
  /** The index of the value at a point of the page, per drawn axis; null outside. */
  locate(x: number, y: number): number[] | null;
  /** Where in the window of a picture a point of the page is: shares of its height and width. */
  share?(x: number, y: number): [number, number];
  /** Paints other cells between the same axes. */
  repaint?(cells: Cells): void;
  /** What of the values was left out of the drawing, in words. */
  omitted: string;
}

export interface Look {
  width: number;
  height: number;
  label: string;
  /** Lowest and highest value, the same for every slice. */
  domain: [number, number];
  scheme: Scheme;
  /** Of the bar of colours. */
  scale: ScaleName;
  /** Whether the values are milliseconds since 1970. */
  times: boolean;
  marked: Marked[];
  /** Outlines of land, and which side is the longitude. */
  coast?: { land: Land; longitude: "rows" | "columns" } | null;
  /** Where chunks begin, by cell. */
  edges?: { rows: number[]; columns: number[] } | null;
  /** Points of a picture, by cell. */
  dots?: { row: number; column: number; colour: string }[];
}

/** A chunk to point out: its places along rows and columns. */
export interface Marked {
  rows: [number, number];
  columns: [number, number];
  as: "chosen" | "failed";
}

export const MARGINS = { marginLeft: 56, marginRight: 14, marginTop: 22, marginBottom: 38 };

/** How a line is drawn that nobody chose colours for. */
export const PLAIN_LINE: Pick<Look, "label" | "scheme" | "scale" | "marked"> = {
  label: "",
  scheme: "viridis",
  scale: "linear",
  marked: [],
};

/** Few values are seen one by one. */
const DOTTED = 60;

export function line(values: Float64Array, axis: Axis, look: Look): Figure {
  const drawn = extremes(values);
  const element = lines([{ values, name: "", colour: "var(--acc)" }], axis, look, extremes);
  const invert = scaleOf(element, "x");
  return {
    element,
    locate: (x) => {
      const index = indexAt(invert(x), axis);
      return index === null ? null : [index];
    },
    omitted:
      drawn.length < values.length
        ? `drawn by the minimum and maximum of every ${Math.round((2 * values.length) / drawn.length)} values`
        : "",
  };
}

/** The axis of values; where their span is no number, of halves. */
function upright({ domain: [low, high], times }: Look) {
  const part = Number.isFinite(high - low) ? 1 : 2;
  const ticks = times ? timeTicks(high - low) : part === 1 ? {} : { tickFormat: (at: number) => short(at * part) };
  return {
    part,
    y: { label: null, domain: [low / part, high / part], nice: true, grid: true, ...ticks, ...(times ? UTC : {}) },
  };
}

const DAY = 86_400_000;

/** Times of an upright axis on one line each: those on two stand in each other's way where they are close. */
function timeTicks(span: number) {
  const [from, to] = span > 366 * DAY ? [0, 7] : span > 3 * DAY ? [5, 10] : [11, 19];
  const format = (text: string) => text.slice(from, to) || text.slice(5, 10); // at midnight there is a date alone
  return { tickFormat: (at: Date) => format(moment(Number(at))) };
}

/** Triangles at the edge of a plot where a line has infinite values. */
function infinityMarks(values: Float64Array, place: (index: number) => number): Plot.Markish[] {
  const found = infinities(values);
  const edge = (sign: "inf" | "-inf", index: number) => values[index] === (sign === "inf" ? Infinity : -Infinity);
  return (["inf", "-inf"] as const).map((sign) => {
    const own = found.filter((index) => edge(sign, index));
    return own.length === 0
      ? null
      : Plot.dot(own, {
          x: place,
          frameAnchor: sign === "inf" ? "top" : "bottom",
          symbol: "triangle",
          rotate: sign === "inf" ? 0 : 180,
          r: 4,
          fill: INFINITE[sign],
        });
  });
}

/** A picture of cells: axes and marks by Plot, the cells on a canvas below them. */
export function heatmap(cells: Cells, axes: [Axis, Axis], look: Look, window: Window): Figure {
  const [rows, columns] = axes;
  const [left, right] = window[1].map((cell) => edge(columns, cell)) as [number, number];
  const [first, last] = window[0].map((cell) => edge(rows, cell)) as [number, number];
  const upward = rows.at !== null && last > first;
  const axesOf = Plot.plot({
    ...MARGINS,
    width: look.width,
    height: look.height,
    x: {
      label: escaped(titleOf(columns)),
      labelArrow: "none",
      domain: [left, right],
      ...kindOf(columns, [left, right], look.width / 70),
    },
    y: {
      label: escaped(titleOf(rows)),
      labelArrow: "none",
      domain: upward ? [first, last] : [last, first],
      ...kindOf(rows, [first, last], look.height / 30),
      ...(rows.times ? timeTicks(Math.abs(last - first)) : {}),
    },
    clip: true,
    marks: [
      hatching,
      look.coast ? coastMark(look.coast, [left, right], [first, last]) : null,
      ...edgeMarks(look, rows, columns),
      ...look.marked.map((chunk) => boxOf(chunk, rows, columns)),
      dotsOf(look, rows, columns),
      Plot.frame({ stroke: "var(--line)" }),
    ],
  }) as SVGSVGElement;
  const [invertX, invertY] = [scaleOf(axesOf, "x"), scaleOf(axesOf, "y")];
  const element = document.createElement("div");
  element.className = "cells";
  const canvas = canvasOf(look);
  const repaint = (next: Cells) => paint(canvas, next, [rows.size, columns.size], window, upward);
  repaint(cells);
  element.append(canvas, axesOf);
  const frame = {
    width: look.width - MARGINS.marginLeft - MARGINS.marginRight,
    height: look.height - MARGINS.marginTop - MARGINS.marginBottom,
  };
  return {
    element,
    locate: (x, y) => {
      const row = indexAt(invertY(y), rows);
      const column = indexAt(invertX(x), columns);
      return row === null || column === null ? null : [row, column];
    },
    share: (x, y) => {
      const down = (y - MARGINS.marginTop) / frame.height;
      return [upward ? 1 - down : down, (x - MARGINS.marginLeft) / frame.width];
    },
    repaint,
    omitted: "",
  };
}

/** Lines between chunks. */
function edgeMarks({ edges }: Look, rows: Axis, columns: Axis): Plot.Markish[] {
  if (!edges) return [];
  const look = { stroke: "var(--bg)", strokeWidth: 1 };
  return [
    Plot.ruleY(
      edges.rows.map((cell) => edge(rows, cell)),
      look,
    ),
    Plot.ruleX(
      edges.columns.map((cell) => edge(columns, cell)),
      look,
    ),
  ];
}

/** Cells as pixels: one for each, or more. */
export type Cells = HTMLCanvasElement;

/** Pixels as they are drawn between axes. */
export function cellsOf(image: ImageData): Cells {
  const canvas = document.createElement("canvas");
  canvas.width = image.width;
  canvas.height = image.height;
  canvas.getContext("2d")!.putImageData(image, 0, 0);
  return canvas;
}

/** Lines over one axis, each in a colour of its own. */
export function lines(
  of: { values: Float64Array; name: string; colour?: string }[],
  axis: Axis,
  look: Look,
  choose = (values: Float64Array) => extremes(values, 500),
): SVGSVGElement {
  const place = (index: number) => axis.at?.[index] ?? axis.first + index * axis.step;
  const { part, y } = upright(look);
  // A line has a gap where a value is infinite.
  const height = (value: number) => (Number.isFinite(value) ? value / part : NaN);
  const points = of.flatMap(({ values, name }) =>
    choose(values).map((index) => ({ x: place(index), y: height(values[index]!), name })),
  );
  const isDotted = of.length === 1 && of[0]!.values.length <= DOTTED;
  const element = Plot.plot({
    ...MARGINS,
    width: look.width,
    height: look.height,
    x: {
      label: escaped(titleOf(axis)),
      labelArrow: "none",
      ...kindOf(axis, [place(0), place(axis.size - 1)], look.width / 70),
    },
    y,
    color: {
      domain: of.map(({ name }) => name),
      range: lineColours(of.length).map((colour, i) => of[i]!.colour ?? colour),
    },
    marks: [
      Plot.line(points, { x: "x", y: "y", z: "name", stroke: "name", strokeWidth: 1.5 }),
      isDotted ? Plot.dot(points, { x: "x", y: "y", r: 2, fill: "name" }) : null,
      ...of.flatMap(({ values }) => infinityMarks(values, place)),
    ],
  }) as SVGSVGElement;
  element.setAttribute("aria-hidden", "true");
  return element;
}

/** The number of lines with distinguishable colours; more are coloured along a map. */
const FEW = 8;

/** The colour of each of some lines. */
export function lineColours(count: number): string[] {
  if (count <= FEW) return FLAG_COLOURS.slice(0, count);
  const scale = Plot.scale({ color: { type: "linear", scheme: "viridis", domain: [0, count - 1] } });
  return Array.from({ length: count }, (_, i) => String(scale!.apply(i)));
}

/** Where the cells are painted: as large as the frame. */
function canvasOf(look: Look): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  const ratio = globalThis.devicePixelRatio || 1;
  const [across, down] = [
    look.width - MARGINS.marginLeft - MARGINS.marginRight,
    look.height - MARGINS.marginTop - MARGINS.marginBottom,
  ];
  canvas.width = Math.max(1, Math.round(across * ratio));
  canvas.height = Math.max(1, Math.round(down * ratio));
  Object.assign(canvas.style, {
    left: `${MARGINS.marginLeft}px`,
    top: `${MARGINS.marginTop}px`,
    width: `${across}px`,
    height: `${down}px`,
  });
  return canvas;
}

/** Paints the part of the cells that the window shows. */
function paint(
  canvas: HTMLCanvasElement,
  cells: Cells,
  [height, width]: number[],
  [[top, bottom], [left, right]]: Window,
  upward: boolean,
): void {
  const context = canvas.getContext("2d")!;
  const [scaleX, scaleY] = [canvas.width / (right - left), canvas.height / (bottom - top)];
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  // Smaller than it is, a picture is smoothed, so that no cell is left out; larger, each cell is seen.
  context.imageSmoothingEnabled = scaleX < 1 || scaleY < 1;
  if (upward) context.setTransform(1, 0, 0, -1, 0, canvas.height);
  context.drawImage(cells, -left * scaleX, -top * scaleY, width! * scaleX, height! * scaleY);
}

const UTC = { type: "utc" as const };

/** Times are dates, and indices have no fractions. */
function kindOf({ times, at }: Axis, [from, to]: [number, number], most: number) {
  if (times || at !== null) return times ? UTC : {};
  return { ticks: wholeTicks(Math.min(from, to), Math.max(from, to) + 1e-9, most), tickFormat: count };
}

/** Whole numbers from `start` up to and without `stop`, `most` at the most, of even steps. */
export function wholeTicks(start: number, stop: number, most: number): number[] {
  const steps = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8].flatMap((power) => [power, 2 * power, 5 * power]);
  const every = steps.find((each) => (stop - start) / each <= most) ?? stop - start;
  const ticks = [];
  for (let at = Math.ceil(start / every) * every + 0; at < stop; at += every) ticks.push(at); // -0 + 0 is 0
  return ticks;
}

function boxOf({ rows: [top, bottom], columns: [left, right], as }: Marked, rows: Axis, columns: Axis) {
  const [x1, x2, y1, y2] = [edge(columns, left), edge(columns, right), edge(rows, top), edge(rows, bottom)];
  const look = {
    chosen: { stroke: "var(--ink)", strokeWidth: 2 },
    failed: { stroke: "var(--bad)", fill: "url(#failed)" },
  };
  return Plot.rect([0], { x1: [x1], x2: [x2], y1: [y1], y2: [y2], ...look[as] });
}

function dotsOf({ dots = [] }: Look, rows: Axis, columns: Axis) {
  const middle = (axis: Axis, cell: number) => edge(axis, cell + 0.5);
  return Plot.dot(dots, {
    x: ({ column }) => middle(columns, column),
    y: ({ row }) => middle(rows, row),
    fill: ({ colour }) => colour,
    stroke: "var(--bg)",
    strokeWidth: 1.5,
    r: 4.5,
  });
}

/** Where the cell of an index begins. */
function edge(axis: Axis, index: number): number {
  const [begin, end] = edges(axis);
  return begin + (index / axis.size) * (end - begin);
}

/** The pattern of a chunk that failed: crosses. */
function hatching(): SVGElement {
  const holder = document.createElementNS(SVG, "defs");
  holder.innerHTML = `<pattern id="failed" width="12" height="12" patternUnits="userSpaceOnUse">
    <path class="failed-stroke" d="M3 3l6 6M9 3l-6 6" stroke-width="1.5"/></pattern>`;
  return holder;
}

/** The coasts, cut at the frame. */
function coastMark(
  { land, longitude }: NonNullable<Look["coast"]>,
  across: [number, number],
  down: [number, number],
): Plot.RenderFunction {
  return (_index, scales, _values, { width, height, marginLeft, marginTop, marginRight, marginBottom }) => {
    const span = (longitude === "columns" ? across : down).toSorted((a, b) => a - b) as [number, number];
    const [x, y] = [scales.x!, scales.y!] as ((at: number) => number)[];
    const place = (degrees: number, latitude: number): [number, number] =>
      longitude === "columns" ? [x!(degrees), y!(latitude)] : [x!(latitude), y!(degrees)];
    const [wide, high] = [width - marginLeft - marginRight, height - marginTop - marginBottom];
    const holder = document.createElementNS(SVG, "svg");
    const box = { x: marginLeft, y: marginTop, width: wide, height: high };
    for (const [name, value] of Object.entries(box)) holder.setAttribute(name, String(value));
    holder.setAttribute("viewBox", `${marginLeft} ${marginTop} ${wide} ${high}`);
    holder.setAttribute("class", "coast");
    holder.setAttribute("style", "overflow: hidden");
    const d = coastPath(land, span, place);
    // Seen on light and on dark colours alike.
    for (const [stroke, thick] of [
      ["rgb(255 255 255 / 0.55)", "2"],
      ["rgb(0 0 0 / 0.85)", "0.8"],
    ]) {
      const path = document.createElementNS(SVG, "path");
      for (const [name, value] of Object.entries({ d, fill: "none", stroke: stroke!, "stroke-width": thick! }))
        path.setAttribute(name, value);
      holder.append(path);
    }
    return holder;
  };
}

const SVG = "http://www.w3.org/2000/svg";

/** The scale of a bar of colours, its ends as they are drawn, and how its ticks are written. */
export function barScale({ domain, times, scale }: Pick<Look, "domain" | "times" | "scale">) {
  const type = scale === "log" && domain[0] <= 0 ? "symlog" : scale;
  // The span of the largest numbers is none: Plot draws the bar of their halves.
  const part = Number.isFinite(domain[1] - domain[0]) ? 1 : 2;
  const drawn = domain.map((at) => at / part) as [number, number];
  // Long numbers would be printed over each other.
  const isLong = domain.some((at) => at !== 0 && (Math.abs(at) >= 1e4 || Math.abs(at) < 1e-2));
  const format = times
    ? (at: number) => moment(Number(at)).slice(0, 10)
    : isLong || part === 2
      ? (at: number) => short(at * part)
      : undefined;
  return {
    scale: { type, domain: drawn, ...(type === "symlog" ? { constant: linearPart(drawn) } : {}) },
    isLong: times || isLong,
    ticks: format ? { tickFormat: format } : {},
  };
}

export function legend(label: string, width: number, look: Look): Element {
  const { scale, isLong, ticks } = barScale(look);
  const color = { ...scale, scheme: look.scheme, label: escaped(label) };
  return Plot.legend({ color, width, height: 44, ticks: isLong ? 3 : 5, ...ticks }) as Element;
}

/** 123456789 → "123M", 0.00012 → "1.2e-4". */
export function short(at: number): string {
  if (at === 0) return "0";
  if (Math.abs(at) < 1e-2 || Math.abs(at) >= 1e15) return at.toExponential(1).replace(".0e", "e");
  return Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 }).format(at);
}

/** How often the values occur. */
export function histogram(values: Float64Array, width: number, times: boolean): Element {
  const known = values.filter((value) => Number.isFinite(value));
  const element = Plot.plot({
    ...MARGINS,
    width,
    height: 180,
    x: { label: null, ...(times ? UTC : {}) },
    y: { label: null, grid: true },
    marks: [
      Plot.rectY(known, {
        ...Plot.binX({ y: "count" }, { x: (value: number) => (times ? new Date(value) : value) }),
        fill: "var(--acc)",
      }),
      Plot.ruleY([0], { stroke: "var(--line)" }),
    ],
  });
  element.setAttribute("aria-hidden", "true");
  return element;
}

type Plotted = SVGSVGElement & Plot.Plot;

/** From a point of the page, in pixels of the figure, to a value on one scale. */
function scaleOf(element: SVGSVGElement, name: "x" | "y"): (pixel: number) => number {
  const scale = (element as Plotted).scale(name);
  return (pixel) => Number(scale?.invert?.(pixel) ?? NaN);
}

/** Where the cells of an axis begin and end: half a step outside the first and the last value. */
function edges({ at, size, first, step }: Axis): [number, number] {
  if (at === null) return [first - 0.5, first + size * step - 0.5];
  const half = (at[size - 1]! - at[0]!) / (size - 1) / 2;
  return [at[0]! - half, at[size - 1]! + half];
}

function indexAt(place: number, axis: Axis): number | null {
  const [begin, end] = edges(axis);
  const index = Math.floor(((place - begin) / (end - begin)) * axis.size);
  return index >= 0 && index < axis.size ? index : null;
}

/** Which of the two drawn axes is the longitude; null where the picture is not one of latitude and longitude. */
export function longitudeOf(reading: ReadingModel, [rows, columns]: [Axis, Axis]): "rows" | "columns" | null {
  if (rows.at === null || columns.at === null) return null;
  const along = [rows, columns].map(({ dimension }) => reading.coordinates[dimension]?.along).join();
  if (along === "latitude,longitude") return "columns";
  return along === "longitude,latitude" ? "rows" : null;
}

type Ring = [number, number][];

/** The rings of some land. */
function ringsOf(land: Land): Ring[] {
  const features = land.type === "FeatureCollection" ? land.features : [land];
  return features.flatMap(({ geometry }) => {
    if (geometry.type === "Polygon") return geometry.coordinates as Ring[];
    return geometry.type === "MultiPolygon" ? (geometry.coordinates as Ring[][]).flat() : [];
  });
}

/** A whole turn, degrees: some sets count longitudes from 0 to 360. */
const TURN = 360;

/** The path of the coasts in pixels; `x` and `y` place a longitude and a latitude. */
export function coastPath(
  land: Land,
  [west, east]: [number, number],
  place: (longitude: number, latitude: number) => [number, number],
): string {
  const [from, to] = [Math.floor((west - 180) / TURN), Math.ceil((east + 180) / TURN)];
  const turns = Array.from({ length: to - from + 1 }, (_, i) => (from + i) * TURN);
  const lines: string[] = [];
  for (const ring of ringsOf(land)) {
    for (const turn of turns) {
      const inside = ring.some(([longitude]) => longitude + turn >= west && longitude + turn <= east);
      if (!inside) continue;
      let pen = false;
      let path = "";
      for (let i = 0; i < ring.length; i++) {
        const [longitude, latitude] = ring[i]!;
        // The edge of the map is no coast: Antarctica is closed along it.
        const isEdge = Math.abs(longitude) > 179.99 || latitude < -89.9;
        if (isEdge) {
          pen = false;
          continue;
        }
        const [x, y] = place(longitude + turn, latitude);
        path += `${pen ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`;
        pen = true;
      }
      lines.push(path);
    }
  }
  return lines.join("");
}
