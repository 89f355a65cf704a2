/** The picture as a file, and cells as CSV. */

import { exact } from "../shared/format.ts";
import type { ReadingModel } from "../shared/wire.ts";
import { cellWords, placeOf, type Axis } from "./slices.ts";

/** Cells as a table with the places along each side; the first line says what they are. */
export function csvOf(reading: ReadingModel, axes: Axis[], cells: string[]): string {
  const columns = axes.at(-1)!;
  const rows = axes.length === 2 ? axes[0]! : null;
  const quoted = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const place = (axis: Axis, index: number) =>
    quoted(
      axis.texts?.[index] ??
        (axis.at === null || axis.times ? placeOf(axis, index).replaceAll(",", "") : exact(axis.at[index]!, "float64")),
    );
  const words = cellWords(reading);
  const what = [reading.name, reading.units, words && `each cell: ${words}`].filter(Boolean).join("; ");
  const head = [
    quoted(rows ? `${rows.name} \\ ${columns.name}` : columns.name),
    ...Array.from({ length: columns.size }, (_, i) => place(columns, i)),
  ];
  const lines = Array.from({ length: rows?.size ?? 1 }, (_, row) => [
    rows ? place(rows, row) : quoted(reading.name),
    ...cells.slice(row * columns.size, (row + 1) * columns.size),
  ]);
  return `${[[quoted(`# ${what}`)], head, ...lines].map((line) => line.join(",")).join("\n")}\n`;
}

/** The frame of the figure in a file. */
export interface Caption {
  title: string;
  /** Where along the other dimensions the picture is, and what it shows. */
  subtitle: string;
  /** The bar of colours; null where the picture has none. */
  bar: Element | null;
}

const HEAD = 44;

/** The picture as it is seen, with its title and its bar of colours, as an image. */
export async function pngOf(figure: HTMLElement, caption: Caption): Promise<Blob> {
  const { svg, width, height } = wholeOf(figure, caption);
  const ratio = Math.max(2, globalThis.devicePixelRatio || 1);
  const whole = document.createElement("canvas");
  [whole.width, whole.height] = [width * ratio, height * ratio];
  const image = new Image(width, height);
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(svg))}`;
  await image.decode();
  whole.getContext("2d")!.drawImage(image, 0, 0, whole.width, whole.height);
  return new Promise((resolve, reject) =>
    whole.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The browser made no image."))), "image/png"),
  );
}

/** The same as one drawing: the cells in it are a picture of their own. */
export function svgOf(figure: HTMLElement, caption: Caption): Blob {
  const { svg } = wholeOf(figure, caption);
  return new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" });
}

/** Title, figure and bar below each other, with the colours that the page gives them. */
function wholeOf(
  figure: HTMLElement,
  { title, subtitle, bar }: Caption,
): { svg: SVGElement; width: number; height: number } {
  const axes = figure.querySelector("svg")!;
  const canvas = figure.querySelector("canvas");
  const [width, tall] = [axes.clientWidth, axes.clientHeight];
  const below = bar?.clientHeight ?? 0;
  const height = HEAD + tall + (below > 0 ? below + 8 : 0);
  const svg = made("svg", { xmlns: SVG });
  const font = styleOf(figure, "--text") || "sans-serif";
  set(svg, { width, height, viewBox: `0 0 ${width} ${height}` });
  const ink = styleOf(figure, "--ink") || "#000";
  svg.append(
    made("rect", { width, height, fill: styleOf(figure, "--bg") || "#fff" }),
    text(title, { x: 8, y: 18, fill: ink, "font-family": font, "font-size": 14, "font-weight": 600 }),
    text(subtitle, { x: 8, y: 35, fill: styleOf(figure, "--ink2") || ink, "font-family": font, "font-size": 11 }),
  );
  if (canvas) {
    const { offsetLeft: x, offsetTop: y, clientWidth, clientHeight } = canvas;
    svg.append(imageOf(canvas, { x, y: y + HEAD, width: clientWidth, height: clientHeight }));
  }
  svg.append(set(standingAlone(axes), { x: 0, y: HEAD, width, height: tall }));
  if (bar) svg.append(...barOf(bar, HEAD + tall + 4));
  return { svg, width, height };
}

/** The parts of the bar of colours: histogram, stripe and axis, where they stand in it. */
function barOf(bar: Element, top: number): SVGElement[] {
  const frame = bar.getBoundingClientRect();
  return [...bar.querySelectorAll("svg, canvas")].map((part) => {
    const box = part.getBoundingClientRect();
    const { width, height } = box;
    const place = { x: box.left - frame.left + 8, y: box.top - frame.top + top, width, height };
    return part instanceof HTMLCanvasElement ? imageOf(part, place) : set(standingAlone(part as SVGSVGElement), place);
  });
}

type Attributes = Record<string, string | number>;

function set<E extends SVGElement>(element: E, attributes: Attributes): E {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

function made(name: string, attributes: Attributes): SVGElement {
  return set(document.createElementNS(SVG, name), attributes);
}

function imageOf(canvas: HTMLCanvasElement, place: Attributes): SVGElement {
  return made("image", { ...place, href: canvas.toDataURL("image/png"), preserveAspectRatio: "none" });
}

function text(words: string, attributes: Attributes): SVGElement {
  const element = made("text", attributes);
  element.textContent = words;
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

function styleOf(element: HTMLElement, name: string): string {
  return getComputedStyle(element).getPropertyValue(name).trim();
}

/** A copy with the colours that the page gives it. */
function standingAlone(svg: SVGSVGElement): SVGSVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const names = ["--ink", "--ink2", "--line", "--bad", "--acc", "--text"];
  const style = getComputedStyle(svg);
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute(
    "style",
    `${names.map((name) => `${name}: ${style.getPropertyValue(name)}`).join(";")}; color: ${style.color}; fill: ${style.fill}; font: ${style.font}; background: none`,
  );
  return copy;
}
