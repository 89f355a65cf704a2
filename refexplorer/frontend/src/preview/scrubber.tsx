/** One place along a dimension: a slider, the place in words, one step back and on, playing, and a line over it. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

import { Choice } from "../shared/controls.tsx";
import { count, counted, value } from "../shared/format.ts";
import { Button, Sentence } from "../shared/parts.tsx";
import { ChunkStrip } from "../shared/strip.tsx";
import { useStore } from "../shared/store.ts";
import type { ExplorerSession } from "../explorer/session.ts";
import type { AxisMark, Coordinate, ReadingModel } from "../shared/wire.ts";
import { written } from "./time/frames.ts";
import { placeOf, stepsIn, stripOf, type Axis, range, stridesOf } from "./slices.ts";

interface Props {
  name: string;
  size: number;
  at: number;
  /** Where that is: a date, a coordinate; empty where only the index is known. */
  place: string;
  move(to: number): void;
  /** Whether the picture is the one of this place, so that playing may go on. */
  isShown: boolean;
  /** The chunks along the dimension, as `ChunkStrip` draws them. */
  strip?: string | undefined;
  /** What is odd in the coordinate, with places in what the scrubber goes through. */
  marks?: AxisMark[];
  /** The values along the dimension, if they were read. */
  series?: Series | null;
  children?: ComponentChildren;
}

/** Pictures a second, if the next one is there by then. */
const PACES: [string, string][] = [
  ["3", "3 a second"],
  ["7", "7 a second"],
  ["15", "15 a second"],
  ["30", "30 a second"],
];

export function Scrubber(props: Props) {
  const { name, size, at, place, move, isShown, strip, marks = [], series, children } = props;
  const [plays, setPlays] = useState(false);
  const [pace, setPace] = useState(matchMedia("(prefers-reduced-motion: reduce)").matches ? "3" : "7");
  useEffect(() => {
    if (!plays || !isShown) return;
    const timer = setTimeout(() => move((at + 1) % size), 1000 / Number(pace));
    return () => clearTimeout(timer);
  }, [plays, isShown, at, pace]);
  const go = (to: number) => {
    setPlays(false);
    move(Math.min(size - 1, Math.max(0, Math.trunc(to) || 0)));
  };
  const bounds = { min: 0, max: size - 1, value: at };
  const text = `${place === "" || place === String(at) ? "" : `${place}, `}${count(at)} of 0 to ${count(size - 1)}`;
  return (
    <div class="scrubber" role="group" aria-label={name}>
      <div class="scrubber-line">
        <b>{name}</b>
        <output class="scrubber-place">{place}</output>
        {children}
        {series && <span class="quiet series-words">{seriesWords(series)}</span>}
        <input
          type="number"
          class="scrubber-index"
          aria-label={`${name}: index as a number`}
          {...bounds}
          onChange={(event) => go(Number(event.currentTarget.value))}
        />
        <span class="quiet">of 0 to {count(size - 1)}</span>
        <span class="zoom">
          <Button text="‹" aria-label={`Back along ${name}`} disabled={at === 0} onClick={() => go(at - 1)} />
          <Button text="›" aria-label={`Forward along ${name}`} disabled={at === size - 1} onClick={() => go(at + 1)} />
          <Button
            text={plays ? "❚❚" : "▶"}
            aria-pressed={plays}
            aria-label={plays ? `Pause along ${name}` : `Play along ${name}`}
            onClick={() => setPlays(!plays)}
          />
        </span>
        {plays && <Choice label="Pace" value={pace} options={PACES} choose={setPace} />}
      </div>
      {series && <SeriesLine series={series} at={at} />}
      {strip && <ChunkStrip text={strip} height={8} />}
      <AxisMarks marks={marks} size={size} />
      <input
        type="range"
        class="scrubber-range"
        style={{ "--places": size }}
        aria-label={`${name}: index`}
        aria-valuetext={text}
        {...bounds}
        onInput={(event) => go(Number(event.currentTarget.value))}
      />
      {marks.map(({ message, places, count: all }) => (
        <p key={message} class="quiet axis-words">
          <Sentence text={message} />
          {all > places.length && ` (${count(places.length)} of ${count(all)} marked here)`}
        </p>
      ))}
    </div>
  );
}

/** The marks of a dimension, at the places that they have in what was read; none of those outside. */
function marksOn({ dimension, first, step, size }: Axis, marks: AxisMark[]): AxisMark[] {
  return marks
    .filter((mark) => mark.axis === dimension)
    .map((mark) => ({ ...mark, places: mark.places.map((place) => (place - first) / step) }))
    .map((mark) => ({ ...mark, places: mark.places.filter((place) => place > -0.5 && place < size - 0.5) }));
}

/** A triangle at each place where something is odd in the coordinate. */
function AxisMarks({ marks, size }: { marks: AxisMark[]; size: number }) {
  const total = marks.reduce((sum, { places }) => sum + places.length, 0);
  if (total === 0) return null;
  return (
    <div class="axis-marks" role="img" aria-label={`${counted(total, "place")} marked on the axis`}>
      {marks.flatMap(({ severity, message, places }) =>
        places.map((place) => (
          <span
            key={`${message} ${place}`}
            class={`axis-mark ${severity}`}
            style={{ left: `${(100 * (place + 0.5)) / size}%` }}
            title={message.replaceAll("`", "")}
          >
            ▲
          </span>
        )),
      )}
    </div>
  );
}

interface StepsProps {
  session: ExplorerSession;
  reading: ReadingModel;
  /** The dimensions that are not drawn. */
  axes: Axis[];
  /** Of each dimension of the reading. */
  series?: (Series | null)[];
}

/** A scrubber for each dimension along which more was read than is drawn. */
export function Steps({ session, reading, axes, series = [] }: StepsProps) {
  const { steps: asked } = useStore(session);
  const { wanted, plan } = useStore(session.preview);
  const strips = useStore(session.strips);
  const { array } = reading;
  useEffect(() => session.strips.look(array), [array]);
  const steps = stepsIn(reading, asked);
  const own = strips.array === array ? strips : null;
  // Until the picture of one place is here, only its scrubber is shown.
  const free = axes.filter(({ dimension }) => !/^\d+$/.test(wanted?.[dimension] ?? ""));
  return (
    <>
      {free.map((axis) => {
        const { dimension, name, size } = axis;
        const whole = plan?.array === array ? Number(plan.sizes[dimension]) : undefined;
        return (
          <Scrubber
            key={dimension}
            name={name}
            size={size}
            at={steps[dimension]!}
            place={placeOf(axis, steps[dimension]!)}
            move={(to) => session.set({ steps: steps.with(dimension, to) })}
            isShown
            strip={own ? stripOf(own.strips[dimension], reading, axis, whole) : undefined}
            marks={own ? marksOn(axis, own.marks) : []}
            series={series[dimension] ?? null}
          />
        );
      })}
    </>
  );
}

interface DateProps {
  name: string;
  /** Of what is shown. */
  coordinate: Coordinate | undefined;
  set(text: string): void;
}

/** A date of a dimension of times, of which the nearest is shown. */
export function DateField({ name, coordinate, set }: DateProps) {
  const first = coordinate?.times ? (coordinate.values?.[0] ?? null) : null;
  const shown = first === null ? "" : written(first);
  const [draft, setDraft] = useState(shown);
  useEffect(() => setDraft(shown), [shown]);
  if (shown === "") return null;
  return (
    <input
      type="datetime-local"
      class="date"
      aria-label={`${name}: date`}
      title="The nearest time is shown (UTC)"
      value={draft}
      onInput={(event) => setDraft(event.currentTarget.value)}
      onChange={(event) => {
        if (event.currentTarget.value && event.currentTarget.value !== shown) set(`~${event.currentTarget.value}`);
      }}
    />
  );
}

export interface Series {
  values: Float64Array;
  /** What they are. */
  label: string;
}

/** Values that are gone through for one line. */
const MOST = 4_000_000;
const HEIGHT = 28;

/** The values along a dimension that was read completely; null if there are too many or too few. */
export function seriesAlong(
  all: Float64Array,
  reading: ReadingModel,
  axis: Axis,
  drawn: Axis[],
  steps: number[],
  pinned: number[] | null,
): Series | null {
  const strides = stridesOf(reading.shape);
  const along = strides[axis.dimension]!;
  const places = pinned && placesOfIndex(reading, pinned);
  const cells = places ? 1 : drawn.reduce((product, { size }) => product * size, 1);
  if (axis.size < 3 || cells * axis.size > MOST) return null;
  const from = (places ?? steps.map((at, dimension) => (drawn.some((each) => each.dimension === dimension) ? 0 : at)))
    .with(axis.dimension, 0)
    .reduce((sum, at, dimension) => sum + at * strides[dimension]!, 0);
  const offsets = places ? [0] : offsetsOf(drawn, strides);
  const values = Float64Array.from({ length: axis.size }, (_, i) => {
    let [sum, n] = [0, 0];
    for (const offset of offsets) {
      const found = all[from + i * along + offset]!;
      if (Number.isFinite(found)) [sum, n] = [sum + found, n + 1];
    }
    return n === 0 ? NaN : sum / n;
  });
  return { values, label: places ? "at the point" : "mean of each picture" };
}

/** Where a point of the array is in what was read; null outside. */
function placesOfIndex({ region, shape }: ReadingModel, index: number[]): number[] | null {
  const places = index.map((at, dimension) => {
    const [start, , step] = region[dimension]!.map(Number) as [number, number, number];
    return Math.floor((at - start) / step);
  });
  return places.every((at, dimension) => at >= 0 && at < shape[dimension]!) ? places : null;
}

function offsetsOf(drawn: Axis[], strides: number[]): number[] {
  return drawn.reduce(
    (before, { dimension, size }) =>
      before.flatMap((offset) => Array.from({ length: size }, (_, i) => offset + i * strides[dimension]!)),
    [0],
  );
}

export function seriesWords({ values, label }: Series): string {
  const [low, high] = range(values) ?? [NaN, NaN];
  return Number.isNaN(low) ? `${label}: no values` : `${label}: ${value(low)} to ${value(high)}`;
}

export function SeriesLine({ series: { values, label }, at }: { series: Series; at: number }) {
  const found = range(values);
  if (found === null) return null;
  const [low, high] = found[0] === found[1] ? [found[0] - 1, found[1] + 1] : found;
  const y = (each: number) => HEIGHT - 2 - ((each - low) / (high - low)) * (HEIGHT - 4);
  let isDown = false;
  const path = Array.from(values, (each, i) => {
    const step = Number.isFinite(each) ? `${isDown ? "L" : "M"}${i + 0.5},${y(each).toFixed(2)}` : "";
    isDown = step !== "";
    return step;
  });
  return (
    <svg
      class="series"
      viewBox={`0 0 ${values.length} ${HEIGHT}`}
      height={HEIGHT}
      preserveAspectRatio="none"
      role="img"
      aria-label={seriesWords({ values, label })}
    >
      <line class="series-at" x1={at + 0.5} x2={at + 0.5} y1={0} y2={HEIGHT} />
      <path d={path.join("")} />
    </svg>
  );
}
