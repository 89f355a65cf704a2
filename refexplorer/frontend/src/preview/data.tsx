/** Reading values: which part, what would be read, the question of access, the wait, what came. */

import { useEffect, useRef } from "preact/hooks";

import { bytes, count, counted, exact } from "../shared/format.ts";
import { Blank, Button, Sentence } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { PathItem, Plan } from "../shared/wire.ts";
import { Allow, Failure, Question, Working } from "../shared/access.tsx";
import { ChunkBoard } from "../maps/chunkboard.tsx";
import { Legend } from "../maps/legend.tsx";
import { arrayOptions, Choice } from "../shared/controls.tsx";
import type { Job } from "./preview.ts";
import type { ExplorerSession } from "../explorer/session.ts";
import type { ExplorerView } from "../explorer/view.ts";
import type { KeptMenu } from "../shared/menu.tsx";
import { PartMenu, Places } from "./part.tsx";
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
      {own && !shown?.values && !shown?.reading?.texts && <PartMenu session={session} array={array.path} kept={kept} />}
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
          <Outcome session={session} job={shown} kept={kept} />
        </div>
      )}
      {isUnread && <Unread session={session} array={array.path} />}
      {!isShowing && <Places session={session} array={array.path} />}
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

function nothing(item: PathItem | null): string {
  return item === null
    ? "Select an array or a chunk in the tree to read its values."
    : `${item.path || "/"} is not part of an array, so there is nothing to decode. Select an array or a chunk.`;
}

function isDone(job: Job | null, plan: Plan): boolean {
  return job?.reading != null && job.id === null && !job.isStopped && job.reading.slices.join() === plan.slices.join();
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

function Outcome({ session, job, kept }: { session: ExplorerSession; job: Job; kept: KeptMenu }) {
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
        menu={kept}
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
