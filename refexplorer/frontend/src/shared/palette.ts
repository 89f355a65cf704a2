/** Colours of targets, arrays and kinds, each with a pattern, so nothing is distinguished by colour alone. */

import type { Kind } from "./wire.ts";

/** The series of Okabe and Ito, which colour-blind people can distinguish. */
const SERIES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"];
const TILE = 6;

export interface Ink {
  /** A colour, or the name of a custom property such as `--range`. */
  colour: string;
  /** Which pattern lies over the colour; 0 is none. */
  pattern: number;
  /** The pattern where the system keeps to few colours, if it is another one there. */
  few?: number;
}

export interface Inks {
  paper: string;
  hatch: string;
  ink: string;
  accent: string;
  bad: string;
  /** The system keeps to few colours. */
  few: boolean;
  of(name: string): string;
}

/** The colours of the theme around an element, which a canvas cannot look up by itself. */
export function inksOf(element: Element): Inks {
  const of = (name: string) => resolved(element, name);
  const few = matchMedia("(forced-colors: active)").matches;
  return { paper: of("--bg"), hatch: of("--ink2"), ink: of("--ink"), accent: of("--acc"), bad: of("--bad"), few, of };
}

let canvas: CanvasRenderingContext2D | null = null;

/** Red, green, blue and opacity of a colour: a canvas has them as bytes, whatever way it is written. */
export function bytesOf(colour: string): [red: number, green: number, blue: number, alpha: number] {
  canvas ??= document.createElement("canvas").getContext("2d", { willReadFrequently: true })!;
  canvas.fillStyle = colour;
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data] as [number, number, number, number];
}

/** A custom property as a colour: it may be computed from others, or be one of the system's. */
function resolved(element: Element, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  probe.style.setProperty("forced-color-adjust", "none");
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/**
 * What the n-th of a series is drawn with: seven colours, then the same with patterns; neighbours
 * differ by pattern, too, where the system keeps to few colours.
 */
export function series(number: number): Ink {
  if (number < 0) return { colour: "#8a919c", pattern: 0 };
  const turn = Math.floor(number / SERIES.length);
  return { colour: SERIES[number % SERIES.length]!, pattern: turn % STROKES.length, few: number % STROKES.length };
}

/** What a kind is drawn with; small cells have no room for its letter. */
export function kindInk(kind: Kind): Ink {
  return { colour: `--${kind}`, pattern: { range: 0, url: 1, inline: 2, base64: 3 }[kind] };
}

const STROKES: ((context: CanvasRenderingContext2D) => void)[] = [
  () => {},
  (context) =>
    path(context, [
      [-1, TILE + 1, TILE + 1, -1],
      [-1, 1, 1, -1],
      [TILE - 1, TILE + 1, TILE + 1, TILE - 1],
    ]),
  (context) => context.fillRect(1, 1, 2.4, 2.4),
  (context) =>
    path(context, [
      [0, 3, TILE, 3],
      [3, 0, 3, TILE],
    ]),
];

/** A fill for a canvas. */
export function fill(context: CanvasRenderingContext2D, ink: Ink, inks: Inks): string | CanvasPattern {
  const { colour } = ink;
  const pattern = (inks.few ? ink.few : null) ?? ink.pattern;
  const ground = colour.startsWith("--") ? inks.of(colour) : colour;
  return pattern === 0 ? ground : tile(context, ground, inks.paper, STROKES[pattern]!);
}

/** The colour of nothing: absent chunks, and bytes that no reference covers. */
export function hatching(context: CanvasRenderingContext2D, { paper, hatch }: Inks): CanvasPattern {
  return tile(context, paper, hatch, STROKES[1]!);
}

/** The colour of a chunk that failed, in every colouring. */
export function cross(context: CanvasRenderingContext2D, { bad, paper }: Inks, [left, top, width, height]: Box): void {
  context.fillStyle = paper;
  context.fillRect(left, top, width, height);
  context.strokeStyle = bad;
  context.lineWidth = Math.min(2, width / 4);
  context.strokeRect(left + 0.5, top + 0.5, width - 1, height - 1);
  context.beginPath();
  for (const [from, to] of [
    [0.25, 0.75],
    [0.75, 0.25],
  ] as const) {
    context.moveTo(left + width * from, top + height * 0.25);
    context.lineTo(left + width * to, top + height * 0.75);
  }
  context.stroke();
}

/** Left, top, width and height, px. */
export type Box = [number, number, number, number];

/** Draws around something, so that it is seen on any colour. */
export function outline(
  context: CanvasRenderingContext2D,
  inks: Inks,
  [left, top, width, height]: Box,
  isCursor: boolean,
): void {
  const line = isCursor ? 2 : 2.5;
  for (const [thick, colour] of [
    [line + 2, inks.paper],
    [line, isCursor ? inks.accent : inks.ink],
  ] as const) {
    context.lineWidth = thick;
    context.strokeStyle = colour;
    context.strokeRect(left - 1, top - 1, Math.max(width, 5) + 1, Math.max(height, 5) + 1);
  }
}

/** From this size on, px, a cell has a gap to the next, and a letter. */
export const [GAPPED, LETTERED] = [8, 13];

/** A letter in the middle of a cell. */
export function letter(
  context: CanvasRenderingContext2D,
  [left, top, width, height]: Box,
  text: string,
  [ground, ink]: [string, string],
): void {
  const [x, y] = [left + width / 2, top + height / 2];
  context.fillStyle = ground;
  context.fillRect(x - 6, y - 6, 12, 12);
  context.fillStyle = ink;
  context.font = "700 10px ui-monospace, Menlo, Consolas, monospace";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(text, x, y + 0.5);
}

function tile(
  context: CanvasRenderingContext2D,
  ground: string,
  over: string,
  draw: (context: CanvasRenderingContext2D) => void,
): CanvasPattern {
  const scale = devicePixelRatio;
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = Math.round(TILE * scale);
  const tileContext = canvas.getContext("2d")!;
  tileContext.scale(canvas.width / TILE, canvas.width / TILE);
  tileContext.fillStyle = ground;
  tileContext.fillRect(0, 0, TILE, TILE);
  tileContext.fillStyle = tileContext.strokeStyle = over;
  tileContext.lineWidth = 0.9;
  draw(tileContext);
  const pattern = context.createPattern(canvas, "repeat")!;
  pattern.setTransform(new DOMMatrix().scale(TILE / canvas.width));
  return pattern;
}

function path(context: CanvasRenderingContext2D, lines: number[][]): void {
  context.beginPath();
  for (const [x1, y1, x2, y2] of lines) {
    context.moveTo(x1!, y1!);
    context.lineTo(x2!, y2!);
  }
  context.stroke();
}
