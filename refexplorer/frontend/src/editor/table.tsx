/** The V0 keys that the text makes, of any number. */

import { useEffect, useRef } from "preact/hooks";

import { count } from "../shared/format.ts";
import { Badge, Blank, Button, Cut } from "../shared/parts.tsx";
import { rowGoal, type RowPlace, Rows, type RowsHandle } from "../shared/rows/rows.tsx";
import { useStore } from "../shared/store.ts";
import type { EditorRow } from "../shared/wire.ts";
import type { EditorSession } from "./session.ts";
import { isUsed, type Tracing } from "./panels.ts";
import { DerivationSteps, type Place } from "../shared/derivation.tsx";

interface Props {
  session: EditorSession;
  /** The text is broken: these are the rows of the last good one. */
  stale: boolean;
}

export function Table({ session, stale }: Props) {
  const { reader } = useStore(session);
  const { active, uses, target } = useStore(session.tracing);
  const handle = useRef<RowsHandle>(null);
  const { rows, tracing } = session;
  useEffect(() => {
    if (target) handle.current?.reveal(target.index);
  }, [target]);
  const onKeyDown = (event: KeyboardEvent) => {
    const goal = rowGoal(event.key, active, rows.total, handle.current?.page() ?? 1);
    if (goal === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    tracing.choose(goal);
  };
  return (
    <Rows
      rows={rows}
      handle={handle}
      active={active}
      attributes={{
        class: stale ? "table stale" : "table",
        role: "grid",
        "aria-label": `${stale ? "V0 keys of the last valid text" : "V0 keys"}${reader && ` as ${reader} reads them`}`,
      }}
      onKeyDown={onKeyDown}
      header={<Columns />}
      empty="This text has no keys yet."
    >
      {(row, place) => (
        <TableRow
          key={place.key}
          row={row}
          place={place}
          selected={place.index === active}
          used={isUsed(uses, place.index)}
          choose={() => tracing.choose(place.index)}
        />
      )}
    </Rows>
  );
}

function Columns() {
  return (
    <div class="row columns" role="row" aria-rowindex={1}>
      <span role="columnheader">
        <span class="unseen">Kind</span>
      </span>
      {["Key", "URL or text", "Offset", "Length", "From"].map((name) => (
        <span key={name} role="columnheader" class={name === "Offset" || name === "Length" ? "number" : ""}>
          {name}
        </span>
      ))}
    </div>
  );
}

/** Shown in place of a reference that the reader does not have. */
const WORDS: Partial<Record<EditorRow["state"], string>> = {
  absent: "no such key",
  unknown: "not run",
};

interface RowProps {
  row: EditorRow | undefined;
  place: RowPlace;
  selected: boolean;
  /** The text at the cursor makes this row, or a part of it. */
  used: boolean;
  choose(): void;
}

function TableRow({ row, place: { id, index, style }, selected, used, choose }: RowProps) {
  if (!row) {
    return (
      <div class="row waiting" role="row" aria-rowindex={index + 2} style={style} onClick={choose}>
        <span role="gridcell">…</span>
      </div>
    );
  }
  const content = row.url ?? row.text ?? "";
  const marks = `${row.state}${selected ? " selected" : ""}${used ? " used" : ""}`;
  return (
    <div
      id={id}
      class={`row ${marks}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selected}
      title={row.why ?? undefined}
      style={style}
      onClick={choose}
    >
      <span role="gridcell">
        <Badge kind={row.kind} />
      </span>
      <span role="gridcell" title={row.key}>
        <Cut text={row.key} />
      </span>
      <span role="gridcell" class={row.url === null ? "quiet" : ""} title={row.why ?? content}>
        {WORDS[row.state] ?? (row.url === null ? content : <Cut text={content} />)}
      </span>
      {[row.offset, row.length].map((number, i) => (
        <span key={i} role="gridcell" class="number">
          {number === null ? "" : count(number)}
        </span>
      ))}
      <span role="gridcell" class="quiet">
        {row.origin}
        {row.state !== "same" && (
          <span class="unseen">
            {" "}
            {row.state}
            {row.why && `: ${row.why}`}
          </span>
        )}
      </span>
    </div>
  );
}

interface PanelProps {
  tracing: Tracing;
  jump(place: Place): void;
  explore(key: string): void;
}

export function DerivationPanel({ tracing, jump, explore }: PanelProps) {
  const { derivation, trouble, active } = useStore(tracing);
  if (active < 0 || (derivation === null && trouble === null)) return null;
  return (
    <section class="derivation" aria-label="Derivation of this key">
      {derivation === null ? (
        <Blank sentence={trouble!} />
      ) : (
        <>
          <p>
            <b class="mono">{derivation.key}</b>{" "}
            <span class="quiet">
              comes from <code>{derivation.origin}</code>; key number {count(derivation.number)}, from 0
            </span>{" "}
            <Button text="Show in the explorer" link onClick={() => explore(derivation.key)} />
          </p>
          <DerivationSteps steps={derivation.steps} jump={jump} />
        </>
      )}
      <Button text="✕" class="button close" aria-label="Close" onClick={() => tracing.close()} />
    </section>
  );
}
