/** The line and the heatmap, drawn by Observable Plot; hovering is by position in its scales. */

import * as Plot from "@observablehq/plot";

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
}

const MARGINS = { marginLeft: 56, marginRight: 14, marginTop: 10, marginBottom: 38 };

export function line(values: Float64Array, axis: Axis, look: Look): Figure {
  const drawn = extremes(values);
  const place = (index: number) => axis.at?.[index] ?? index;
  const element = Plot.plot({
    ...MARGINS,
    width: look.width,
    height: look.height,
    x: { label: axis.name, labelArrow: "none" },
    y: { label: null, domain: look.domain, nice: true, grid: true },
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
        ? `drawn by the lowest and the highest of each ${Math.round((2 * values.length) / drawn.length)} values`
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
    x: { label: columns.name, labelArrow: "none", domain: [left, right] },
    y: { label: rows.name, labelArrow: "none", domain: upward ? [first, last] : [last, first] },
    color: { scheme: "viridis", type: "linear", domain: look.domain },
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
    omitted: every > 1 ? `every ${every}th value is drawn` : "",
  };
}

/** The pattern behind the picture: it shows where there is no value. */
function hatching(): SVGElement {
  const holder = document.createElementNS("http://www.w3.org/2000/svg", "defs");
  holder.innerHTML = `<pattern id="missing" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
    <rect class="missing-ground" width="6" height="6"/><line class="missing-stroke" y2="6" stroke-width="1.5"/></pattern>`;
  return holder;
}

export function legend(domain: [number, number], label: string, width: number): Element {
  const color = { type: "linear" as const, scheme: "viridis" as const, domain, label };
  return Plot.legend({ color, width, height: 44, ticks: 5 }) as Element;
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
