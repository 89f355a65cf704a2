/** Reading values: which part, what would be read, the question of access, the wait, what came. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { bytes, count, counted, exact } from "../shared/format.ts";
import { Blank, Button, Sentence } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { Coordinate, PathItem, Plan } from "../shared/wire.ts";
import { Allow, Failure, Question, Working } from "../shared/access.tsx";
import { ChunkBoard } from "../maps/chunkboard.tsx";
import { Legend } from "../maps/legend.tsx";
import { arrayOptions, Choice, DraftField } from "../shared/controls.tsx";
import type { Job } from "./preview.ts";
import type { ExplorerSession } from "../explorer/session.ts";
import type { ExplorerView } from "../explorer/view.ts";
import { Menu, type KeptMenu } from "../shared/menu.tsx";
import { DateField, Scrubber } from "./scrubber.tsx";
import { Values } from "./values.tsx";

export const VIEW: ExplorerView = { name: "data", Shown: Data };

export function Data({ session }: { session: ExplorerSession }) {
  const { item, isComing, hello, partsAsked } = useStore(session);
  const { plan, planError, job, wanted } = useStore(session.preview);
  const array = item?.array ?? null;
  // The menu is at another position once a picture is here.
  const kept = useRef({ isOpen: false, focus: null }).current;
  useEffect(() => {
    if (item === null || array === null) return;
    // Another look of the switch shows the same picture, with the part that was zoomed to.
    const looked = `${partsAsked} ${item.path}`;
    if (looked === session.looked && session.preview.array === array.path) return;
    session.looked = looked;
    // A chunk that was chosen in the picture is shown there already.
    if (item.path === session.picked && job?.array === array.path) return;
    session.picked = null;
    const part = session.askedPart?.key === item.path ? session.askedPart.slices : null;
    session.askedPart = null;
    if (part?.length === array.shape.length) session.preview.want(array.path, part);
    else session.preview.look(array.path, item.chunk?.index.map(Number) ?? null);
  }, [item?.path, partsAsked]);
  const arrays = session.part === "data" ? (hello?.arrays ?? []) : [];
  const chosen = arrays.length > 0 && (
    <Choice
      label="Array"
      value={array?.path ?? ""}
      options={array ? arrayOptions(arrays, array.path) : [["", "choose one"], ...arrayOptions(arrays)]}
      choose={(path) => session.run(session.reveal(path))}
    />
  );
  if (item === null || array === null) {
    return (
      <>
        {chosen}
        <Blank sentence={nothing(item)} />
      </>
    );
  }
  const shown = job?.array === array.path ? job : null;
  const busy = shown?.id != null;
  const part = wanted ?? plan?.slices;
  const isOld = shown?.reading != null && part !== undefined && part.join() !== shown.reading.slices.join();
  const own = plan?.array === array.path ? plan : null;
  const want = (slices: string[]) => session.preview.want(array.path, slices);
  const menu = own && (
    <Part session={session} plan={own} wanted={wanted ?? own.slices} want={want} isRead={shown?.reading != null} />
  );
  const places = own && <Places session={session} plan={own} wanted={wanted ?? own.slices} want={want} />;
  const isShowing = shown?.reading != null && !["failed", "ask"].includes(shown.reading.state) && shown.error === null;
  const isUnread = own !== null && planError === null && !busy && !isShowing && shown?.error == null;
  const isOffered = own && planError === null && shown?.reading?.state !== "ask";
  return (
    <>
      {chosen}
      {own && own.levels.length > 1 && (
        <Choice
          label="Resolution"
          value={array.path}
          options={own.levels.map((level): [string, string] => [level.array, levelText(level)])}
          choose={(path) => session.run(session.reveal(path))}
        />
      )}
      {own && !shown?.values && !shown?.reading?.texts && (
        <Menu label="Part and reading" kept={kept}>
          {menu}
        </Menu>
      )}
      {isOffered && !isDone(shown, own) && !busy && (
        <Offer
          plan={own}
          busy={busy || isComing}
          read={() => session.preview.read()}
          allow={(grant) => void session.preview.allowAndRead(grant)}
        />
      )}
      {planError !== null && <Failure sentence={planError} />}
      {isOld && !busy && (
        <p class="caption" role="status">
          Out of date: the picture shows <code>{shown.reading!.slices.join(", ")}</code>. Read again.
        </p>
      )}
      {shown && (
        <div class={["outcome", isOld && !busy ? "old" : "", busy ? "coming" : ""].join(" ")}>
          <Outcome session={session} job={shown} menu={menu} kept={kept} places={places} />
        </div>
      )}
      {isUnread && <Unread session={session} array={array.path} />}
      {!isShowing && places}
    </>
  );
}

/** A level of a pyramid: its shape, and how far its cells are apart where that is known. */
function levelText({ sizes, resolution, array }: Plan["levels"][number]): string {
  const shape = sizes.map(count).join(" × ");
  const cell =
    resolution === null ? "" : `, cells of ${resolution.map((each) => exact(Number(each), "float64")).join(" × ")}`;
  return `${shape}${cell} (${array})`;
}

interface PartProps {
  session: ExplorerSession;
  plan: Plan;
  /** What was asked for last, which the plan may not be of yet. */
  wanted: string[];
  want(slices: string[]): void;
}

/** Which part is read, as Python writes it, and how much may be read without a question. */
function Part({ session, plan, wanted, want, isRead }: PartProps & { isRead: boolean }) {
  const { bound, budget, job } = useStore(session.preview);
  return (
    <>
      <Slices session={session} plan={plan} wanted={wanted} want={want} />
      <div class="controls">
        <Choice
          label="First picture"
          value={String(budget ?? plan.budget)}
          options={budgets(Number(plan.budget))}
          choose={(to) => session.preview.setBudget(plan.array, Number(to))}
        />
        {isRead && (
          <Choice
            label="Read other selections automatically"
            value={String(bound)}
            options={BOUNDS}
            choose={(to) => session.preview.setBound(Number(to))}
          />
        )}
      </div>
      {isRead && (
        <div class="offer">
          <Button text="Read again" disabled={job?.id != null} onClick={() => session.preview.read()} />
          <span
            class="quiet"
            title="Decoded chunks, shared by all views of the set; the least recently used are dropped"
          >
            {bytes(plan.kept)} of {bytes(plan.kept_most)} kept
          </span>
        </div>
      )}
    </>
  );
}

/** Pictures that are read before they are asked for. */
const AHEAD = 8;

/** A scrubber for each dimension of which one place is read. */
export function Places({ session, plan, wanted, want }: PartProps) {
  const { job, bound } = useStore(session.preview);
  const strips = useStore(session.strips);
  useEffect(() => session.strips.look(plan.array), [plan.array]);
  const asked = useRef("");
  const isShown =
    job !== null &&
    job.id === null &&
    job.error === null &&
    job.reading?.slices.join() === plan.slices.join() &&
    wanted.join() === plan.slices.join();
  const axes = wanted.flatMap((text, axis) => (/^\d+$/.test(text) && Number(plan.sizes[axis]) > 1 ? [axis] : []));
  const last = axes[0];
  useEffect(() => {
    // Only what is cheap is read without a question, so playing stops at what is not.
    if (last === undefined || !isShown || job.array !== plan.array || bound === 0) return;
    const [at, size] = [Number(wanted[last]), Number(plan.sizes[last])];
    const parts = Array.from({ length: Math.min(AHEAD, size - 1) }, (_, i) =>
      wanted.with(last, String((at + 1 + i) % size)),
    );
    const text = parts.join(";");
    if (text === asked.current) return;
    asked.current = text;
    void session.preview.readAhead(plan.array, parts);
  }, [isShown, wanted.join(), bound]);
  const reading = job?.array === plan.array ? job.reading : null;
  return (
    <>
      {axes.map((axis) => {
        const coordinate = reading?.coordinates[axis];
        const set = (text: string) => want(wanted.with(axis, text));
        return (
          <Scrubber
            key={axis}
            name={plan.dimensions[axis]!}
            size={Number(plan.sizes[axis])}
            at={Number(wanted[axis])}
            place={isShown && coordinate ? placeText(coordinate) : ""}
            move={(to) => set(String(to))}
            isShown={isShown}
            strip={strips.array === plan.array ? strips.strips[axis] : undefined}
            marks={strips.array === plan.array ? strips.marks.filter((mark) => mark.axis === axis) : []}
          >
            <DateField name={plan.dimensions[axis]!} coordinate={coordinate} set={set} />
          </Scrubber>
        );
      })}
    </>
  );
}

/** Where the one place of a coordinate is; a date has a field of its own. */
function placeText({ values, texts, times }: Coordinate): string {
  if (texts?.[0] !== undefined) return texts[0];
  const first = values?.[0];
  return first == null || times ? "" : exact(first, "float64");
}

const BOUNDS: [string, string][] = [
  ["0", "never"],
  ["100000", "up to 100 kB"],
  ["1000000", "up to 1 MB"],
  ["10000000", "up to 10 MB"],
];

/** What a first picture may fetch: that of the set, and some others. */
function budgets(own: number): [string, string][] {
  const sizes = [...new Set([own, 500_000, 2_000_000, 10_000_000, 50_000_000])].sort((a, b) => a - b);
  return sizes.map((size) => [String(size), `up to ${bytes(size)}`]);
}

function nothing(item: PathItem | null): string {
  return item === null
    ? "Select an array or a chunk in the tree to read its values."
    : `${item.path || "/"} is not part of an array, so there is nothing to decode. Select an array or a chunk.`;
}

function isDone(job: Job | null, plan: Plan): boolean {
  return job?.reading != null && job.id === null && !job.isStopped && job.reading.slices.join() === plan.slices.join();
}

/** For each dimension the part that is wanted, as Python writes it. */
function Slices({ plan, wanted, want }: PartProps) {
  if (plan.slices.length === 0) return null;
  return (
    <div class="slices" role="group" aria-label="Part to read">
      {wanted.map((text, axis) => (
        <div class="slice" key={axis}>
          <span class="slice-name">{plan.dimensions[axis]}</span>
          <DraftField
            class="slice-text"
            aria-label={`${plan.dimensions[axis]}: index or slice`}
            title="An index such as 3 or -1, a slice such as 0:10:2, or coordinate values, such as 2000-06 or 45.0:50.0"
            text={text}
            set={(next) => want(wanted.with(axis, next))}
          />
          <span class="quiet slice-size">of {count(plan.sizes[axis]!)}</span>
        </div>
      ))}
    </div>
  );
}

const LOCAL = "this machine";

interface OfferProps {
  plan: Plan;
  busy: boolean;
  read(): void;
  allow(grant: string): void;
}

/** The cost of reading the part, and one button, which also allows its location if needed. */
function Offer({ plan: { estimate, grant }, busy, read, allow }: OfferProps) {
  if (grant === "") return <Failure sentence={`${estimate.label}: this page may not read it.`} />;
  const size = estimate.bytes === null ? "" : ` ${bytes(estimate.bytes)}`;
  const hosts = new Set(estimate.targets.map((url) => /^(?!file:)[a-z][\w+.-]*:\/\/[^/]*/i.exec(url)?.[0] ?? LOCAL));
  const said = `${counted(estimate.requests, "request")}${size === "" ? " of unknown size" : `,${size}`} from ${[...hosts].join(", ")}`;
  return (
    <div class="offer">
      {grant === null ? (
        <Button text={estimate.label} main disabled={busy} onClick={read} />
      ) : (
        <Allow grant={grant} then={` and read${size}`} busy={busy} allow={allow} />
      )}
      {Number(estimate.requests) > 0 && <span class="quiet">{said}</span>}
    </div>
  );
}

/** What is known of the chunks while nothing of them was read. */
function Unread({ session, array }: { session: ExplorerSession; array: string }) {
  const { maps } = session;
  const { grid } = useStore(maps);
  const { item } = useStore(session);
  useEffect(() => {
    if (grid?.array !== array && (grid !== undefined || !maps.isAsked)) maps.showGrid(array);
  }, [array]);
  if (grid?.array !== array || grid.rows * grid.columns === 0) return null;
  return (
    <>
      <ChunkBoard
        picture={grid}
        by="kind"
        changes={null}
        selected={item?.chunk?.index.map(Number) ?? null}
        only={null}
        select={(key) => session.run(session.reveal(key))}
        zoomTo={() => session.show("chunks")}
      />
      <Legend grid={grid} by="kind" />
    </>
  );
}

interface OutcomeProps {
  session: ExplorerSession;
  job: Job;
  menu: ComponentChildren;
  kept: KeptMenu;
  places: ComponentChildren;
}

function Outcome({ session, job, menu, kept, places }: OutcomeProps) {
  const { id, error, reading } = job;
  const working = id !== null && <Working progress={job.progress} cancel={() => session.preview.cancel()} />;
  if (working && (reading === null || reading.state === "failed")) return working;
  if (error !== null) return <Failure sentence={error} />;
  if (reading === null) return null;
  if (reading.state === "failed") return <Failure sentence={reading.message ?? "Reading failed."} />;
  if (reading.state === "ask") {
    return <Question sentence={reading.message} grant={reading.grant!} allow={() => session.preview.allow(job)} />;
  }
  return (
    <>
      {working}
      {reading.state === "fill" && (
        <p class="fill-said">
          <span aria-hidden="true" class="hatch" />
          {reading.message ?? "No chunk of this part has a reference, so all values read as the fill value."}
        </p>
      )}
      <Values
        key={job.array}
        session={session}
        reading={reading}
        values={job.values}
        integers={job.integers}
        part={menu}
        menu={kept}
        places={places}
        isPart={job.isStopped === true || (id !== null && reading.slices.join() === job.slices.join())}
      />
      {reading.state !== "fill" && (reading.message ?? job.isStopped) && (
        <p class="caption">
          {job.isStopped && "Reading was stopped: only part of the values is shown. "}
          <Sentence text={reading.message ?? ""} />
        </p>
      )}
    </>
  );
}
