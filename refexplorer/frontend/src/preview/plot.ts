/** The line and the heatmap, drawn by Observable Plot; hovering is by position in its scales. */

import * as Plot from "@observablehq/plot";

import { escaped } from "../shared/escaping.ts";
import { moment } from "../shared/format.ts";
import { extremes, thinned, type Axis } from "./slices.ts";

export interface Figure {
  element: SVGElement | HTMLElement;
  /** The index of the value at a point of the page, per drawn axis; null outside. */
  locate(x: number, y: number): number[] | null;
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
  /** Whether the values are milliseconds since 1970. */
  times: boolean;
  marked: Marked[];
}

/** A chunk to point out: its places along rows and columns. */
export interface Marked {
  rows: [number, number];
  columns: [number, number];
  as: "chosen" | "failed";
}

/** Colour maps; the first four are even in lightness and the fifth has a middle. */
export const SCHEMES = {
  viridis: "viridis",
  cividis: "cividis",
  magma: "magma",
  greys: "greys",
  rdbu: "red to blue",
  turbo: "turbo",
} as const;
export type Scheme = keyof typeof SCHEMES;

const MARGINS = { marginLeft: 56, marginRight: 14, marginTop: 10, marginBottom: 38 };

export function line(values: Float64Array, axis: Axis, look: Look): Figure {
  const drawn = extremes(values);
  const place = (index: number) => axis.at?.[index] ?? index;
  const element = Plot.plot({
    ...MARGINS,
    width: look.width,
    height: look.height,
    x: { label: escaped(axis.name), labelArrow: "none", ...kindOf(axis.times) },
    y: { label: null, domain: look.domain, nice: true, grid: true, ...kindOf(look.times) },
    marks: [
      Plot.line(drawn, { x: place, y: (index: number) => values[index], stroke: "var(--acc)", strokeWidth: 1.5 }),
      values.length <= 60
        ? Plot.dot(drawn, { x: place, y: (index: number) => values[index], r: 2, fill: "var(--acc)" })
        : null,
    ],
  }) as SVGSVGElement;
  const invert = element && scaleOf(element, "x");
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

export function heatmap(values: Float64Array, axes: [Axis, Axis], look: Look): Figure {
  const [rows, columns] = axes;
  const { every, ...cells } = thinned(values, columns.size, rows.size);
  const [left, right] = edges(columns);
  const [first, last] = edges(rows);
  const upward = rows.at !== null && last > first;
  const element = Plot.plot({
    ...MARGINS,
    width: look.width,
    height: look.height,
    x: { label: escaped(columns.name), labelArrow: "none", domain: [left, right], ...kindOf(columns.times) },
    y: {
      label: escaped(rows.name),
      labelArrow: "none",
      domain: upward ? [first, last] : [last, first],
      ...kindOf(rows.times),
    },
    color: { scheme: look.scheme, type: "linear", domain: look.domain, clamp: true },
    marks: [
      hatching,
      Plot.frame({ fill: "url(#missing)", stroke: null }),
      Plot.raster(cells.values, {
        width: cells.width,
        height: cells.height,
        x1: left,
        x2: right,
        y1: first,
        y2: last,
        imageRendering: "pixelated",
      }),
      ...look.marked.map((chunk) => boxOf(chunk, rows, columns)),
      Plot.frame({ stroke: "var(--line)" }),
    ],
  }) as SVGSVGElement;
  const [invertX, invertY] = [scaleOf(element, "x"), scaleOf(element, "y")];
  return {
    element,
    locate: (x, y) => {
      const row = indexAt(invertY(y), rows);
      const column = indexAt(invertX(x), columns);
      return row === null || column === null ? null : [row, column];
    },
    omitted: every > 1 ? `one of every ${every} values is drawn` : "",
  };
}

function kindOf(times: boolean) {
  return times ? { type: "utc" as const } : {};
}

function boxOf({ rows: [top, bottom], columns: [left, right], as }: Marked, rows: Axis, columns: Axis) {
  const [x1, x2, y1, y2] = [edge(columns, left), edge(columns, right), edge(rows, top), edge(rows, bottom)];
  const look = { chosen: { stroke: "var(--ink)", strokeWidth: 2 }, failed: { stroke: "var(--bad)", fill: "url(#failed)" } };
  return Plot.rect([0], { x1: [x1], x2: [x2], y1: [y1], y2: [y2], ...look[as] });
}

/** Where the cell of an index begins. */
function edge(axis: Axis, index: number): number {
  const [begin, end] = edges(axis);
  return begin + (index / axis.size) * (end - begin);
}

/** The patterns: lines behind the picture, where there is no value; crosses where a chunk failed. */
function hatching(): SVGElement {
  const holder = document.createElementNS("http://www.w3.org/2000/svg", "defs");
  holder.innerHTML = `<pattern id="missing" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
    <rect class="missing-ground" width="6" height="6"/><line class="missing-stroke" y2="6" stroke-width="1.5"/></pattern>
    <pattern id="failed" width="12" height="12" patternUnits="userSpaceOnUse">
    <path class="failed-stroke" d="M3 3l6 6M9 3l-6 6" stroke-width="1.5"/></pattern>`;
  return holder;
}

export function legend(label: string, width: number, { domain, scheme, times }: Look): Element {
  const color = { type: "linear" as const, scheme, domain, label: escaped(label) };
  const tickFormat = times ? { tickFormat: (at: number) => moment(at).slice(0, 10) } : {};
  // Long numbers would be printed over each other.
  const isLong = domain.some((at) => at !== 0 && (Math.abs(at) >= 1e4 || Math.abs(at) < 1e-2));
  return Plot.legend({ color, width, height: 44, ticks: times || isLong ? 3 : 5, ...(isLong && !times ? { tickFormat: short } : tickFormat) }) as Element;
}

/** 123456789 → "123M", 0.00012 → "1.2e-4". */
function short(at: number): string {
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
    x: { label: null, ...kindOf(times) },
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
function edges({ at, size }: Axis): [number, number] {
  if (at === null) return [-0.5, size - 0.5];
  const half = (at[size - 1]! - at[0]!) / (size - 1) / 2;
  return [at[0]! - half, at[size - 1]! + half];
}

function indexAt(place: number, axis: Axis): number | null {
  const [begin, end] = edges(axis);
  const index = Math.floor(((place - begin) / (end - begin)) * axis.size);
  return index >= 0 && index < axis.size ? index : null;
}
