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

/** The figure as it is seen: the cells, and above them the axes. */
export async function pngOf(figure: HTMLElement): Promise<Blob> {
  const svg = figure.querySelector("svg")!;
  const canvas = figure.querySelector("canvas");
  const ratio = globalThis.devicePixelRatio || 1;
  const whole = document.createElement("canvas");
  [whole.width, whole.height] = [svg.clientWidth * ratio, svg.clientHeight * ratio];
  const context = whole.getContext("2d")!;
  context.fillStyle = styleOf(figure, "--bg") || "#fff";
  context.fillRect(0, 0, whole.width, whole.height);
  if (canvas) context.drawImage(canvas, canvas.offsetLeft * ratio, canvas.offsetTop * ratio);
  context.drawImage(await imageOf(svg), 0, 0, whole.width, whole.height);
  return new Promise((resolve, reject) =>
    whole.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The browser made no image."))), "image/png"),
  );
}

/** The figure as it is seen, as one drawing: the cells in it are a picture of their own. */
export function svgOf(figure: HTMLElement): Blob {
  const svg = figure.querySelector("svg")!;
  const canvas = figure.querySelector("canvas");
  const copy = standingAlone(svg);
  copy.setAttribute("width", String(svg.clientWidth));
  copy.setAttribute("height", String(svg.clientHeight));
  const page = document.createElementNS(SVG, "rect");
  for (const [name, value] of Object.entries({
    width: "100%",
    height: "100%",
    fill: styleOf(figure, "--bg") || "#fff",
  }))
    page.setAttribute(name, value);
  const below: SVGElement[] = [page];
  if (canvas) {
    const cells = document.createElementNS(SVG, "image");
    const box = { x: canvas.offsetLeft, y: canvas.offsetTop, width: canvas.clientWidth, height: canvas.clientHeight };
    for (const [name, value] of Object.entries(box)) cells.setAttribute(name, String(value));
    cells.setAttribute("href", canvas.toDataURL("image/png"));
    cells.setAttribute("preserveAspectRatio", "none");
    below.push(cells);
  }
  copy.prepend(...below);
  return new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
}

const SVG = "http://www.w3.org/2000/svg";

function styleOf(element: HTMLElement, name: string): string {
  return getComputedStyle(element).getPropertyValue(name).trim();
}

/** The axes alone, with the colours that the page gives them. */
async function imageOf(svg: SVGSVGElement): Promise<HTMLImageElement> {
  const image = new Image(svg.clientWidth, svg.clientHeight);
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(standingAlone(svg)))}`;
  await image.decode();
  return image;
}

/** A copy with the colours that the page gives it. */
function standingAlone(svg: SVGSVGElement): SVGSVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const names = ["--ink", "--ink2", "--line", "--bad", "--acc", "--text"];
  const style = getComputedStyle(svg);
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute(
    "style",
    `${names.map((name) => `${name}: ${style.getPropertyValue(name)}`).join(";")}; color: ${style.color}; font: ${style.font}; background: none`,
  );
  return copy;
}

/** Has the browser save a file. */
export function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
