/** The first table of a set: its arrays, what is wrong with their chunks, each number a link to them. */

import { useEffect } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import { Counting } from "../shared/access.tsx";
import { DataTable, Order } from "../shared/controls.tsx";
import { bytes, count, counted, SEVERITY_MARKS } from "../shared/format.ts";
import { Button, CountLink, Unknown, Words } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { Count, HealthRow, TimeRange } from "../shared/wire.ts";
import { STATE_NAMES, type ChunkState, type HealthSort } from "./health.ts";

const TROUBLE: ChunkState[] = ["rejected", "failed", "differing"];

interface Sorted {
  name: string;
  sort: HealthSort;
  title: string;
  class?: string;
}

const COLUMNS: Sorted[] = [
  { name: "Array", sort: "path", title: "In the order of the set", class: "start" },
  { name: "Chunk", sort: "chunks", title: "Chunk shape (click to sort by the number of chunks)", class: "start wide" },
  { name: "Size", sort: "bytes", title: "Total bytes of its references", class: "number wide" },
  { name: "Time", sort: "times", title: "First and last time; sorts by the first", class: "start middle mono" },
  {
    name: "Referenced",
    sort: "referenced",
    title: "Chunks with a reference, out of all chunks",
    class: "number middle",
  },
  { name: "No reference", sort: "absent", title: "Chunks without a reference: they read as the fill value" },
  { name: "Rejected", sort: "rejected", title: "Chunks whose reference has an error and cannot be used" },
  { name: "Failed", sort: "failed", title: "Chunks that could not be fetched or decoded when they were read" },
  { name: "Not read", sort: "unread", title: "Chunks with a reference that have not been read here yet" },
  { name: "Differs from file", sort: "differing", title: "Compared chunks that differ from their file" },
  { name: "Overlapping", sort: "overlapping", title: "Chunks whose byte range shares bytes with that of another key" },
  { name: "Findings", sort: "trouble", title: "Sort by problems", class: "start" },
];

export function HealthTable({ session }: { session: ExplorerSession }) {
  const { page: whole, listed, error, sort, descending } = useStore(session.health);
  const page = whole ?? listed;
  // chunks were read since in other tabs
  useEffect(() => {
    if (whole !== null) session.health.load();
  }, [session]);
  const counting = { sentence: "Counting the chunks …", waiting: session.health.counting };
  if (error !== null || page === null) return <Counting title="Arrays" error={error} {...counting} />;
  if (Number(page.total) === 0) return null;
  const { sums } = page;
  // Some columns are only there where they say something: most sets have nothing in them.
  const hidden: Partial<Record<HealthSort, boolean>> = {
    times: sort !== "times" && page.rows.every(({ times }) => times.first === null),
    differing: sums.differing === null,
    overlapping: !(Number(sums.overlapping) > 0),
  };
  const more = Number(page.total) - page.rows.length;
  return (
    <section class="health">
      {whole === null && <Counting title="Chunks" error={null} {...counting} />}
      <div class="health-scroll">
        <DataTable
          class="health-table"
          label="Arrays and the states of their chunks"
          rows={page.rows}
          of={({ path }) => path}
          columns={COLUMNS.filter((column) => !hidden[column.sort]).map(({ name, sort: by, title, class: look }) => {
            const descends = sort === by && by !== "trouble" ? descending : null;
            return {
              head: (
                <Button title={title} class="" onClick={() => session.health.sortBy(by)}>
                  {name}
                  <Order descends={descends} />
                </Button>
              ),
              class: look ?? "number",
              sorted: descends === null ? undefined : descends ? "descending" : "ascending",
              cell: (row: HealthRow) => <Cell row={row} by={by} session={session} />,
            };
          })}
        />
      </div>
      {more > 0 && <Button text={`Show more (${count(more)})`} onClick={() => session.health.showMore()} />}
    </section>
  );
}

export function Mark({ state }: { state: ChunkState }) {
  const look = lookOf(state);
  if (look === "") return <span class="hatch small" aria-hidden="true" />;
  return (
    <span class={`severity ${look}`} aria-hidden="true">
      {SEVERITY_MARKS[look]}
    </span>
  );
}

/** How bad a state is, as its notes and badges have it: bytes may be shared on purpose, and a chunk left out. */
function lookOf(state: ChunkState): "error" | "warning" | "" {
  return TROUBLE.includes(state) ? "error" : state === "overlapping" ? "warning" : "";
}

function Cell({ row, by, session }: { row: HealthRow; by: HealthSort; session: ExplorerSession }) {
  const { counts, path } = row;
  const sides = (lengths: Count[]) => lengths.map(count).join(" × ") || "scalar";
  switch (by) {
    case "path":
      return (
        <>
          <Button link title="Show the array" onClick={() => session.run(session.reveal(path))}>
            <Words text={path || "/"} />
          </Button>
          <span class="quiet shape">
            {sides(row.shape)} {row.dtype}
          </span>
        </>
      );
    case "chunks":
      return (
        <span class="mono">
          {row.varying && "up to "}
          {sides(row.chunks)}
          {row.inner_chunks != null && (
            <span
              class="quiet"
              title={`Each chunk is a shard: ${count(row.inner_count!)} inner chunks of ${sides(row.inner_chunks)} in all`}
            >
              {" "}
              of {sides(row.inner_chunks)}, {count(row.inner_count!)} inner chunks
            </span>
          )}
        </span>
      );
    case "bytes":
      return row.bytes === null ? <Unknown /> : <span>{bytes(row.bytes)}</span>;
    case "times":
      return <Times times={row.times} />;
    case "trouble":
      return <NoteCounts row={row} show={() => session.showNotes(path)} />;
    default:
      if (counts[by] === null && UNKNOWN[by]) return <span class="quiet">{UNKNOWN[by]}</span>;
      return (
        <>
          <CountLink
            n={counts[by]}
            label={(all) => `${counted(all, "chunk")} of ${path || "/"} ${STATE_NAMES[by]}: list them`}
            bad={lookOf(by) === "error"}
            go={() => session.run(session.focusOn(by, path))}
          />
          {by === "referenced" && counts.referenced !== counts.chunks && (
            <span class="quiet"> of {count(counts.chunks)}</span>
          )}
        </>
      );
  }
}

const UNKNOWN: Partial<Record<ChunkState, string>> = { failed: "not read", differing: "not compared" };

/** Nothing where the times are not known: the reason is in the title. */
function Times({ times: { first, last, source, said } }: { times: TimeRange }) {
  if (first === null)
    return (
      <span class="empty" title={said}>
        <span class="unseen">{said}</span>
      </span>
    );
  return (
    <span title={said}>
      {first === last ? (
        first
      ) : (
        <>
          {first}
          <br />
          {last}
        </>
      )}
      {source === "names" && (
        <span class="quiet" aria-hidden="true">
          {" "}
          ≈
        </span>
      )}
      <span class="unseen"> {said}</span>
    </span>
  );
}

/** How many findings name the array; nothing where none does, since one may stand for others. */
function NoteCounts({ row: { errors, warnings, path }, show }: { row: HealthRow; show(): void }) {
  if (errors === null || warnings === null) return <Unknown />;
  const parts = [
    [errors, "error"],
    [warnings, "warning"],
  ] as const;
  const found = parts.filter(([n]) => Number(n) > 0);
  if (found.length === 0) return null;
  return (
    <Button
      class="link note-counts"
      aria-label={`Findings about ${path || "/"}: ${found.map(([n, noun]) => counted(n, noun)).join(", ")}`}
      onClick={show}
    >
      {found.map(([n, noun]) => (
        <span key={noun} class={`severity ${noun}`}>
          {SEVERITY_MARKS[noun]} {count(n)}
        </span>
      ))}
    </Button>
  );
}
