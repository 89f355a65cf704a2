/** The keys that differ, with both references; only the rows on the screen are in the document. */

import { useEffect } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import { counted } from "../shared/format.ts";
import { Button, Cut } from "../shared/parts.tsx";
import { Rows, useActive } from "../shared/rows/rows.tsx";
import { useStore } from "../shared/store.ts";
import type { ChangeRow, ComparedSets } from "../shared/wire.ts";

const REMOVED = "removed";

export function ChangedKeys({ session, sets }: { session: ExplorerSession; sets: ComparedSets }) {
  const { comparing } = session;
  const { listed } = useStore(comparing);
  const { rows } = comparing;
  const { handle, active, goTo, goal } = useActive(rows);
  useEffect(() => void goTo(0), [listed]);
  const words = sets.kinds.find(({ name }) => name === listed.change)?.words;
  const choose = (index: number) => {
    goTo(index);
    rows.withRow(index, ({ key }) => {
      session.run(session.reveal(key));
      const array = goneArrayOf(key, sets);
      if (array !== null) void comparing.showGone(array, null, null, key);
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = goal(event.key);
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
            {["Key", "Before", "After"].map((name) => (
              <span key={name} role="columnheader">
                {name}
              </span>
            ))}
          </div>
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
      {[row.key, row.before, row.after].map((text, i) => (
        <span key={i} role="gridcell" title={text} class={i > 0 && text === "nothing" ? "quiet" : ""}>
          <Cut text={text} />
        </span>
      ))}
    </>
  );
}
