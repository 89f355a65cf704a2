/** Reading values: what would be read, the question of access, the wait, and what came. */

import { useState } from "preact/hooks";

import { count } from "../shared/format.ts";
import { Blank, Sentence } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { ArrayItem, Estimate, Item } from "../shared/wire.ts";
import type { ExplorerSession, Job } from "./session.ts";
import { Values } from "./values.tsx";

/** Arrays and chunk indices that a selected key stands for. */
interface Subject {
  array: string;
  index: number[] | null;
  estimate: Estimate;
}

export function Data({ session }: { session: ExplorerSession }) {
  const { item, job, selection } = useStore(session);
  if (selection === "" || item === null) {
    return <Blank sentence="Select an array or a chunk in the tree to read its values." />;
  }
  const subject = subjectOf(item);
  const shown = job && (isAbout(job, subject) || job.array === item.array?.path) ? job : null;
  return (
    <>
      <h2 class="data-title">{titleOf(item, shown)}</h2>
      {subject && shown?.reading?.state !== "ask" && (
        <Offer
          subject={subject}
          again={isAbout(shown, subject) && shown?.reading !== null}
          busy={shown?.id != null}
          read={() => session.read(subject.array, subject.index)}
        />
      )}
      {!subject && item.array && (
        <ChunkPicker
          key={item.array.path}
          array={item.array}
          busy={shown?.id != null}
          read={(index) => session.read(item.array!.path, index)}
        />
      )}
      {!subject && !item.array && (
        <Blank sentence={`${item.path || "/"} belongs to no array: there is nothing to decode. Select an array or a chunk.`} />
      )}
      {shown && <Outcome session={session} job={shown} />}
    </>
  );
}

/** A chunk, or an array small enough to be read whole. */
function subjectOf({ chunk, array, path }: Item): Subject | null {
  if (chunk) return { array: chunk.array, index: chunk.index, estimate: chunk.estimate };
  if (array?.path === path && array.small && array.estimate) {
    return { array: array.path, index: null, estimate: array.estimate };
  }
  return null;
}

function isAbout(job: Job | null, subject: Subject | null): boolean {
  return job !== null && job.array === subject?.array && `${job.index}` === `${subject.index}`;
}

function titleOf({ path, array, chunk }: Item, job: Job | null): string {
  const index = job ? job.index : (chunk?.index ?? null);
  if (!array) return path || "/";
  return index === null ? array.path || "/" : `${array.path || "/"}, chunk ${index.join(", ") || "0"}`;
}

interface OfferProps {
  subject: Subject;
  again: boolean;
  busy: boolean;
  read(): void;
}

function Offer({ subject: { estimate }, again, busy, read }: OfferProps) {
  return (
    <div class="offer">
      <button class={again ? "button" : "button main-button"} disabled={busy} onClick={read}>
        {again ? "Read again" : estimate.label}
      </button>
      {!again && estimate.requests > 1 && (
        <span class="quiet">{count(estimate.requests)} requests</span>
      )}
    </div>
  );
}

interface PickerProps {
  array: ArrayItem;
  busy: boolean;
  read(index: number[]): void;
}

/** For an array too large to be read whole: one chunk of it. */
function ChunkPicker({ array, busy, read }: PickerProps) {
  const [index, setIndex] = useState(() => array.grid.map(() => 0));
  const set = (axis: number, text: string) => {
    const last = Number(array.grid[axis]) - 1;
    const chosen = Math.min(last, Math.max(0, Math.trunc(Number(text) || 0)));
    setIndex(index.map((old, i) => (i === axis ? chosen : old)));
  };
  return (
    <form
      class="offer"
      onSubmit={(event) => {
        event.preventDefault();
        read(index);
      }}
    >
      <span>
        The array is read in {count(array.chunk_count)} chunks. Choose one here or in the tree:
      </span>
      {array.grid.map((size, axis) => (
        <label key={axis} class="index">
          {array.dimensions?.[axis] ?? `axis ${axis}`}
          <input
            type="number"
            min={0}
            max={Number(size) - 1}
            value={index[axis]}
            onInput={(event) => set(axis, event.currentTarget.value)}
          />
        </label>
      ))}
      <button class="button main-button" disabled={busy}>Read chunk {index.join(", ")}</button>
    </form>
  );
}

function Outcome({ session, job }: { session: ExplorerSession; job: Job }) {
  const { id, error, reading, progress } = job;
  if (id !== null) {
    return (
      <div class="working" role="status">
        <progress max={progress?.of} value={progress?.done} aria-label="Reading" />
        <span>{progress?.label ?? "Reading …"}</span>
        <button class="button" onClick={() => session.run(session.cancel())}>Cancel</button>
      </div>
    );
  }
  if (error !== null) return <Failure sentence={error} />;
  if (reading === null) return null;
  if (reading.state === "failed") return <Failure sentence={reading.message ?? "Reading failed."} />;
  if (reading.state === "ask") {
    return (
      <div class="ask" role="group" aria-label="Access">
        <p><Sentence text={reading.message ?? "These bytes may not be read yet."} /></p>
        <button class="button main-button" onClick={() => session.allow(job)}>
          Allow {reading.grant}
        </button>
      </div>
    );
  }
  return (
    <>
      {reading.state === "fill" && (
        <p class="fill-said">
          <span aria-hidden="true" class="hatch" />
          {reading.message ?? "No reference for this chunk: it reads as the fill value."}
        </p>
      )}
      <Values key={job.array + job.index} reading={reading} values={job.values} />
    </>
  );
}

function Failure({ sentence }: { sentence: string }) {
  return (
    <p class="failed" role="alert">
      <span aria-hidden="true">✕</span> <Sentence text={sentence} />
    </p>
  );
}
