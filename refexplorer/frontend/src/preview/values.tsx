/** What came of a reading: the controls of its picture, the picture or a table, a summary. */

import { useState } from "preact/hooks";

import { count, counted, moment, value } from "../shared/format.ts";
import { useStore } from "../shared/store.ts";
import type { ReadingModel } from "../shared/wire.ts";
import { Drawing } from "./drawing.tsx";
import { Choice } from "../maps/mapparts.tsx";
import { SCHEMES, type Scheme } from "./plot.ts";
import type { ExplorerSession } from "../explorer/session.ts";
import { indexOf, layout, placeOf, range, slice, type Axis, type Layout } from "./slices.ts";
import { Statistics } from "./statistics.tsx";
import { NumberTable, TextTable } from "./tabular.tsx";
import { WhyValue } from "./why.tsx";

const MODES = { heatmap: "Heatmap", line: "Line", table: "Table", statistics: "Statistics" } as const;
type Mode = keyof typeof MODES;

interface Props {
  session: ExplorerSession;
  reading: ReadingModel;
  values: Float64Array | null;
}

export function Values({ session, reading, values }: Props) {
  const { steps: asked } = useStore(session);
  const [wanted, setWanted] = useState<number[]>([]);
  const [mode, setMode] = useState<Mode>("heatmap");
  const [scheme, setScheme] = useState<Scheme>("viridis");
  const [limits, setLimits] = useState<[string, string]>(["", ""]);
  if (values === null) {
    return <div class={`values ${reading.state}`}><Caption reading={reading} /><TextTable reading={reading} /></div>;
  }
  const whole = layout(reading, wanted);
  const drawable = mode === "heatmap" && whole.drawn.length === 1 ? "line" : mode;
  const plan = drawable === "line" && whole.drawn.length === 2 ? layout(reading, [whole.drawn[1]!.dimension]) : whole;
  const steps = reading.shape.map((size, dimension) => (asked[dimension]! < size ? asked[dimension]! : 0));
  const move = (axis: Axis, to: number) =>
    session.set({ steps: steps.map((old, dimension) => (dimension === axis.dimension ? to : old)) });
  const domain = domainOf(reading, values, limits);
  const single = reading.state === "fill" || values.length === 1 || domain === null;
  const part = slice(values, reading, plan, steps);
  return (
    <div class={`values ${reading.state}`}>
      <Caption reading={reading} />
      <div class="controls">
        {!single && <Modes modes={plan.drawn.length + plan.stepped.length > 1 ? MODES : LINEAR} chosen={drawable} choose={setMode} />}
        {!single && <Axes plan={plan} choose={setWanted} />}
        {!single && drawable === "heatmap" && (
          <Choice label="Colours" value={scheme} options={Object.entries(SCHEMES)} choose={(name) => setScheme(name as Scheme)} />
        )}
        {!single && (drawable === "heatmap" || drawable === "line") && <Limits limits={limits} set={setLimits} />}
        <Decoding session={session} />
      </div>
      {!single && plan.stepped.map((axis) => (
        <Stepper key={axis.dimension} axis={axis} at={steps[axis.dimension]!} move={(to) => move(axis, to)} />
      ))}
      {single ? (
        <>
          <p class="single">{only(values, reading)}</p>
          <WhyValue session={session} array={reading.array} index={indexOf(reading, reading.shape.map(() => 0))} />
        </>
      ) : drawable === "table" ? (
        <NumberTable reading={reading} axes={plan.drawn} values={part} />
      ) : drawable === "statistics" ? (
        <Statistics reading={reading} values={part} all={values} />
      ) : (
        <Drawing session={session} reading={reading} axes={plan.drawn} steps={steps} values={part} domain={domain} scheme={scheme} />
      )}
    </div>
  );
}

const LINEAR = { line: "Line", table: "Table", statistics: "Statistics" } as const;

/** The same for every slice, so that stepping through them compares like with like. */
function domainOf(reading: ReadingModel, values: Float64Array, limits: [string, string]): [number, number] | null {
  const found = range(values);
  if (found === null) return null;
  const { minimum, maximum } = reading;
  const [low, high] = limits.map((text, i) =>
    text !== "" && Number.isFinite(Number(text)) ? Number(text) : ([minimum, maximum][i] ?? found[i]!),
  ) as [number, number];
  return low === high ? [low - 0.5, high + 0.5] : [Math.min(low, high), Math.max(low, high)];
}

function only(values: Float64Array, { state, times }: ReadingModel): string {
  const text = times ? moment(values[0]!) : value(values[0]!);
  if (state === "fill") return `${text} everywhere`;
  return values.length === 1 ? text : `${counted(values.length, "value")}, none of them a number`;
}

function Caption({ reading }: { reading: ReadingModel }) {
  const { name, units, minimum, maximum, missing, chunks, seconds, shape, dtype, times } = reading;
  const say = times ? moment : value;
  const parts = [
    `${shape.map(count).join(" × ") || "one value"} of ${dtype}`,
    minimum === null || maximum === null
      ? ""
      : `${say(minimum)} to ${say(maximum)}${units && !times ? ` ${units}` : ""}`,
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

interface ModesProps {
  modes: Partial<Record<Mode, string>>;
  chosen: Mode;
  choose(mode: Mode): void;
}

function Modes({ modes, chosen, choose }: ModesProps) {
  return (
    <span class="zoom" role="group" aria-label="Show as">
      {Object.entries(modes).map(([mode, name]) => (
        <button type="button" key={mode} class="button" aria-pressed={mode === chosen} onClick={() => choose(mode as Mode)}>
          {name}
        </button>
      ))}
    </span>
  );
}

/** Which dimensions are drawn, where there is a choice. */
function Axes({ plan: { drawn, stepped }, choose }: { plan: Layout; choose(dimensions: number[]): void }) {
  const axes = [...drawn, ...stepped].sort((a, b) => a.dimension - b.dimension);
  if (axes.length < 2) return null;
  const options = axes.map(({ dimension, name }): [string, string] => [String(dimension), name]);
  const chosen = drawn.map(({ dimension }) => dimension);
  const set = (place: number, axis: number) =>
    choose(chosen.map((old, i) => (i === place ? axis : old === axis ? chosen[place]! : old)));
  const labels = drawn.length === 2 ? ["Down", "Across"] : ["Along"];
  return (
    <>
      {labels.map((label, place) => (
        <Choice key={label} label={label} value={String(chosen[place])} options={options} choose={(axis) => set(place, Number(axis))} />
      ))}
      {drawn.length === 2 && (
        <button type="button" class="button" onClick={() => choose(chosen.toReversed())}>Transpose</button>
      )}
    </>
  );
}

function Limits({ limits, set }: { limits: [string, string]; set(limits: [string, string]): void }) {
  const field = (label: string, place: 0 | 1) => (
    <input
      type="text"
      inputMode="decimal"
      aria-label={label}
      placeholder="auto"
      value={limits[place]}
      onChange={(event) => set(limits.with(place, event.currentTarget.value.trim()) as [string, string])}
    />
  );
  return (
    <span class="choice limits" role="group" aria-label="Range">
      <span>Range</span> {field("Lowest value", 0)} {field("Highest value", 1)}
    </span>
  );
}

function Decoding({ session: { preview } }: { session: ExplorerSession }) {
  const { scale, times } = useStore(preview);
  return (
    <span class="choice" role="group" aria-label="Decoding">
      <label title="Apply scale_factor, add_offset and missing values">
        <input type="checkbox" checked={scale} onChange={() => preview.decode({ scale: !scale })} /> scale and offset
      </label>
      <label title="Read numbers 'since' a date as times">
        <input type="checkbox" checked={times} onChange={() => preview.decode({ times: !times })} /> times
      </label>
    </span>
  );
}

interface StepperProps {
  axis: Axis;
  at: number;
  move(to: number): void;
}

function Stepper({ axis, at, move }: StepperProps) {
  const to = (text: string) => move(Math.min(axis.size - 1, Math.max(0, Math.trunc(Number(text) || 0))));
  const bounds = { min: 0, max: axis.size - 1, value: at };
  return (
    <label class="stepper indexed">
      <span>{axis.name}</span>
      <input type="range" {...bounds} onInput={(event) => to(event.currentTarget.value)} />
      <input type="number" aria-label={`${axis.name}: index`} {...bounds} onChange={(event) => to(event.currentTarget.value)} />
      <output>
        {placeOf(axis, at)} <span class="quiet">({count(at + 1)} of {count(axis.size)})</span>
      </output>
    </label>
  );
}
