/** What came of a reading: a number, a line, a heatmap or a table of texts, and its summary. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { count, counted, value } from "../shared/format.ts";
import type { Reading } from "../shared/wire.ts";
import { heatmap, legend, line, type Figure } from "./plot.ts";
import { layout, range, slice, type Axis } from "./slices.ts";

interface Props {
  reading: Reading;
  values: Float64Array | null;
  /** Where along each dimension the slice is; those beyond the values are taken for the first. */
  steps: number[];
  move(steps: number[]): void;
}

/** Height of the picture for its width, px. */
const heightOf = (width: number) => Math.min(440, Math.max(220, Math.round(width * 0.42)));

export function Values({ reading, values, steps: asked, move }: Props) {
  const plan = layout(reading);
  const steps = reading.shape.map((size, dimension) => (asked[dimension]! < size ? asked[dimension]! : 0));
  const step = (axis: Axis, to: number) =>
    move(steps.map((old, dimension) => (dimension === axis.dimension ? to : old)));
  if (values === null) return <Texts reading={reading} />;
  const domain = domainOf(reading, values);
  return (
    <div class={`values ${reading.state}`}>
      <Caption reading={reading} />
      {reading.state !== "fill" && plan.stepped.map((axis) => (
        <Stepper key={axis.dimension} axis={axis} at={steps[axis.dimension]!} move={(to) => step(axis, to)} />
      ))}
      {reading.state === "fill" || values.length === 1 || domain === null ? (
        <p class="single">{single(values, reading.state)}</p>
      ) : (
        <Drawing reading={reading} axes={plan.drawn} values={slice(values, reading, plan, steps)} domain={domain} />
      )}
    </div>
  );
}

/** The same for every slice, so that stepping through them compares like with like. */
function domainOf(reading: Reading, values: Float64Array): [number, number] | null {
  const found = range(values);
  if (found === null) return null;
  const { minimum, maximum } = reading;
  const [low, high] = minimum === null || maximum === null ? found : [minimum, maximum];
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

function single(values: Float64Array, state: Reading["state"]): string {
  if (state === "fill") return `${value(values[0]!)} everywhere`;
  return values.length === 1 ? value(values[0]!) : `${counted(values.length, "value")}, none of them a number`;
}

function Caption({ reading }: { reading: Reading }) {
  const { name, units, minimum, maximum, missing, chunks, seconds, shape, dtype } = reading;
  const parts = [
    `${shape.map(count).join(" × ") || "one value"} of ${dtype}`,
    minimum === null || maximum === null
      ? ""
      : `${value(minimum)} to ${value(maximum)}${units ? ` ${units}` : ""}`,
    missing > 0 ? `${count(missing)} missing` : "",
    chunks.fill > 0 ? `${counted(chunks.fill, "chunk")} without a reference` : "",
    `${seconds.toFixed(seconds < 1 ? 2 : 1)} s`,
  ];
  return (
    <p class="caption">
      <b>{name}</b> {parts.filter(Boolean).join(" · ")}
      {chunks.failed > 0 && <span class="bad"> · ✕ {counted(chunks.failed, "chunk")} failed</span>}
    </p>
  );
}

interface StepperProps {
  axis: Axis;
  at: number;
  move(to: number): void;
}

function Stepper({ axis, at, move }: StepperProps) {
  return (
    <label class="stepper">
      <span>{axis.name}</span>
      <input
        type="range"
        min={0}
        max={axis.size - 1}
        value={at}
        onInput={(event) => move(Number(event.currentTarget.value))}
      />
      <output>
        {placeOf(axis, at)} <span class="quiet">({count(at + 1)} of {count(axis.size)})</span>
      </output>
    </label>
  );
}

function placeOf(axis: Axis, index: number): string {
  return axis.at === null ? count(index) : value(axis.at[index]!);
}

interface DrawingProps {
  reading: Reading;
  axes: Axis[];
  values: Float64Array;
  domain: [number, number];
}

function Drawing({ reading, axes, values, domain }: DrawingProps) {
  const box = useRef<HTMLDivElement>(null);
  const figure = useRef<Figure | null>(null);
  const width = useWidth(box);
  const [cursor, setCursor] = useState<number[] | null>(null);
  const [low, high] = domain;

  useLayoutEffect(() => {
    if (width === 0) return;
    const look = { width, height: heightOf(width), label: reading.name, domain };
    const [first, second] = axes;
    figure.current = second ? heatmap(values, [first!, second], look) : line(values, first!, look);
    // What it shows is read out value by value below; its parts mean nothing by themselves.
    figure.current.element.setAttribute("aria-hidden", "true");
    box.current!.replaceChildren(figure.current.element);
  }, [values, width, low, high]);

  const onPointerMove = (event: PointerEvent) => {
    const frame = box.current!.getBoundingClientRect();
    setCursor(figure.current?.locate(event.clientX - frame.left, event.clientY - frame.top) ?? null);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const moved = stepped(cursor, event.key, axes);
    if (moved === null) return;
    event.preventDefault();
    setCursor(moved);
  };
  return (
    <div class="drawing">
      {axes.length === 2 && <Legend domain={domain} label={labelOf(reading)} />}
      <div
        class="figure"
        ref={box}
        role="application"
        tabIndex={0}
        aria-label={`${reading.name}: ${axes.length === 2 ? "heatmap" : "line"}; arrow keys read single values`}
        onPointerMove={onPointerMove}
        onPointerLeave={() => setCursor(null)}
        onKeyDown={onKeyDown}
      />
      <p class="readout" role="status">
        {cursor ? said(cursor, axes, values, reading) : (figure.current?.omitted || "Point at the picture to read a value.")}
      </p>
    </div>
  );
}

function Legend({ domain, label }: { domain: [number, number]; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    box.current!.replaceChildren(legend(domain, label, 260));
  }, [...domain, label]);
  return <div class="legend" ref={box} role="img" aria-label={`Colours from ${value(domain[0])} to ${value(domain[1])}`} />;
}

function labelOf({ name, units }: Reading): string {
  return units ? `${name} (${units})` : name;
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

function said(cursor: number[], axes: Axis[], values: Float64Array, { units }: Reading): string {
  const place = axes.map((axis, i) => `${axis.name} ${placeOf(axis, cursor[i]!)}`).join(", ");
  const index = axes.length === 2 ? cursor[0]! * axes[1]!.size + cursor[1]! : cursor[0]!;
  return `${place}: ${value(values[index]!)}${units ? ` ${units}` : ""} · index ${cursor.join(", ")}`;
}

function Texts({ reading }: { reading: Reading }) {
  const texts = reading.texts ?? [];
  return (
    <div class={`values ${reading.state}`}>
      <Caption reading={reading} />
      <table class="texts">
        <thead><tr><th scope="col">Index</th><th scope="col">Value</th></tr></thead>
        <tbody>
          {texts.map((text, index) => (
            <tr key={index}><td class="number">{count(index)}</td><td>{text}</td></tr>
          ))}
        </tbody>
      </table>
      {texts.length < total(reading) && (
        <p class="quiet">The first {count(texts.length)} of {count(total(reading))} values.</p>
      )}
    </div>
  );
}

function total({ shape }: Reading): number {
  return shape.reduce((product, size) => product * size, 1);
}

export function useWidth(element: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  return width;
}
