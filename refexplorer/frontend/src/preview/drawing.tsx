/** The line or the heatmap of a slice, with a cursor that tells each value and its chunk. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { moment, value } from "../shared/format.ts";
import { useStore } from "../shared/store.ts";
import type { ReadingModel } from "../shared/wire.ts";
import { heatmap, legend, line, type Figure, type Look, type Marked, type Scheme } from "./plot.ts";
import type { ExplorerSession } from "../explorer/session.ts";
import { chunkOf, indexOf, placeOf, placesOf, type Axis } from "./slices.ts";
import { useWidth } from "../shared/width.ts";
import { WhyValue } from "./why.tsx";

/** Height of the picture for its width, px. */
const heightOf = (width: number) => Math.min(440, Math.max(220, Math.round(width * 0.42)));

interface Props {
  session: ExplorerSession;
  reading: ReadingModel;
  axes: Axis[];
  /** Where along each dimension the slice is. */
  steps: number[];
  values: Float64Array;
  domain: [number, number];
  scheme: Scheme;
}

export function Drawing({ session, reading, axes, steps, values, domain, scheme }: Props) {
  const { item } = useStore(session);
  const box = useRef<HTMLDivElement>(null);
  const figure = useRef<Figure | null>(null);
  const width = useWidth(box);
  const [cursor, setCursor] = useState<number[] | null>(null);
  const [picked, setPicked] = useState<number[] | null>(null);
  const [first, second] = axes;
  const chosen = item?.chunk?.array === reading.array ? item.chunk.index.map(Number) : null;
  const marked = second ? marksOf(reading, [first!, second], steps, chosen) : [];
  const look = { width, height: heightOf(width), label: reading.name, domain, scheme, times: reading.times, marked };

  useLayoutEffect(() => {
    if (width === 0) return;
    figure.current = second ? heatmap(values, [first!, second], look) : line(values, first!, look);
    // What it shows is read out value by value below; its parts mean nothing by themselves.
    figure.current.element.setAttribute("aria-hidden", "true");
    box.current!.replaceChildren(figure.current.element);
  }, [reading, steps.join(), axes.map(({ dimension }) => dimension).join(), width, domain.join(), scheme, chosen?.join()]);

  const locate = (event: MouseEvent) => {
    const frame = box.current!.getBoundingClientRect();
    return figure.current?.locate(event.clientX - frame.left, event.clientY - frame.top) ?? null;
  };
  const places = (at: number[]) => steps.with(axes[0]!.dimension, at[0]!).map((step, dimension) =>
    second?.dimension === dimension ? at[1]! : step,
  );
  const pick = (at: number[] | null) => {
    if (at === null) return;
    setPicked(indexOf(reading, places(at)));
    const { key } = chunkOf(reading, indexOf(reading, places(at)));
    if (!reading.lost.some((lost) => lost.key === key && lost.state === "fill")) session.run(session.pick(key));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const moved = stepped(cursor, event.key, axes);
    if (moved !== null) setCursor(moved);
    else if (event.key === "Enter" || event.key === " ") pick(cursor);
    else return;
    event.preventDefault();
  };
  return (
    <div class="drawing">
      {second && width > 0 && <Legend label={labelOf(reading)} look={look} />}
      <div
        class="figure"
        ref={box}
        role="application"
        tabIndex={0}
        aria-label={`${reading.name}: ${second ? "heatmap" : "line"}; arrow keys read single values, Enter selects the chunk`}
        onPointerMove={(event) => setCursor(locate(event))}
        onPointerLeave={() => setCursor(null)}
        onClick={(event) => pick(locate(event))}
        onKeyDown={onKeyDown}
      />
      <p class="readout" role="status">
        {cursor
          ? said(reading, axes, cursor, places(cursor), values)
          : figure.current?.omitted || "Point at the picture to read a value; click to select its chunk."}
      </p>
      {picked && <WhyValue key={picked.join()} session={session} array={reading.array} index={picked} />}
    </div>
  );
}

/** The chunks to point out: the selected one, and those that failed in this slice. */
function marksOf(reading: ReadingModel, [rows, columns]: [Axis, Axis], steps: number[], chosen: number[] | null): Marked[] {
  const failed = reading.lost.filter(({ state }) => state === "failed").map(({ index }) => index.map(Number));
  const all = [...failed.map((index) => ({ index, as: "failed" as const })), ...(chosen ? [{ index: chosen, as: "chosen" as const }] : [])];
  return all.flatMap(({ index, as }) => {
    const spans = placesOf(reading, index);
    const drawn = (dimension: number) => dimension === rows.dimension || dimension === columns.dimension;
    const seen = spans.every(([from, to], i) => (drawn(i) ? from < to : steps[i]! >= from && steps[i]! < to));
    return seen ? [{ rows: spans[rows.dimension]!, columns: spans[columns.dimension]!, as }] : [];
  });
}

function Legend({ label, look }: { label: string; look: Look }) {
  const box = useRef<HTMLDivElement>(null);
  const [low, high] = look.domain.map(look.times ? moment : value);
  useLayoutEffect(() => {
    box.current!.replaceChildren(legend(label, Math.min(260, look.width), look));
  }, [low, high, label, look.scheme, look.width]);
  return <div class="legend" ref={box} role="img" aria-label={`Colours from ${low} to ${high}`} />;
}

function labelOf({ name, units, times }: ReadingModel): string {
  return units && !times ? `${name} (${units})` : name;
}

/** The cursor after a key: left and right along the last axis, up and down along the one before. */
function stepped(cursor: number[] | null, key: string, axes: Axis[]): number[] | null {
  const last = axes.length - 1;
  const moves: Record<string, [number, number]> = {
    ArrowLeft: [last, -1],
    ArrowRight: [last, 1],
    ArrowUp: [0, -1],
    ArrowDown: [0, 1],
  };
  const move = moves[key];
  if (!move) return null;
  if (cursor === null) return axes.map(() => 0);
  const [axis, by] = move;
  return cursor.map((at, i) => (i === axis ? Math.min(axes[i]!.size - 1, Math.max(0, at + by)) : at));
}

/** A value in words: where it stands, what it is, its index and its chunk. */
function said(reading: ReadingModel, axes: Axis[], cursor: number[], places: number[], values: Float64Array): string {
  const where = axes.map((axis, i) => `${axis.name} ${placeOf(axis, cursor[i]!)}`).join(", ");
  const number = values[axes.length === 2 ? cursor[0]! * axes[1]!.size + cursor[1]! : cursor[0]!]!;
  const index = indexOf(reading, places);
  const { key } = chunkOf(reading, index);
  const lost = reading.lost.find((each) => each.key === key);
  const text = lost ? { fill: "no reference, reads as the fill value", failed: "its chunk failed" }[lost.state] : amount(reading, number);
  return `${where}: ${text} · index ${index.join(", ")} · ${key}`;
}

function amount({ units, times }: ReadingModel, number: number): string {
  if (Number.isNaN(number)) return "missing";
  return times ? moment(number) : `${value(number)}${units ? ` ${units}` : ""}`;
}
