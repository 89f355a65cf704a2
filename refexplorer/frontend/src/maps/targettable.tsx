/** The table of targets, and the check of whether they are what the references say. */

import { useEffect, useId, useRef, useState } from "preact/hooks";

import { bytes, count, fileName, NOT_KNOWN } from "../shared/format.ts";
import { Blank, Cut } from "../shared/parts.tsx";
import { rowGoal, Rows, type RowsHandle } from "../shared/rows/rows.tsx";
import { useStore } from "../shared/store.ts";
import type { TargetRow } from "../shared/wire.ts";
import { Failure, Working } from "../shared/asking.tsx";
import { targetName } from "./cells.ts";
import type { Maps } from "./maps.ts";
import { arrayName, percent } from "./intervals.ts";

export function TargetTable({ maps, chosen }: { maps: Maps; chosen: string | null }) {
  const id = useId();
  const handle = useRef<RowsHandle>(null);
  const [active, setActive] = useState(0);
  const { rows } = maps;
  const { strip } = useStore(maps);
  const partly = Number(strip?.unlisted) > 0;
  const place = rows.find((row) => row.url === chosen);
  useEffect(() => {
    if (place < 0) return;
    setActive(place);
    handle.current?.reveal(place);
  }, [place, rows.total]);
  const goTo = (index: number) => {
    const next = Math.min(rows.total - 1, Math.max(0, index));
    setActive(next);
    handle.current?.reveal(next);
    const row = rows.at(next);
    if (row) maps.showTarget({ url: row.url, window: null });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = rowGoal(event.key, active, rows.total, handle.current?.page() ?? 1);
    if (next === undefined) return;
    event.preventDefault();
    goTo(next);
  };
  return (
    <Rows
      rows={rows}
      handle={handle}
      attributes={{
        class: "targets",
        role: "grid",
        "aria-label": "Targets",
        "aria-activedescendant": rows.at(active) ? `${id}-${active}` : undefined,
        onKeyDown,
        style: { height: `${Math.min(7, rows.total + 1) * 24 + 2}px` },
      }}
      header={<Columns />}
      footer={rows.error === null ? null : <Failed maps={maps} />}
    >
      {(row, { index, key, style }) => (
        <div
          key={key}
          id={`${id}-${index}`}
          class={`row${row && row.url === chosen ? " selected" : ""}`}
          role="row"
          aria-rowindex={index + 2}
          aria-selected={row !== undefined && row.url === chosen}
          style={style}
          onClick={() => goTo(index)}
        >
          {row ? <Cells row={row} partly={partly} /> : <span role="gridcell">…</span>}
        </div>
      )}
    </Rows>
  );
}

function Failed({ maps }: { maps: Maps }) {
  return (
    <div role="row">
      <div role="gridcell"><Blank sentence={maps.rows.error!} retry={() => maps.rows.retry()} /></div>
    </div>
  );
}

function Columns() {
  return (
    <div class="row columns" role="row" aria-rowindex={1}>
      <span role="columnheader">Target</span>
      <span role="columnheader" class="number">Ranges</span>
      <span role="columnheader" class="number">Referenced</span>
      <span role="columnheader" class="number">Share</span>
      <span role="columnheader" class="number">Size</span>
      <span role="columnheader">State</span>
      <span role="columnheader">Arrays</span>
    </div>
  );
}

const SOME = "Not all generated keys were evaluated, so more of them may refer to this target.";

/** With a sign, so that none is told by colour alone. */
export const STATES: Record<TargetRow["state"], string> = {
  unknown: "not checked",
  good: "✓ answered",
  short: "✕ too short",
  unreachable: "✕ unreachable",
  "not allowed": "– not allowed",
  damaged: "✕ damaged",
  changed: "≠ changed",
};

/** What was found, and no more: ranges are compared with a size that is known. */
function stateOf({ state, size, ranges }: TargetRow): string {
  return state === "good" && size !== null && Number(ranges) > 0 ? "✓ ranges inside" : STATES[state];
}

function Cells({ row, partly }: { row: TargetRow; partly: boolean }) {
  const whole = Number(row.ranges) === 0;
  const more = row.array_count - row.arrays.length;
  const arrays = row.arrays.map(arrayName).join(", ") + (more > 0 ? ` and ${more} more` : "");
  return (
    <>
      <span role="gridcell" title={targetName(row.url)}>{row.url === null ? targetName(null) : <Cut text={fileName(row.url)} />}</span>
      <span role="gridcell" class="number" title={partly ? SOME : ""}>{whole ? "whole" : `${partly ? "≥ " : ""}${count(row.ranges)}`}</span>
      <span role="gridcell" class="number">{whole ? "" : `${partly ? "≥ " : ""}${bytes(row.bytes)}`}</span>
      <span role="gridcell" class="number">{whole ? "" : partly ? NOT_KNOWN : percent(Number(row.bytes) / Math.max(1, Number(row.end)))}</span>
      <span role="gridcell" class="number">{row.size === null ? NOT_KNOWN : bytes(row.size)}</span>
      <span role="gridcell" class={row.state === "good" ? "" : row.state === "unknown" ? "quiet" : "bad"} title={row.message ?? ""}>
        {stateOf(row)}
      </span>
      <span role="gridcell" title={arrays}>{arrays}</span>
    </>
  );
}

/** Asks the targets, and tells what was found and what was not checked. */
export function TargetCheck({ maps }: { maps: Maps }) {
  const { check } = useStore(maps);
  const ask = (grant: string | null) => void maps.checkTargets(grant);
  if (check?.id) return <Working progress={check.progress} cancel={() => maps.stopCheck()} />;
  return (
    <div class="offer">
      <button type="button" class="button" onClick={() => ask(null)}>
        {check?.summary ? "Check again" : "Check size and reachability"}
      </button>
      {check?.summary && <span class="quiet" role="status">{check.summary}</span>}
      {check?.grants.map((grant) => (
        <button type="button" key={grant} class="button main-button" onClick={() => ask(grant)}>Allow {grant}</button>
      ))}
      {check?.error && <Failure sentence={check.error} />}
    </div>
  );
}
