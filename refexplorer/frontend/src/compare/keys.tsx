/** The keys that differ, with both references; only the rows on the screen are in the document. */

import { useEffect, useRef, useState } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import { counted } from "../shared/format.ts";
import { Blank, Button, Cut } from "../shared/parts.tsx";
import { rowGoal, Rows, type RowsHandle } from "../shared/rows/rows.tsx";
import { useStore } from "../shared/store.ts";
import type { ChangeRow, ComparedSets } from "../shared/wire.ts";

const REMOVED = "removed";

export function ChangedKeys({ session, sets }: { session: ExplorerSession; sets: ComparedSets }) {
  const { comparing } = session;
  const { listed } = useStore(comparing);
  const handle = useRef<RowsHandle>(null);
  const [active, setActive] = useState(0);
  const { rows } = comparing;
  useEffect(() => setActive(0), [listed]);
  const words = sets.kinds.find(({ name }) => name === listed.change)?.words;
  const goTo = (index: number) => {
    const next = Math.min(rows.total - 1, Math.max(0, index));
    setActive(next);
    handle.current?.reveal(next);
  };
  const choose = (index: number) => {
    goTo(index);
    rows.withRow(index, ({ key }) => {
      session.run(session.reveal(key));
      const array = goneArrayOf(key, sets);
      if (array !== null) void comparing.showGone(array, null, null, key);
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = rowGoal(event.key, active, rows.total, handle.current?.page() ?? 1);
    if (next !== undefined) goTo(next);
    else if (event.key === "Enter" || event.key === " ") choose(active);
    else return;
    event.preventDefault();
  };
  const isNarrowed = listed.change !== null || listed.folder !== "";
  return (
    <section class="changed-keys">
      <h3>
        {counted(rows.total, "key")} {words ?? (rows.total === 1 ? "that differs" : "that differ")}
        {listed.folder !== "" && <> below {listed.folder}</>}
      </h3>
      {isNarrowed && <Button text="Show all changes" onClick={() => comparing.list({ change: null, folder: "" })} />}
      <Rows
        rows={rows}
        handle={handle}
        active={active}
        attributes={{
          class: "targets changes",
          role: "grid",
          "aria-label": "Keys that differ",
          style: { height: `${Math.min(12, Math.max(1, rows.total) + 1) * 24 + 2}px` },
        }}
        onKeyDown={onKeyDown}
        header={
          <div class="row columns" role="row" aria-rowindex={1}>
            <span role="columnheader">
              <span class="unseen">Change</span>
            </span>
            <span role="columnheader">Key</span>
            <span role="columnheader">Before</span>
            <span role="columnheader">After</span>
          </div>
        }
        footer={
          rows.error === null ? null : (
            <div role="row">
              <div role="gridcell">
                <Blank sentence={rows.error} retry={() => rows.retry()} />
              </div>
            </div>
          )
        }
      >
        {(row, { index, key, id, style }) => (
          <div
            key={key}
            id={id}
            class={`row${row && row.key === session.state.selection ? " selected" : ""}${index === active ? " active" : ""}`}
            role="row"
            aria-rowindex={index + 2}
            aria-selected={row !== undefined && row.key === session.state.selection}
            style={style}
            onClick={() => choose(index)}
          >
            {row ? (
              <Cells row={row} words={sets.kinds.find(({ name }) => name === row.change)?.words ?? row.change} />
            ) : (
              <span role="gridcell">…</span>
            )}
          </div>
        )}
      </Rows>
    </section>
  );
}

/** The array that is no longer there which a key belonged to. */
function goneArrayOf(key: string, { arrays }: ComparedSets): string | null {
  const within = arrays.filter(({ path, after }) => after === null && (path === "" || key.startsWith(`${path}/`)));
  return within.length === 0
    ? null
    : within.map(({ path }) => path).reduce((one, two) => (two.length > one.length ? two : one));
}

function Cells({ row, words }: { row: ChangeRow; words: string }) {
  return (
    <>
      <span role="gridcell" title={words} class={row.change === REMOVED ? "bad" : ""}>
        <span aria-hidden="true">{row.mark}</span>
        <span class="unseen">{words}</span>
      </span>
      <span role="gridcell" title={row.key}>
        <Cut text={row.key} />
      </span>
      <span role="gridcell" title={row.before} class={row.before === "nothing" ? "quiet" : ""}>
        <Cut text={row.before} />
      </span>
      <span role="gridcell" title={row.after} class={row.after === "nothing" ? "quiet" : ""}>
        <Cut text={row.after} />
      </span>
    </>
  );
}
