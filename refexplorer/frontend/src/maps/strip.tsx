/** A target as a strip of its bytes, from the whole file to single ranges. */

import type { PlotOptions } from "@observablehq/plot";
import * as Plot from "@observablehq/plot";
import { useMemo, useState } from "preact/hooks";

import { bytes, count } from "../shared/format.ts";
import { Board, type Frame } from "./board.tsx";
import { type Span, type Strip, zoomed } from "./maps.ts";
import { fill, hatching, outline, series } from "../shared/palette.ts";
import { said, intervalAt, intervalsOf, summary, type Interval } from "./intervals.ts";

const MARGINS = { marginLeft: 10, marginRight: 26, marginTop: 12, marginBottom: 34 };
const HEIGHT = 44;
/** How near the pointer must come to an interval that is thinner than this, px. */
const NEAR = 4;
const OVERLAP = 5;

interface Props {
  strip: Strip;
  name: string;
  /** The bytes of the selected key if it is in this target. */
  selected: Span | null;
  select(key: string): void;
  show(window: Span): void;
}

export function StripBoard({ strip, name, selected, select, show }: Props) {
  const intervals = useMemo(() => intervalsOf(strip), [strip]);
  const [cursor, setCursor] = useState<number | null>(null);
  const shown = cursor !== null && cursor < intervals.length ? cursor : null;
  const options = useMemo(() => (width: number) => frameOf(strip, width), [strip]);
  const paint = useMemo(
    () => (context: CanvasRenderingContext2D, frame: Frame) => {
      paintStrip(context, frame, strip, intervals);
      if (selected) mark(context, frame, strip, selected, false);
      if (shown !== null) mark(context, frame, strip, [intervals[shown]!.from, intervals[shown]!.to], true);
    },
    [strip, intervals, shown, selected?.join()],
  );
  const pick = (at: number | null) => {
    if (at === null) return;
    const { key, from, to } = intervals[at]!;
    if (key !== null) select(key);
    else show(zoomed([strip.start, strip.stop], 1 / 16, (from + to) / 2, strip.end));
  };
  const move = (by: number) => {
    const from = shown ?? (selected ? intervalAt(intervals, selected[0], 0) - by : by > 0 ? -1 : intervals.length);
    const to = from + by;
    if (to >= 0 && to < intervals.length) setCursor(to);
    else pan(strip, by, show);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const centre = shown === null ? (strip.start + strip.stop) / 2 : intervals[shown]!.from;
    const zoom = (by: number) => show(zoomed([strip.start, strip.stop], by, centre, strip.end));
    const actions: Record<string, () => void> = {
      ArrowLeft: () => move(-1),
      ArrowRight: () => move(1),
      Home: () => setCursor(0),
      End: () => setCursor(intervals.length - 1),
      Enter: () => pick(shown),
      " ": () => pick(shown),
      "+": () => zoom(0.5),
      "-": () => zoom(2),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  };
  const nearest = (at: number) => intervalAt(intervals, at, ((strip.stop - strip.start) * NEAR) / 600);
  const point = (at: [number, number] | null) => {
    const found = at === null ? -1 : nearest(at[0]);
    setCursor(found < 0 ? null : found);
  };
  const own = selected
    ? intervals.findIndex(({ from, to, key }) => key && from === selected[0] && to === selected[1])
    : -1;
  const hint =
    own >= 0
      ? `Selected: ${said(strip, intervals[own]!, own)}`
      : `Point at the bar, or move with the arrow keys; click or press Enter to ${strip.shown ? "select the range" : "zoom in"}.`;
  return (
    <Board
      label={`Bytes of ${name}: ${summary(strip)}. Arrow keys move, Enter selects, plus and minus zoom.`}
      options={options}
      paint={paint}
      point={point}
      pick={() => pick(shown)}
      onKeyDown={onKeyDown}
      readout={shown === null ? hint : said(strip, intervals[shown]!, shown)}
    />
  );
}

/** Moves the window by half of itself. */
function pan({ start, stop, end }: Strip, by: number, show: Props["show"]): void {
  const size = stop - start;
  const from = Math.max(0, Math.min(end - size, start + Math.round((by * size) / 2)));
  if (from !== start) show([from, from + size]);
}

function frameOf({ start, stop }: Strip, width: number): PlotOptions {
  return {
    ...MARGINS,
    width,
    height: HEIGHT + MARGINS.marginTop + MARGINS.marginBottom,
    x: {
      domain: [start, stop],
      label: null,
      ticks: Math.max(2, Math.floor(width / 110)),
      tickFormat: stop - start < 20_000 ? (at: number) => count(at) : (at: number) => bytes(at),
    },
    y: { domain: [0, 1], axis: null },
    marks: [Plot.frame({ stroke: "var(--line)" })],
  };
}

function paintStrip(context: CanvasRenderingContext2D, frame: Frame, strip: Strip, intervals: Interval[]): void {
  const { x, y, inks } = frame;
  const [top, bottom] = [y(1), y(0)];
  // Bins lie side by side on whole pixels, or seams would show between them.
  const snap = strip.shown === null ? Math.round : (pixel: number) => pixel;
  const clip = (at: number) => snap(x(Math.min(strip.stop, Math.max(strip.start, at))));
  context.fillStyle = hatching(context, inks);
  context.fillRect(x(strip.start), top, x(strip.stop) - x(strip.start), bottom - top);
  const fills = strip.arrays.map(({ number }) => fill(context, series(number), inks));
  for (const { from, to, array, share } of intervals) {
    if (array < 0 || share === 0) continue;
    const [left, right] = [clip(from), clip(to)];
    // A thin line of the ground parts neighbours, where there is room for it.
    const gap = strip.shown !== null && right - left > 3 ? 0.8 : 0;
    const height = Math.max(2, (bottom - top) * share);
    if (gap > 0) {
      context.fillStyle = inks.paper;
      context.fillRect(left, top, right - left, bottom - top);
    }
    context.fillStyle = fills[array]!;
    context.fillRect(left, bottom - height, Math.max(1, right - left - gap), height);
  }
  context.fillStyle = inks.bad;
  strip.sharedBytes.forEach((shared, i) => {
    if (shared === 0) return;
    const left = x(strip.edges[i]!);
    context.fillRect(left, top - OVERLAP - 2, Math.max(3, x(strip.edges[i + 1]!) - left), OVERLAP);
  });
}

function mark(
  context: CanvasRenderingContext2D,
  { x, y, inks }: Frame,
  strip: Strip,
  [from, to]: Span,
  isCursor: boolean,
): void {
  if (to < strip.start || from > strip.stop) return;
  const [left, right] = [x(Math.max(from, strip.start)), x(Math.min(to, strip.stop))];
  outline(context, inks, [left, y(1) - 1, right - left, y(0) - y(1) + 3], isCursor);
}
