/** The inside of a shard: its inner chunks as a grid, their byte ranges, the trace of one. */

import { useRef } from "preact/hooks";

import { Failure, Outcome } from "../shared/access.tsx";
import { bytes, count, counted, NOT_KNOWN, sizes } from "../shared/format.ts";
import { useStore } from "../shared/store.ts";
import type { KeyDetails, ShardInside } from "./keydetails.ts";
import { Trace } from "./trace.tsx";

/** Inner chunks that are drawn; of more the first. */
const DRAWN = 4096;

export function Shard({ details }: { details: KeyDetails }) {
  const { path } = useStore(details);
  return (
    <section class="shard" aria-label="Inner chunks of this shard">
      <h3>Inner chunks</h3>
      <Outcome
        work={details.shard}
        start={(grant) => void details.shard.start({ path }, grant)}
        offer="Read the shard index"
        note="One request for a byte range; no inner chunk is read."
      >
        {(answer) => <Inside shard={answer} details={details} />}
      </Outcome>
    </section>
  );
}

function Inside({ shard, details }: { shard: ShardInside; details: KeyDetails }) {
  const { inner } = useStore(details);
  if (shard.state === "failed") return <Failure sentence={shard.message ?? "The shard index could not be read."} />;
  const all = counted(shard.count, "inner chunk");
  if (shard.state === "fill") {
    return (
      <p class="fill-said">
        <span aria-hidden="true" class="hatch" />
        No reference: all {all} read as the fill value.
      </p>
    );
  }
  return (
    <>
      <p class="prose">
        {all} of {sizes(shard.chunks)}, {shard.empty === null ? NOT_KNOWN : count(shard.empty)} of them empty: they read
        as the fill value.
      </p>
      {Number(shard.beyond) > 0 && (
        <Failure
          sentence={`${counted(shard.beyond, "inner chunk")} ${Number(shard.beyond) === 1 ? "reaches" : "reach"} past the end of the shard, which has ${shard.size === null ? "an unknown number of" : count(shard.size)} bytes: the index is wrong, or the reference too short.`}
        />
      )}
      {shard.listed ? (
        <Grid shard={shard} details={details} />
      ) : (
        <p class="quiet">They are too many to be listed here; `refs.shard` has their byte ranges.</p>
      )}
      {inner !== null && <Inner shard={shard} inner={inner} details={details} />}
    </>
  );
}

/** Each inner chunk is a cell; rows are those of the last dimension. */
function Grid({ shard, details }: { shard: ShardInside; details: KeyDetails }) {
  const { inner } = useStore(details);
  const box = useRef<HTMLDivElement>(null);
  const columns = Number(shard.grid[shard.grid.length - 1] ?? 1);
  const drawn = Math.min(shard.offsets.length, DRAWN);
  const active = inner ?? 0;
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = active + step;
    if (next < 0 || next >= drawn) return;
    details.pickInner(next);
    (box.current?.querySelectorAll("[role=gridcell]")[next] as HTMLElement | undefined)?.focus();
  };
  const rows = Array.from({ length: Math.ceil(drawn / columns) }, (_, row) => row * columns);
  return (
    <>
      <div
        ref={box}
        class="inner-grid"
        role="grid"
        aria-label={`Inner chunks, ${sizes(shard.grid)}`}
        onKeyDown={onKeyDown}
      >
        {rows.map((start) => (
          <div key={start} role="row" class="inner-row">
            {Array.from({ length: Math.min(columns, drawn - start) }, (_, at) => start + at).map((number) => (
              <span
                key={number}
                role="gridcell"
                tabIndex={number === active ? 0 : -1}
                aria-selected={number === inner}
                aria-label={said(shard, number)}
                title={said(shard, number)}
                class={`inner ${kindOf(shard, number)}`}
                onClick={() => details.pickInner(number)}
              />
            ))}
          </div>
        ))}
      </div>
      {shard.offsets.length > drawn && <p class="quiet">The first {count(drawn)}.</p>}
    </>
  );
}

function Inner({ shard, inner, details }: { shard: ShardInside; inner: number; details: KeyDetails }) {
  const { path } = useStore(details);
  const index = indexOf(shard, inner);
  const offset = shard.offsets[inner]!;
  const length = shard.lengths[inner]!;
  return (
    <div class="inner-facts">
      <dl class="facts">
        <dt>inner chunk</dt>
        <dd>
          {index.join(", ")} of {sizes(shard.grid)}
        </dd>
        <dt>in the shard</dt>
        <dd>
          {offset < 0
            ? "empty: it reads as the fill value"
            : `${count(offset)} + ${count(length)} bytes (${bytes(length)})`}
        </dd>
        {offset >= 0 && shard.start !== null && (
          <>
            <dt>in the file</dt>
            <dd>
              {(BigInt(shard.start) + BigInt(offset)).toLocaleString("en")} + {count(length)} bytes
            </dd>
          </>
        )}
      </dl>
      <Outcome
        work={details.innerTrace}
        start={(grant) => void details.innerTrace.start({ path, inner: index }, grant)}
        offer="Decode this inner chunk step by step"
      >
        {(answer) => <Trace trace={answer} />}
      </Outcome>
    </div>
  );
}

function indexOf({ grid }: ShardInside, number: number): number[] {
  const index: number[] = [];
  let rest = number;
  for (const size of grid.map(Number).reverse()) {
    index.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return index;
}

function kindOf({ offsets, lengths, size }: ShardInside, number: number): "absent" | "beyond" | "there" {
  if (offsets[number]! < 0) return "absent";
  return size !== null && offsets[number]! + lengths[number]! > Number(size) ? "beyond" : "there";
}

function said(shard: ShardInside, number: number): string {
  const index = indexOf(shard, number).join(", ");
  const kind = kindOf(shard, number);
  if (kind === "absent") return `${index}: empty`;
  const range = `${count(shard.offsets[number]!)} + ${count(shard.lengths[number]!)} bytes`;
  return `${index}: ${range}${kind === "beyond" ? ", past the end of the shard" : ""}`;
}
