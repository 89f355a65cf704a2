/** Two parts of arrays side by side, with linked windows and slices, and their difference. */

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import type { ExplorerView } from "../explorer/view.ts";
import { cellWords, layout, zoomed } from "../preview/slices.ts";
import type { Integers } from "../preview/time/frames.ts";
import { Failure, Question, Waited } from "../shared/access.tsx";
import { arrayOptions, Choice, DraftField, Toggles, Zoom } from "../shared/controls.tsx";
import { bytes, count, exact, grouped, moment, value } from "../shared/format.ts";
import { Button, Sentence } from "../shared/parts.tsx";
import { ZOOM } from "../shared/pointing.ts";
import { useStore } from "../shared/store.ts";
import type { BesideRead, Plan, ReadingModel } from "../shared/wire.ts";
import style from "./sidebyside.css";
import { ALL, Besides, besideSides, besideText, type Part, type Shares, type Sides } from "./sidebyside.ts";
import { type Drawn, LinkedPictures } from "./linked.tsx";

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
    [read.left, read.right].some(
      ({ array, slices }, i) => array !== sides[i]!.array || slices.join() !== sides[i]!.slices?.join(),
    );
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
          main={!read || isOld}
          disabled={planned === null}
          onClick={() => void beside.read()}
        />
        <label class="choice" title="Change both sides together; indices move by the same amount">
          <input type="checkbox" checked={linked} onChange={() => beside.set({ linked: !linked })} /> link both parts
        </label>
        {!isCompared && <span class="quiet">Compare with another set to show its arrays here.</span>}
      </div>
      <Waited waiting={beside.planning} />
      <Waited waiting={beside.reading} />
      {error !== null && <Failure sentence={error} />}
      {asks && <Question sentence={asks.message} grant={asks.grant!} allow={(grant) => void beside.read(grant)} />}
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
  const own = plan?.array === part.array ? plan : null;
  const named = (axis: number) => own?.dimensions[axis] ?? `axis ${axis}`;
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
        options={arrayOptions(arrays, part.array)}
        choose={(array) => change({ ...part, array, slices: null })}
      />
      {part.slices?.map((text, axis) => (
        <label class="choice" key={axis}>
          <span>{named(axis)}</span>
          <DraftField
            class="beside-slice mono"
            aria-label={`${name}, ${named(axis)}: index or slice`}
            least={7}
            text={text}
            set={(next) => change({ ...part, slices: part.slices!.with(axis, next) })}
          />
        </label>
      ))}
    </div>
  );
}

function Pictures({ session, read }: { session: ExplorerSession; read: BesideRead }) {
  const beside = session.of(Besides);
  const { values, integers, window, swipes } = useStore(beside);
  const drawn = useMemo(() => picturesOf(read, values, integers), [read, values]);
  const canSwipe = drawn.slice(0, 2).every(({ axes, values: own }) => own !== null && axes.length === 2);
  const isSwiped = canSwipe && swipes;
  const zoom = (by: 1 | -1) => beside.set({ window: zoomed(window, ZOOM ** by, [0.5, 0.5]) as Shares });
  return (
    <>
      <LinkedPictures
        drawn={drawn}
        apart={isSwiped ? drawn.slice(2) : drawn}
        window={window}
        setWindow={(next) => beside.set({ window: next })}
        least={240}
        hint="Point at a picture to read its value in all of them."
        head={(picture) => <div class="side-head">{titleOf(picture)}</div>}
        absent={({ title }) => <Absent reading={title === "Left" ? read.left : read.right} />}
      >
        {(draw, width) => (
          <>
            {canSwipe && (
              <Toggles
                class="forms"
                label="Both parts as"
                options={[
                  [false, "Side by side"],
                  [true, "Swipe"],
                ]}
                value={swipes}
                choose={(next) => beside.set({ swipes: next })}
              />
            )}{" "}
            {drawn.some(({ axes }) => axes.length === 2) && (
              <Zoom
                label="Window of all pictures"
                whole="Whole part"
                keys=""
                zoom={zoom}
                reset={() => beside.set({ window: ALL })}
              />
            )}
            {isSwiped && width > 0 && (
              <Swipe titles={drawn.slice(0, 2).map(titleOf)}>
                {drawn.slice(0, 2).map((picture) => draw(picture, width))}
              </Swipe>
            )}
          </>
        )}
      </LinkedPictures>
      <p class="caption">
        <Sentence text={read.said} />
      </p>
    </>
  );
}

function titleOf({ title, label }: Drawn) {
  return (
    <>
      <b>{title}</b> <span class="quiet">{label.slice(title.length + 2)}</span>
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
function Absent({ reading: { state, message } }: { reading: ReadingModel }) {
  if (state === "failed") return <Failure sentence={message ?? "Reading failed."} />;
  return <p class="quiet">{message ?? "There are no numbers to draw."}</p>;
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
  const found = sides.map((reading, i): Drawn => {
    const own = values[i] ?? null;
    return {
      title: NAMES[i]!,
      label: `${NAMES[i]}: ${captionOf(reading)}`,
      axes: own ? layout(reading).drawn : [],
      values: own,
      text: (at) => amount(reading, own![at]!, integers[i]?.[at]),
      domain: limits(isAlike ? sides : [reading]),
      scheme: "viridis",
      times: reading.times,
    };
  });
  const gap = values[2];
  if (!gap) return found;
  const most = Math.max(Math.abs(read.low ?? 0), Math.abs(read.high ?? 0)) || 1;
  const units = read.left.units ? ` (${read.left.units})` : "";
  const span = read.low === null ? "" : `, ${value(read.low)} to ${value(read.high!)}`;
  const difference: Drawn = {
    title: "Difference",
    label: `Difference: right minus left${units}${span}`,
    axes: layout(read.left).drawn,
    values: gap,
    text: (at) => (Number.isNaN(gap[at]!) ? "missing" : value(gap[at]!)),
    domain: [-most, most],
    scheme: "rdbu",
    times: false,
  };
  return [...found, difference];
}

function amount(reading: ReadingModel, number: number, integer: bigint | undefined): string {
  if (Number.isNaN(number)) return "missing";
  const words = cellWords(reading);
  if (words) return `${words}: ${value(number)}`;
  if (reading.times && integer === undefined) return moment(number);
  return grouped(exact(number, reading.value_type!, integer));
}
