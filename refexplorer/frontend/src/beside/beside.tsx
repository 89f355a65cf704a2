/** Two parts of arrays side by side, with linked windows and slices, and their difference. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import type { ExplorerView } from "../explorer/view.ts";
import { Choice } from "../maps/mapparts.tsx";
import { placing } from "../preview/bars.ts";
import { tableOf, type Scheme } from "../preview/colours.ts";
import { heatmap, legend, line, painted, type Figure, type Look } from "../preview/plot.ts";
import { cellWords, layout, placeOf, type Axis } from "../preview/slices.ts";
import type { Integers } from "../preview/time/frames.ts";
import { moved, zoomed, type Window } from "../preview/window.ts";
import { ARROWS, stepped } from "../shared/arrows.ts";
import { Failure, Question, Waited } from "../shared/asking.tsx";
import { bytes, count, exact, grouped, moment, value } from "../shared/format.ts";
import { Button, Sentence } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import { useWidth } from "../shared/width.ts";
import type { BesideRead, Plan, ReadingModel } from "../shared/wire.ts";
import style from "./beside.css";
import { ALL, Besides, besideSides, besideText, type Part, type Shares, type Sides } from "./besides.ts";

/** The least width of a picture, and what is between two; without room they stand below each other; px. */
const [LEAST, GAP] = [240, 12];
const ZOOM = 1.5;

/** The least width of a field, characters; it grows with what is typed in. */
const FIELD = 7;
const NAMES = ["Left", "Right"] as const;

export const VIEW: ExplorerView = {
  name: "beside",
  Shown: Beside,
  style,
  address: {
    beside: {
      text: (session) => (session.state.look === "beside" ? besideText(session.of(Besides).state) : ""),
      show(session, text) {
        const { sides, window } = besideSides(text) ?? {};
        if (!sides || !window) return;
        session.of(Besides).set({ window });
        session.of(Besides).show(sides, true);
      },
      isLate: true,
    },
  },
};

function Beside({ session }: { session: ExplorerSession }) {
  const { comparing } = session;
  const beside = session.of(Besides);
  const { hello, item } = useStore(session);
  const { sides, planned, read, error, linked } = useStore(beside);
  const { compared } = useStore(comparing);
  const arrays = hello?.arrays ?? [];
  const wanted = item?.array?.path ?? null;
  const isCompared = compared?.sets != null;
  useEffect(() => {
    // What a person, or an address, chose stays when another array is selected.
    const [left, right] = sides ?? [];
    if (wanted !== null && !beside.isChosen && (right?.array !== wanted || left?.other !== isCompared))
      beside.show(firstOf(session, wanted, isCompared));
  }, [wanted, isCompared]);
  if (sides === null) return <p class="quiet">Select an array in the tree to see two parts of it side by side.</p>;
  const asks = read && [read.left, read.right].find(({ state }) => state === "ask");
  const isOld =
    read !== null &&
    sides.some(({ array, slices }, i) => {
      const { array: drawn, slices: parts } = i === 0 ? read.left : read.right;
      return drawn !== array || slices?.join() !== parts.join();
    });
  return (
    <div class="beside">
      {sides.map((part, which) => (
        <Chosen
          key={NAMES[which]}
          name={NAMES[which]!}
          part={part}
          plan={planned && (which === 0 ? planned.left : planned.right)}
          arrays={part.other ? (planned?.others ?? []) : arrays}
          isCompared={isCompared}
          change={(next) => beside.change(which as 0 | 1, next)}
        />
      ))}
      <div class="controls">
        <Button
          text={read && !isOld ? "Read both again" : planned ? priceOf(planned.left, planned.right) : "Read both"}
          class={read && !isOld ? "button" : "button main-button"}
          disabled={planned === null}
          onClick={() => void beside.read()}
        />
        <label class="choice" title="Change both sides together; an index moves by the same number">
          <input type="checkbox" checked={linked} onChange={() => beside.set({ linked: !linked })} /> parts linked
        </label>
        {!isCompared && <span class="quiet">Compare with another set to show its arrays here.</span>}
      </div>
      <Waited waiting={beside.planning} />
      <Waited waiting={beside.reading} />
      {error !== null && <Failure sentence={error} />}
      {asks ? (
        <Question sentence={asks.message} grant={asks.grant!} allow={(grant) => void beside.read(grant)} />
      ) : null}
      {read && !asks && (
        <div class={isOld ? "old" : ""}>
          <Pictures session={session} read={read} />
        </div>
      )}
      {isOld && (
        <p class="caption" role="status">
          Out of date: the pictures show other parts. Read again.
        </p>
      )}
    </div>
  );
}

/** At first the same array twice, or in both sets; what the tab Data shows is on the left. */
function firstOf(session: ExplorerSession, array: string, isCompared: boolean): Sides {
  const { plan } = session.preview.state;
  const isSingle = plan?.array === array && plan.shape.filter((size) => Number(size) > 1).length <= 2;
  const slices = isSingle ? plan.slices : null;
  return [
    { array, slices, other: isCompared },
    { array, slices, other: false },
  ];
}

function priceOf(left: Plan, right: Plan): string {
  const [one, two] = [left.estimate, right.estimate];
  if (one.bytes === null || two.bytes === null) return "Read both";
  const size = Number(one.bytes) + Number(two.bytes);
  return size === 0 ? "Show both" : `Read ${bytes(size)} for both`;
}

interface ChosenProps {
  name: string;
  part: Part;
  plan: Plan | null;
  arrays: string[];
  isCompared: boolean;
  change(part: Part): void;
}

function Chosen({ name, part, plan, arrays, isCompared, change }: ChosenProps) {
  const known = arrays.includes(part.array) ? arrays : [part.array, ...arrays];
  const own = plan?.array === part.array ? plan : null;
  return (
    <div class="controls" role="group" aria-label={`${name} part`}>
      <b>{name}</b>
      {isCompared && (
        <Choice
          label="Set"
          value={part.other ? "other" : ""}
          options={[
            ["", "this set"],
            ["other", "the other set"],
          ]}
          choose={(which) => change({ ...part, other: which === "other" })}
        />
      )}
      <Choice
        label="Array"
        value={part.array}
        options={known.map((path) => [path, path || "/"])}
        choose={(array) => change({ ...part, array, slices: null })}
      />
      {part.slices?.map((text, axis) => (
        <Slice
          key={axis}
          name={own?.dimensions[axis] ?? `axis ${axis}`}
          of={`${name}, ${own?.dimensions[axis] ?? `axis ${axis}`}`}
          text={text}
          set={(next) => change({ ...part, slices: part.slices!.with(axis, next) })}
        />
      ))}
    </div>
  );
}

function Slice({ name, of, text, set }: { name: string; of: string; text: string; set(text: string): void }) {
  const [draft, setDraft] = useState(text);
  useEffect(() => setDraft(text), [text]);
  return (
    <label class="choice">
      <span>{name}</span>
      <input
        type="text"
        class="beside-slice mono"
        aria-label={`${of}: index or slice`}
        spellcheck={false}
        style={{ width: `${Math.max(FIELD, draft.length) + 2}ch` }}
        value={draft}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onChange={() => set(draft)}
      />
    </label>
  );
}

interface Drawn {
  title: string;
  caption: string;
  axes: Axis[];
  values: Float64Array;
  integers: Integers | null;
  /** The data type of the values; null for a difference. */
  type: string | null;
  /** What a cell is where it is not one value. */
  words: string;
  domain: [number, number];
  scheme: Scheme;
  times: boolean;
}

function Pictures({ session, read }: { session: ExplorerSession; read: BesideRead }) {
  const beside = session.of(Besides);
  const { values, integers, window, swipes } = useStore(beside);
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const [cursor, setCursor] = useState<number[] | null>(null);
  const drawn = useMemo(() => picturesOf(read, values, integers), [read, values]);
  const canSwipe = values[0] != null && values[1] != null && drawn.slice(0, 2).every(({ axes }) => axes.length === 2);
  const isSwiped = canSwipe && swipes;
  const apart = isSwiped ? drawn.slice(2) : drawn;
  const columns = Math.max(1, Math.min(drawn.length, Math.floor(width / LEAST)));
  const each = Math.floor((width - GAP * (columns - 1)) / columns);
  const isFlat = drawn.some(({ axes }) => axes.length === 2);
  const zoom = (factor: number) => beside.set({ window: zoomed(window, factor, [0.5, 0.5]) as Shares });
  const linked = (picture: Drawn, wide: number) => (
    <Linked
      label={`${picture.title}: ${picture.caption}`}
      picture={picture}
      width={wide}
      window={window}
      setWindow={(next) => beside.set({ window: next })}
      point={setCursor}
    />
  );
  return (
    <div ref={box}>
      {canSwipe && (
        <span class="zoom forms" role="group" aria-label="Both parts as">
          {["Side by side", "Swipe"].map((name, i) => (
            <Button
              text={name}
              key={name}
              aria-pressed={swipes === (i === 1)}
              onClick={() => beside.set({ swipes: i === 1 })}
            />
          ))}
        </span>
      )}{" "}
      {isFlat && (
        <span class="zoom" role="group" aria-label="Window of all pictures">
          <Button text="+" aria-label="Zoom in" title="Zoom in (+)" onClick={() => zoom(ZOOM)} />
          <Button text="−" aria-label="Zoom out" title="Zoom out (-)" onClick={() => zoom(1 / ZOOM)} />
          <Button text="Whole part" title="All chunks read (0)" onClick={() => beside.set({ window: ALL })} />
        </span>
      )}
      {isSwiped && width > 0 && (
        <Swipe titles={drawn.slice(0, 2).map(titleOf)}>
          {drawn.slice(0, 2).map((picture) => linked(picture, width))}
        </Swipe>
      )}
      <div
        class="beside-pictures"
        style={{ gap: `${GAP}px`, gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))` }}
      >
        {[read.left, read.right].map((reading, i) =>
          values[i] ? null : <Absent key={NAMES[i]} name={NAMES[i]!} reading={reading} />,
        )}
        {width > 0 &&
          apart.map((picture) => (
            <div key={picture.title}>
              <div class="side-head">{titleOf(picture)}</div>
              {picture.axes.length === 0 ? <p class="mono">{amount(picture, 0)}</p> : linked(picture, each)}
            </div>
          ))}
      </div>
      <p class="readout" role="status">
        {cursor === null || drawn.length === 0
          ? "Point at a picture to read its value in all of them."
          : readout(drawn, cursor)}
      </p>
      <p class="caption">
        <Sentence text={read.said} />
      </p>
    </div>
  );
}

function titleOf({ title, caption }: Drawn) {
  return (
    <>
      <b>{title}</b> <span class="quiet">{caption}</span>
    </>
  );
}

/** Two pictures over each other: the right part is seen right of a line. */
function Swipe({ titles, children }: { titles: ComponentChildren[]; children: ComponentChildren[] }) {
  const [at, setAt] = useState(50);
  return (
    <div class="swipe" style={{ "--share": at / 100 }}>
      <div class="swipe-titles">
        {titles.map((title, i) => (
          <span key={NAMES[i]}>{title}</span>
        ))}
      </div>
      <input
        type="range"
        class="scrubber-range"
        aria-label="Line between both parts"
        aria-valuetext={`left part up to ${at} %`}
        value={at}
        onInput={(event) => setAt(Number(event.currentTarget.value))}
      />
      <div class="swipe-box">
        {children[0]}
        <div class="swipe-over" inert>
          {children[1]}
        </div>
        <span class="swipe-line" />
      </div>
    </div>
  );
}

/** A side of which there is nothing to draw. */
function Absent({ name, reading }: { name: string; reading: ReadingModel }) {
  return (
    <div>
      <div class="side-head">
        <b>{name}</b> <span class="quiet">{captionOf(reading)}</span>
      </div>
      {reading.state === "failed" ? (
        <Failure sentence={reading.message ?? "Reading failed."} />
      ) : (
        <p class="quiet">{reading.message ?? "There are no numbers to draw."}</p>
      )}
    </div>
  );
}

function captionOf({ array, slices, units, chunks }: ReadingModel): string {
  const failed = chunks.failed > 0 ? ` · ✕ ${count(chunks.failed)} failed` : "";
  const fill = chunks.fill > 0 ? ` · ${count(chunks.fill)} without a reference` : "";
  return `${array || "/"}[${slices.join(", ")}]${units ? ` (${units})` : ""}${fill}${failed}`;
}

/** Both parts with the same limits, and the difference with limits around 0. */
function picturesOf(read: BesideRead, values: (Float64Array | null)[], integers: (Integers | null)[]): Drawn[] {
  const sides = [read.left, read.right];
  const isAlike = read.left.units === read.right.units && read.left.times === read.right.times;
  const limits = (readings: ReadingModel[]): [number, number] => {
    const low = Math.min(...readings.map(({ minimum }) => minimum ?? Infinity));
    const high = Math.max(...readings.map(({ maximum }) => maximum ?? -Infinity));
    return low < high ? [low, high] : Number.isFinite(low) ? [low - 0.5, low + 0.5] : [0, 1];
  };
  const found: Drawn[] = sides.flatMap((reading, i) => {
    const own = values[i];
    if (!own) return [];
    return [
      {
        title: NAMES[i]!,
        caption: captionOf(reading),
        axes: layout(reading).drawn,
        values: own,
        integers: integers[i] ?? null,
        type: reading.value_type!,
        words: cellWords(reading),
        domain: limits(isAlike ? sides : [reading]),
        scheme: "viridis" as Scheme,
        times: reading.times,
      },
    ];
  });
  const gap = values[2];
  if (!gap) return found;
  const most = Math.max(Math.abs(read.low ?? 0), Math.abs(read.high ?? 0)) || 1;
  const units = read.left.units ? ` (${read.left.units})` : "";
  const caption = `right minus left${units}${read.low === null ? "" : `, ${value(read.low)} to ${value(read.high!)}`}`;
  return [
    ...found,
    {
      title: "Difference",
      caption,
      axes: layout(read.left).drawn,
      values: gap,
      integers: null,
      type: null,
      words: "",
      domain: [-most, most],
      scheme: "rdbu",
      times: false,
    },
  ];
}

interface LinkedProps {
  /** What it is of, for those who do not see it. */
  label: string;
  picture: Pick<Drawn, "title" | "axes" | "values" | "domain" | "scheme" | "times">;
  width: number;
  window: Shares;
  setWindow(window: Shares): void;
  /** Takes where the cursor is, as shares of the rows and columns. */
  point(at: number[] | null): void;
}

/** A picture that zooms and moves with the others. */
export function Linked({ label, picture, width, window, setWindow, point }: LinkedProps) {
  const { axes, values, domain, scheme, times, title } = picture;
  const box = useRef<HTMLDivElement>(null);
  const bar = useRef<HTMLDivElement>(null);
  const figure = useRef<Figure | null>(null);
  const drag = useRef<{ x: number; y: number; window: Shares } | null>(null);
  const [at, setAt] = useState<number[] | null>(null);
  const pair = axes.length === 2 ? (axes as [Axis, Axis]) : null;
  const cells = useMemo(
    () => pair && painted(values, pair[1].size, pair[0].size, tableOf(scheme), placing("linear", domain)),
    [values, scheme, domain.join()],
  );
  const look: Look = {
    width,
    height: Math.round(Math.min(340, Math.max(190, width * 0.7))),
    label: title,
    domain,
    scheme,
    scale: "linear",
    times,
    marked: [],
  };
  useLayoutEffect(() => {
    if (width <= 0) return;
    figure.current = pair ? heatmap(cells!, pair, look, cellsOf(window, pair)) : line(values, axes[0]!, look);
    figure.current.element.setAttribute("aria-hidden", "true");
    box.current!.replaceChildren(figure.current.element);
    if (pair) bar.current?.replaceChildren(legend("", Math.min(220, width), look));
  }, [cells, values, width, window, domain.join()]);
  const go = (next: number[] | null) => {
    setAt(next);
    point(next?.map((cell, i) => (cell + 0.5) / axes[i]!.size) ?? null);
  };
  const place = (event: MouseEvent): [number, number] => {
    const frame = box.current!.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const move = event.shiftKey && pair ? ARROWS[event.key] : undefined;
    const next = stepped(at, event.key, axes);
    if (move) setWindow(moved(window, [move[0] / 4, move[1] / 4]) as Shares);
    else if (next) go(next);
    else if (pair && (event.key === "+" || event.key === "=")) setWindow(zoomed(window, ZOOM, [0.5, 0.5]) as Shares);
    else if (pair && event.key === "-") setWindow(zoomed(window, 1 / ZOOM, [0.5, 0.5]) as Shares);
    else if (pair && event.key === "0") setWindow(ALL);
    else return;
    event.preventDefault();
  };
  return (
    <>
      {pair && <div class="legend" ref={bar} aria-hidden="true" />}
      <div
        class="figure"
        ref={box}
        role="application"
        tabIndex={0}
        aria-label={`${label}; arrow keys read single values${pair ? "; plus and minus zoom all pictures, Shift and arrow keys move them" : ""}`}
        onPointerDown={(event) => {
          const [x, y] = place(event);
          drag.current = { x, y, window };
        }}
        onPointerMove={(event) => {
          const [x, y] = place(event);
          const from = drag.current;
          const share = figure.current?.share;
          if (event.buttons !== 1 || from === null || !share) return go(figure.current?.locate(x, y) ?? null);
          if (Math.hypot(x - from.x, y - from.y) < 4) return;
          box.current!.setPointerCapture(event.pointerId);
          const [before, now] = [share(from.x, from.y), share(x, y)];
          setWindow(moved(from.window, [before[0] - now[0], before[1] - now[1]]) as Shares);
        }}
        onPointerUp={() => {
          drag.current = null;
        }}
        onPointerLeave={() => go(null)}
        onKeyDown={onKeyDown}
      />
    </>
  );
}

/** The window in the cells of a picture. */
function cellsOf(shares: Shares, axes: [Axis, Axis]): Window {
  return shares.map(([from, to], i) => [from * axes[i]!.size, to * axes[i]!.size]) as Window;
}

/** The value of each picture at a place. */
function readout(drawn: Drawn[], shares: number[]): string {
  let before = "";
  const parts = drawn.map((picture) => {
    const { axes, title } = picture;
    if (axes.length !== shares.length) return `${title}: none`;
    const places = shares.map((share, i) => Math.min(axes[i]!.size - 1, Math.floor(share * axes[i]!.size)));
    const flat = axes.length === 2 ? places[0]! * axes[1]!.size + places[1]! : places[0]!;
    const where = axes.map((axis, i) => `${axis.name} ${placeOf(axis, places[i]!)}`).join(", ");
    const isOther = where !== before;
    before = where;
    return `${isOther ? `${where}: ` : ""}${title.toLowerCase()} ${amount(picture, flat)}`;
  });
  return parts.join(" · ");
}

function amount({ values, integers, times, type, words }: Drawn, at: number): string {
  const number = values[at]!;
  if (Number.isNaN(number)) return "missing";
  if (type === null || words) return `${words && `${words}: `}${value(number)}`;
  const integer = integers?.[at];
  return times && integer === undefined ? moment(number) : grouped(exact(number, type, integer));
}
