/** Reading values: which part, what would be read, the question of access, the wait, what came. */

import { useEffect, useMemo, useState } from "preact/hooks";

import { bytes, count, counted } from "../shared/format.ts";
import { Blank, Sentence } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { PathItem, Plan } from "../shared/wire.ts";
import { Failure, Question, Working } from "../shared/asking.tsx";
import { Choice } from "../maps/mapparts.tsx";
import type { Job } from "./preview.ts";
import type { ExplorerSession } from "../explorer/session.ts";
import { Player } from "./player.tsx";
import { DateField } from "./time/datefield.tsx";
import { Values } from "./values.tsx";

export function Data({ session }: { session: ExplorerSession }) {
  const { item, isComing, hello, partsAsked } = useStore(session);
  const { plan, planError, job, wanted, bound, budget } = useStore(session.preview);
  const array = item?.array ?? null;
  useEffect(() => {
    if (item === null || array === null) return;
    // A chunk that was chosen in the picture is shown there already.
    if (item.path === session.picked && job?.array === array.path) return;
    session.picked = null;
    const part = session.askedPart?.key === item.path ? session.askedPart.slices : null;
    session.askedPart = null;
    if (part?.length === array.shape.length) session.preview.want(array.path, part);
    else session.preview.look(array.path, item.chunk?.index.map(Number) ?? null);
  }, [item?.path, partsAsked]);
  // Of a plan that changes nothing of the picture is drawn again.
  const outcome = useMemo(() => job && <Outcome session={session} job={job} />, [session, job]);
  const arrays = session.part === "data" ? (hello?.arrays ?? []) : [];
  const chosen = arrays.length > 0 && (
    <Choice
      label="Array"
      value={array?.path ?? ""}
      options={[
        ...(array ? [] : [["", "choose one"] as [string, string]]),
        ...arrays.map((path): [string, string] => [path, path || "/"]),
      ]}
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
  return (
    <>
      {chosen || <h2 class="data-title">{array.path || "/"}</h2>}
      {plan?.array === array.path && (
        <div class="wanted">
          <Slices
            session={session}
            plan={plan}
            wanted={wanted ?? plan.slices}
            want={(slices) => session.preview.want(array.path, slices)}
          />
          {planError === null && shown?.reading?.state !== "ask" && (
            <Offer plan={plan} done={isDone(shown, plan)} busy={busy || isComing} read={() => session.preview.read()} />
          )}
          <details class="more">
            <summary>How much is read</summary>
            <div class="controls">
              <Choice
                label="First picture"
                value={String(budget ?? plan.budget)}
                options={budgets(Number(plan.budget))}
                choose={(to) => session.preview.setBudget(array.path, Number(to))}
              />
              {shown?.reading && (
                <Choice
                  label="Read other parts automatically"
                  value={String(bound)}
                  options={BOUNDS}
                  choose={(to) => session.preview.setBound(Number(to))}
                />
              )}
            </div>
          </details>
          {shown?.reading && (
            <span
              class="quiet"
              title="Decoded chunks that all views of the set share; the ones that were not asked for longest are let go"
            >
              {bytes(plan.kept)} of {bytes(plan.kept_most)} kept
            </span>
          )}
        </div>
      )}
      {planError !== null && <Failure sentence={planError} />}
      {isOld && !busy && (
        <p class="caption" role="status">
          The picture is of another part, <code>{shown.reading!.slices.join(", ")}</code>: read again to see the one
          above.
        </p>
      )}
      {shown && <div class={["outcome", isOld && !busy ? "old" : "", busy ? "coming" : ""].join(" ")}>{outcome}</div>}
    </>
  );
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

interface SlicesProps {
  session: ExplorerSession;
  plan: Plan;
  /** What was asked for last, which the plan may not be of yet. */
  wanted: string[];
  want(slices: string[]): void;
}

/** For each dimension the part that is wanted, as Python writes it, and a slider for an index. */
function Slices({ session, plan, wanted, want }: SlicesProps) {
  const { job } = useStore(session.preview);
  const reading = job?.array === plan.array ? job.reading : null;
  const set = (axis: number, text: string) => want(wanted.map((old, i) => (i === axis ? text : old)));
  if (plan.slices.length === 0) return null;
  return (
    <div class="slices" role="group" aria-label="Part to read">
      {wanted.map((text, axis) => (
        <div class="slice" key={axis}>
          <span class="slice-name">{plan.dimensions[axis]}</span>
          <SliceField name={plan.dimensions[axis]!} text={text} set={(next) => set(axis, next)} />
          <span class="quiet slice-size">of {count(plan.sizes[axis]!)}</span>
          {/^\d+$/.test(text) && (
            <Player session={session} plan={plan} wanted={wanted} axis={axis} set={(next) => set(axis, next)} />
          )}
          <DateField
            name={plan.dimensions[axis]!}
            coordinate={reading?.coordinates[axis]}
            isOne={/^\d+$/.test(text)}
            set={(next) => set(axis, next)}
          />
        </div>
      ))}
    </div>
  );
}

/** Keeps what is being written while the part that it is of is looked up. */
function SliceField({ name, text, set }: { name: string; text: string; set(text: string): void }) {
  const [draft, setDraft] = useState(text);
  useEffect(() => setDraft(text), [text]);
  return (
    <input
      type="text"
      class="slice-text"
      aria-label={`${name}: index or slice`}
      title="An index such as 3 or -1, a slice such as 0:10:2, or what the coordinate says, such as 2000-06 or 45.0:50.0"
      spellcheck={false}
      value={draft}
      onInput={(event) => setDraft(event.currentTarget.value)}
      onChange={() => set(draft)}
    />
  );
}

interface OfferProps {
  plan: Plan;
  done: boolean;
  busy: boolean;
  read(): void;
}

function Offer({ plan: { estimate, chunk_count }, done, busy, read }: OfferProps) {
  const cost = [
    chunk_count > 1 ? counted(chunk_count, "chunk") : "",
    Number(estimate.requests) > 1 ? counted(estimate.requests, "request") : "",
  ].filter(Boolean);
  return (
    <div class="offer">
      <button type="button" class={done ? "button" : "button main-button"} disabled={busy} onClick={read}>
        {done ? "Read again" : estimate.label}
      </button>
      {!done && cost.length > 0 && <span class="quiet">{cost.join(", ")}</span>}
    </div>
  );
}

function Outcome({ session, job }: { session: ExplorerSession; job: Job }) {
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
          {reading.message ?? "There is no reference for this part, which reads as the fill value."}
        </p>
      )}
      <Values key={job.array} session={session} reading={reading} values={job.values} integers={job.integers} />
      {reading.state !== "fill" && (reading.message ?? job.isStopped) && (
        <p class="caption">
          {job.isStopped && "Reading was stopped: what came until then is shown. "}
          <Sentence text={reading.message ?? ""} />
        </p>
      )}
    </>
  );
}
