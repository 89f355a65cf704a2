/** The bar of colours: how often each value occurs, two handles for its ends, its map and scale. */

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import * as Plot from "@observablehq/plot";

import { Choice, DraftField, Select } from "../shared/controls.tsx";
import { Button } from "../shared/parts.tsx";
import { moment, value } from "../shared/format.ts";
import { useWidth } from "../shared/pointing.ts";
import {
  counts,
  inverse,
  placing,
  percentiles,
  SCALES,
  type ScaleName,
  SCHEMES,
  tableOf,
  type Scheme,
} from "./colours.ts";
import { barScale } from "./plot.ts";
import { range } from "./slices.ts";

interface Props {
  label: string;
  /** Those that are drawn. */
  values: Float64Array;
  /** Of all that was read: what the bar shows, unless the colours go beyond it. */
  extent: [number, number];
  domain: [number, number];
  /** As they were written; empty where a limit is that of the values. */
  limits: [string, string];
  setLimits(limits: [string, string]): void;
  scheme: Scheme;
  setScheme(scheme: Scheme): void;
  scale: ScaleName;
  setScale(scale: ScaleName): void;
  /** Whether the values are milliseconds since 1970. */
  times: boolean;
  /** Whether more values are on their way. */
  isPart: boolean;
}

/** Bars of the histogram: each four pixels or so. */
const BINS = 128;
const HIGH = 30;
const STRIPE = 14;
/** How far a key moves a handle, of the whole bar; with Page Up and Page Down. */
const STEP = 0.01;
const LEAP = 0.1;

export function ColourBar(props: Props) {
  const { label, values, domain, limits, setLimits, scheme, setScheme, scale, setScale, times, isPart } = props;
  const isSkewed = useMemo(
    () => !isPart && scale === "linear" && limits.join("") === "" && skewed(values),
    [values, isPart, scale, limits.join()],
  );
  return (
    <div class="bar-of-colours" role="group" aria-label={`Colours of ${label}`}>
      <div class="controls">
        <b class="bar-label">{label}</b>
        <Choice
          label="Colours"
          value={scheme}
          options={Object.entries(SCHEMES)}
          choose={(name) => setScheme(name as Scheme)}
        />
        {!times && (
          <Choice
            label="Scale"
            value={scale}
            options={Object.entries(SCALES)}
            choose={(name) => setScale(name as ScaleName)}
          />
        )}
        <Limits limits={limits} values={values} now={domain} set={setLimits} />
        {isSkewed && (
          <span class="quiet">
            Most values are close together:{" "}
            <Button text="colour 98 % of them" link onClick={() => setLimits(limitsOf("0.98", values, domain))} />
          </span>
        )}
      </div>
      <Ruler {...props} />
    </div>
  );
}

/** Whether almost all values lie in a tenth of their span, so that a picture has one colour. */
function skewed(values: Float64Array): boolean {
  const [all, most] = [range(values), percentiles(values, 0.9)];
  return all !== null && most !== null && all[1] > all[0] && (most[1] - most[0]) / (all[1] - all[0]) < 0.1;
}

function Ruler({ label, values, extent, domain, setLimits, scheme, scale, times }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const ticks = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const [drag, setDrag] = useState<{ end: 0 | 1; at: number } | null>(null);
  const whole: [number, number] = [Math.min(extent[0], domain[0]), Math.max(extent[1], domain[1])];
  if (whole[0] === whole[1]) whole[1] = whole[0] + 1;
  const place = placing(scale, whole);
  const at = inverse(scale, whole);
  const text = (number: number) => (times ? moment(number) : value(number));
  const ends = domain.map((limit) => Math.min(1, Math.max(0, place(limit) || 0))) as [number, number];
  const shown = drag === null ? ends : (ends.with(drag.end, drag.at) as [number, number]);
  const bins = useMemo(() => {
    const found = counts(values, placing(scale, whole), BINS);
    const most = Math.max(1, ...found);
    return found.map((number) => Math.sqrt(number / most) * HIGH || 0);
  }, [values, scale, whole.join()]);
  useLayoutEffect(() => {
    const context = canvas.current!.getContext("2d")!;
    const image = context.createImageData(canvas.current!.width, 1);
    const table = tableOf(scheme);
    const colour = placing(scale, domain);
    for (let i = 0; i < image.width; i++) {
      const share =
        drag === null
          ? colour(at((i + 0.5) / image.width))
          : ((i + 0.5) / image.width - shown[0]) / (shown[1] - shown[0]);
      const step = Math.min(255, Math.max(0, Math.floor((Number.isNaN(share) ? 0 : share) * 256)));
      image.data.set([...table.subarray(3 * step, 3 * step + 3), 255], 4 * i);
    }
    context.putImageData(image, 0, 0);
  }, [scheme, scale, domain.join(), whole.join(), shown.join()]);
  useLayoutEffect(() => {
    if (width > 0) ticks.current!.replaceChildren(axisOf(width, whole, scale, times));
  }, [width, whole.join(), scale, times]);

  const move = (end: 0 | 1, share: number) => {
    const between = end === 0 ? Math.min(share, ends[1] - STEP / 2) : Math.max(share, ends[0] + STEP / 2);
    const next = [String(domain[0]), String(domain[1])].with(end, written(at(Math.min(1, Math.max(0, between)))));
    setLimits(next.map(written) as [string, string]);
  };
  const shareAt = (event: PointerEvent) => {
    const frame = box.current!.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - frame.left) / frame.width));
  };
  const onKeyDown = (end: 0 | 1) => (event: KeyboardEvent) => {
    const by = { ArrowLeft: -STEP, ArrowDown: -STEP, ArrowRight: STEP, ArrowUp: STEP, PageUp: LEAP, PageDown: -LEAP }[
      event.key
    ];
    const to = by !== undefined ? ends[end] + by : event.key === "Home" ? 0 : event.key === "End" ? 1 : null;
    if (to === null) return;
    event.preventDefault();
    event.stopPropagation();
    move(end, to);
  };
  return (
    <div class="ruler" ref={box}>
      <svg
        class="histogram"
        viewBox={`0 0 ${BINS} ${HIGH}`}
        height={HIGH}
        preserveAspectRatio="none"
        aria-hidden="true"
      >
        {bins.map((height, bin) => (
          <rect key={bin} x={bin} y={HIGH - height} width={0.9} height={height} />
        ))}
      </svg>
      <div
        class="stripe"
        role="img"
        aria-label={`Colours from ${text(domain[0])} to ${text(domain[1])}${scale === "linear" ? "" : `, ${scale}`}`}
      >
        <canvas ref={canvas} width={512} height={1} style={{ height: `${STRIPE}px` }} />
      </div>
      {([0, 1] as const).map((end) => (
        <span
          key={end}
          class="handle"
          role="slider"
          tabIndex={0}
          aria-label={`${end === 0 ? "Lowest" : "Highest"} colour of ${label}`}
          aria-valuemin={whole[0]}
          aria-valuemax={whole[1]}
          aria-valuenow={domain[end]}
          aria-valuetext={text(domain[end])}
          title="Drag, or use the arrow keys"
          style={{ left: `${100 * shown[end]}%` }}
          onKeyDown={onKeyDown(end)}
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            setDrag({ end, at: ends[end] });
          }}
          onPointerMove={(event) => drag?.end === end && setDrag({ end, at: shareAt(event) })}
          onPointerUp={(event) => {
            if (drag?.end === end && Math.abs(shareAt(event) - ends[end]) > 0.002) move(end, shareAt(event));
            setDrag(null);
          }}
        />
      ))}
      <div ref={ticks} aria-hidden="true" />
    </div>
  );
}

function written(number: number | string): string {
  return String(Number(Number(number).toPrecision(6)));
}

function axisOf(width: number, domain: [number, number], name: ScaleName, times: boolean): Element {
  const { scale, ticks } = barScale({ domain, times, scale: name });
  return Plot.plot({
    width,
    height: 20,
    marginLeft: 0,
    marginRight: 0,
    marginTop: 0,
    marginBottom: 18,
    x: { ...scale, type: times ? "utc" : scale.type, label: null },
    // A separate axis ignores the ticks of the scale.
    marks: [Plot.axisX({ tickSize: 3, ticks: Math.max(2, Math.min(8, Math.floor(width / 90))), ...ticks })],
  });
}

interface LimitsProps {
  limits: [string, string];
  values: Float64Array;
  /** Those that are drawn. */
  now: [number, number];
  set(limits: [string, string]): void;
}

/** Limits to choose, as shares of the values that lie between them. */
const SHARES: [string, string][] = [
  ["auto", "all values"],
  ["now", "current range, for every slice"],
  ["0.98", "98 % of the values"],
  ["0.9", "90 % of the values"],
  ["even", "symmetric around 0"],
];

function limitsOf(name: string, values: Float64Array, [low, high]: [number, number]): [string, string] {
  if (name === "auto") return ["", ""];
  if (name === "now") return [written(low), written(high)];
  if (name === "even") {
    const far = Math.max(Math.abs(low), Math.abs(high));
    return [written(-far), written(far)];
  }
  const found = percentiles(values, Number(name));
  return found === null ? ["", ""] : [written(found[0]), written(found[1])];
}

export function Limits({ limits, values, now, set }: LimitsProps) {
  const field = (label: string, place: 0 | 1) => (
    <DraftField
      inputMode="decimal"
      aria-label={label}
      placeholder="auto"
      text={limits[place]}
      set={(text) => set(limits.with(place, text.trim()) as [string, string])}
    />
  );
  return (
    <span class="choice limits" role="group" aria-label="Range">
      <span>Range</span> {field("Lowest value", 0)} {field("Highest value", 1)}
      <Select
        class="select"
        aria-label="Limits of"
        first="Limits …"
        options={SHARES}
        choose={(name) => set(limitsOf(name, values, now))}
      />
    </span>
  );
}
