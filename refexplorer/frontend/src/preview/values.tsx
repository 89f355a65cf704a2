/** What came of a reading: the controls of its picture, the picture or a table, a summary. */

import { useMemo, useState } from "preact/hooks";

import { Button } from "../shared/parts.tsx";
import { count, counted } from "../shared/format.ts";
import { useStore } from "../shared/store.ts";
import type { ReadingModel } from "../shared/wire.ts";
import { Drawing, labelOf } from "./drawing.tsx";
import { Choice, Toggles } from "../shared/controls.tsx";
import { ColourBar, Limits } from "./colourbar.tsx";
import { SCHEMES, type Scheme } from "./colours.ts";
import { PLAIN, type Picture } from "../explorer/state.ts";
import type { ChunkState } from "../health/health.ts";
import type { ExplorerSession } from "../explorer/session.ts";
import { indexOf, layout, range, shownText, slice, stepsIn, textsOf, type Axis, type Layout } from "./slices.ts";
import type { Integers } from "./time/frames.ts";
import { type Kept, rowsOf } from "./profiles.ts";
import { Lines } from "./profiles.tsx";
import { Statistics } from "./statistics.tsx";
import { NumberTable, TextTable } from "./tabular.tsx";
import { PLAIN_LINE } from "./plot.ts";
import type { KeptMenu } from "../shared/menu.tsx";
import { PartMenu, Places } from "./part.tsx";
import { Steps, seriesAlong } from "./scrubber.tsx";
import { WhyValue } from "./why.tsx";

const MODES = { heatmap: "Picture", line: "Line", lines: "Lines", table: "Table", statistics: "Statistics" } as const;
type Mode = keyof typeof MODES | "channel";

interface Props {
  session: ExplorerSession;
  reading: ReadingModel;
  values: Float64Array | null;
  integers: Integers | null;
  menu: KeptMenu;
  /** Whether more values are on their way: what is said of all of them waits. */
  isPart: boolean;
}

export function Values({ session, reading, values, integers, menu, isPart }: Props) {
  const [kept, setKept] = useState<Kept[]>([]);
  const { steps: asked, pin } = useStore(session);
  const { array } = reading;
  const picture = session.pictureOf(array);
  const { axes: wanted, mode, limits, scale, scheme: named } = picture;
  const scheme = (Object.hasOwn(SCHEMES, named) ? named : PLAIN.scheme) as Scheme;
  const draw = (change: Partial<Picture>) => session.set({ picture: { ...picture, ...change, array } });
  const setWanted = (axes: number[]) => draw({ axes });
  const setScheme = (next: Scheme) => draw({ scheme: next });
  const setLimits = (next: [string, string]) => draw({ limits: next });
  const found = useMemo(() => (values === null ? null : range(values)), [values]);
  const isRecoloured = session.recolouring !== null;
  const isSingle = mode === "channel" && !isRecoloured;
  const whole = useMemo(() => layout(reading, wanted.length > 0 ? wanted : spatial(reading)), [reading, wanted.join()]);
  const given = isSingle || isRecoloured ? "heatmap" : mode;
  const drawable = (given === "heatmap" || given === "lines") && whole.drawn.length === 1 ? "line" : given;
  const plan = useMemo(
    () => (drawable === "line" && whole.drawn.length === 2 ? layout(reading, [whole.drawn[1]!.dimension]) : whole),
    [whole, drawable],
  );
  const steps = stepsIn(reading, asked);
  const channel = drawable === "heatmap" && !isSingle ? (reading.channels ?? null) : null;
  const isColoured =
    channel !== null && plan.stepped.some(({ dimension }) => dimension === channel) && reading.shape[channel]! > 2;
  const stepped = plan.stepped.filter(({ dimension }) => !isColoured || dimension !== channel);
  const channels = useMemo(
    () =>
      isColoured && values
        ? Array.from({ length: reading.shape[channel]! }, (_, i) =>
            slice(values, reading, plan, steps.with(channel, i)),
          )
        : null,
    [isColoured, values, plan, steps.join()],
  );
  const part = useMemo(
    () => (values === null ? null : slice(values, reading, plan, steps)),
    [values, plan, steps.join()],
  );
  const whole64 = useMemo(
    () => (integers === null ? null : slice(integers, reading, plan, steps)),
    [integers, plan, steps.join()],
  );
  const pinned = pin?.array === array ? pin.index : null;
  // The lines stay while their own scrubber moves.
  const series = useMemo(
    () =>
      reading.shape.map((_, dimension) => {
        const axis = stepped.find((each) => each.dimension === dimension);
        return axis && values ? seriesAlong(values, reading, axis, plan.drawn, steps, pinned) : null;
      }),
    [values, plan, pinned?.join(), stepped.length > 1 ? steps.join() : ""],
  );
  const text = useMemo(() => textsOf(reading, part ?? new Float64Array(), whole64), [reading, part, whole64]);
  if (values === null || part === null) {
    return (
      <div class={`values ${reading.state}`}>
        <div class="picture-head">
          <Fields session={session} reading={reading} />
          <PartMenu session={session} array={array} kept={menu} />
        </div>
        <Caption reading={reading} session={session} isPart={isPart} />
        <TextTable reading={reading} />
        <Places session={session} array={array} />
      </div>
    );
  }
  const isBytes = isColoured && reading.dtype === "uint8" && limits.join("") === "";
  const domain = isBytes ? ([0, 255] as [number, number]) : domainOf(reading, found, limits);
  const single = reading.state === "fill" || values.length === 1 || domain === null;
  const head = !isRecoloured && (
    <>
      {!single && (
        <Toggles
          label="Show as"
          options={Object.entries(modesOf(plan, reading)) as [Mode, string][]}
          value={isSingle ? "channel" : drawable}
          choose={(next) => draw({ mode: next })}
        />
      )}
      <Fields session={session} reading={reading} />
      <PartMenu session={session} array={array} kept={menu}>
        {!single && (
          <div class="controls">
            <Axes plan={plan} choose={setWanted} />
          </div>
        )}
        <Decoding session={session} />
      </PartMenu>
    </>
  );
  const bar = domain && (
    <ColourBar
      label={labelOf(reading)}
      values={part}
      extent={found ?? domain}
      domain={domain}
      limits={limits}
      setLimits={setLimits}
      scheme={scheme}
      setScheme={setScheme}
      scale={reading.times ? "linear" : scale}
      setScale={(name) => draw({ scale: name })}
      times={reading.times}
      isPart={isPart}
    />
  );
  const below = (
    <>
      {!single && <Steps session={session} reading={reading} axes={stepped} series={series} />}
      <Places session={session} array={array} />
    </>
  );
  const hasOwnHead = !single && drawable !== "table" && drawable !== "lines" && drawable !== "statistics";
  return (
    <div class={`values ${reading.state}`}>
      {!hasOwnHead && <div class="picture-head">{head}</div>}
      {!single && (drawable === "line" || drawable === "lines") && (
        <div class="controls">
          <Limits limits={limits} values={part} now={domain} set={setLimits} />
        </div>
      )}
      {single && isPart ? null : single ? (
        <>
          <p class="single">{only(values, reading, textsOf(reading, values, integers))}</p>
          <WhyValue
            session={session}
            array={reading.array}
            index={indexOf(
              reading,
              reading.shape.map(() => 0),
            )}
          />
        </>
      ) : drawable === "table" ? (
        <NumberTable reading={reading} axes={plan.drawn} values={part} text={text} />
      ) : drawable === "lines" ? (
        <RowLines axes={plan.drawn as [Axis, Axis]} values={part} reading={reading} domain={domain} />
      ) : drawable === "statistics" ? (
        <Statistics
          reading={reading}
          isPart={isPart}
          parts={
            values.length === part.length
              ? [[part, whole64]]
              : [
                  [part, whole64],
                  [values, integers],
                ]
          }
        />
      ) : (
        <Drawing
          session={session}
          reading={reading}
          axes={plan.drawn}
          steps={steps}
          values={part}
          text={text}
          all={values}
          sliders={stepped}
          channels={channels}
          domain={domain}
          scheme={scheme}
          scale={reading.times ? "linear" : scale}
          head={head}
          bar={bar}
          below={below}
          isPart={isPart}
          kept={kept}
          setKept={setKept}
        />
      )}
      {!hasOwnHead && below}
      {!isRecoloured && <Caption reading={reading} session={session} isPart={isPart} />}
    </div>
  );
}

/** The dimensions of a picture in colours: the last two that are not its colours. */
function spatial({ channels, shape }: ReadingModel): number[] {
  if (channels === null || channels === undefined || shape[channels]! < 3) return [];
  return shape.flatMap((size, dimension) => (size > 1 && dimension !== channels ? [dimension] : [])).slice(-2);
}

function modesOf(plan: Layout, { channels, shape }: ReadingModel): Partial<Record<Mode, string>> {
  if (plan.drawn.length + plan.stepped.length < 2) return LINEAR;
  if (channels === null || channels === undefined || shape[channels]! < 3) return MODES;
  const { heatmap: _, ...others } = MODES;
  return { heatmap: "In colours", channel: "One colour", ...others };
}

interface RowProps {
  axes: [Axis, Axis];
  values: Float64Array;
  reading: ReadingModel;
  domain: [number, number];
}

/** The rows of a slice as lines over one axis. */
function RowLines({ axes, values, reading, domain }: RowProps) {
  const [rows, columns] = axes;
  const found = useMemo(() => rowsOf(values, axes), [values, axes]);
  const look = { ...PLAIN_LINE, width: 0, height: 280, label: reading.name, domain, times: reading.times };
  return (
    <>
      <Lines
        lines={found}
        axis={columns}
        look={look}
        label={`${reading.name}: ${counted(found.length, "line")} along ${columns.name}`}
      />
      {found.length < rows.size && (
        <p class="caption">
          {counted(found.length, "line")} of {count(rows.size)} along {rows.name}, at the same distance from each other.
        </p>
      )}
    </>
  );
}

/** Which field of structured values is shown. */
function Fields({ session, reading: { fields = [], field } }: { session: ExplorerSession; reading: ReadingModel }) {
  if (fields.length === 0) return null;
  const options: [string, string][] = [...fields.map((name): [string, string] => [name, name]), ["", "all, as text"]];
  return (
    <Choice
      label="Field"
      value={field ?? ""}
      options={options}
      choose={(name) => session.preview.decode({ field: name })}
    />
  );
}

const LINEAR = { line: "Line", table: "Table", statistics: "Statistics" } as const;

/** The same for every slice, so that stepping through them compares like with like; null where no value is a number. */
function domainOf(
  reading: ReadingModel,
  found: [number, number] | null,
  limits: [string, string],
): [number, number] | null {
  if (found === null && !reading.infinite?.some((number) => number > 0)) return null;
  const { minimum, maximum } = reading;
  const [low, high] = limits.map((text, i) =>
    text !== "" && Number.isFinite(Number(text)) ? Number(text) : ([minimum, maximum][i] ?? found?.[i] ?? i),
  ) as [number, number];
  return low === high ? [low - 0.5, high + 0.5] : [Math.min(low, high), Math.max(low, high)];
}

function only(values: Float64Array, reading: ReadingModel, textOf: (index: number) => string): string {
  const { state, chunks } = reading;
  if (state !== "fill" && values.length !== 1)
    return `${counted(values.length, "value")}, none ${chunks.failed > 0 ? "that could be read is" : "of them"} a number`;
  const text = shownText(reading, textOf(0));
  return state === "fill" ? `${text} everywhere` : text;
}

/** Of a boolean array, half of what there is to say may be its fill value. */
const FALSE_IS_MISSING = ": NaN is the fill value, as in xarray; turn off “scale and offset” to see the stored values";

function Caption({ reading, session, isPart }: Pick<Props, "reading" | "session" | "isPart">) {
  const soFar = isPart ? " so far" : "";
  const { name, units, extremes, infinite = [0, 0], missing, chunks, seconds, shape, dtype, times } = reading;
  const parts = [
    `${shape.map(count).join(" × ") || "one value"} of ${dtype}`,
    extremes
      ? `${extremes.map((text) => shownText(reading, text)).join(" to ")}${units && !times ? ` ${units}` : ""}${soFar}`
      : "",
    ...["-inf", "inf"].map((sign, i) => (infinite[i]! > 0 ? `${count(infinite[i]!)} ${sign}` : "")),
    missing > 0 ? `${count(missing)} missing${soFar}${dtype === "bool" ? FALSE_IS_MISSING : ""}` : "",
    isPart ? "" : `${seconds.toFixed(seconds < 1 ? 2 : 1)} s`,
  ];
  const listed = (state: ChunkState, text: string) => (
    <>
      {" · "}
      <Button
        text={text}
        class={state === "failed" ? "link bad" : "link"}
        title={state === "failed" ? "List the chunks that failed, with the cause of each" : "List these chunks"}
        onClick={() => session.run(session.focusOn(state, reading.array))}
      />
    </>
  );
  return (
    <p class="caption">
      <b>{name}</b> {parts.filter(Boolean).join(" · ")}
      {chunks.fill > 0 && listed("absent", `${counted(chunks.fill, "chunk")} without a reference`)}
      {chunks.failed > 0 && listed("failed", `✕ ${counted(chunks.failed, "chunk")} failed`)}
    </p>
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
        <Choice
          key={label}
          label={label}
          value={String(chosen[place])}
          options={options}
          choose={(axis) => set(place, Number(axis))}
        />
      ))}
      {drawn.length === 2 && <Button text="Transpose" onClick={() => choose(chosen.toReversed())} />}
    </>
  );
}

function Decoding({ session: { preview } }: { session: ExplorerSession }) {
  const { scale, times } = useStore(preview);
  return (
    <span class="choice" role="group" aria-label="Decoding">
      <label title="Apply scale_factor and add_offset, and mask missing values">
        <input type="checkbox" checked={scale} onChange={() => preview.decode({ scale: !scale })} /> scale and offset
      </label>
      <label title="Read numbers 'since' a date as times">
        <input type="checkbox" checked={times} onChange={() => preview.decode({ times: !times })} /> times
      </label>
    </span>
  );
}
