/** The V0 keys that the text makes, of any number. */

import type { CSSProperties } from "preact";
import { useRef } from "preact/hooks";

import { count, printable } from "../shared/format.ts";
import { Badge, Blank } from "../shared/parts.tsx";
import { Rows, type RowsHandle } from "../shared/rows.tsx";
import { useStore } from "../shared/store.ts";
import type { EditorRow } from "../shared/wire.ts";
import type { EditorSession } from "./session.ts";

interface Props {
  session: EditorSession;
  /** The text is broken: these are the rows of the last good one. */
  stale: boolean;
}

export function Table({ session, stale }: Props) {
  useStore(session);
  const handle = useRef<RowsHandle>(null);
  const { rows } = session;
  const onKeyDown = (event: KeyboardEvent) => {
    const page = handle.current?.page() ?? 1;
    const moves: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -rows.total,
      End: rows.total,
    };
    const move = moves[event.key];
    if (move === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    handle.current?.move(move);
  };
  return (
    <Rows
      rows={rows}
      handle={handle}
      attributes={{
        class: stale ? "table stale" : "table",
        role: "table",
        "aria-label": stale ? "V0 keys of the last good text" : "V0 keys",
        onKeyDown,
      }}
      header={<Columns />}
      footer={<Absence session={session} />}
    >
      {(row, index, style) => <TableRow key={index} row={row} index={index} style={style} />}
    </Rows>
  );
}

function Columns() {
  return (
    <div class="row columns" role="row" aria-rowindex={1}>
      <span role="columnheader"><span class="unseen">Kind</span></span>
      <span role="columnheader">Key</span>
      <span role="columnheader">URL or text</span>
      <span role="columnheader" class="number">Offset</span>
      <span role="columnheader" class="number">Length</span>
      <span role="columnheader">From</span>
    </div>
  );
}

/** What stands in place of rows. */
function Absence({ session: { rows } }: { session: EditorSession }) {
  if (rows.error === null && rows.total > 0) return null;
  return (
    <div role="row">
      <div role="cell">
        {rows.error === null ? (
          <Blank sentence="This text makes no keys yet." />
        ) : (
          <Blank sentence={rows.error} retry={() => rows.retry()} />
        )}
      </div>
    </div>
  );
}

interface RowProps {
  row: EditorRow | undefined;
  index: number;
  style: CSSProperties;
}

function TableRow({ row, index, style }: RowProps) {
  if (!row) {
    return (
      <div class="row waiting" role="row" aria-rowindex={index + 2} style={style}>
        <span role="cell">…</span>
      </div>
    );
  }
  const content = printable(row.url ?? row.text ?? "");
  return (
    <div class={`row ${row.state}`} role="row" aria-rowindex={index + 2} style={style}>
      <span role="cell"><Badge kind={row.kind} /></span>
      <span role="cell" title={row.key}>{row.key}</span>
      <span role="cell" class={row.url === null ? "quiet" : ""} title={content}>{content}</span>
      <span role="cell" class="number">{row.offset === null ? "" : count(row.offset)}</span>
      <span role="cell" class="number">{row.length === null ? "" : count(row.length)}</span>
      <span role="cell" class="quiet">
        {row.origin}
        {row.state !== "same" && <span class="unseen"> {row.state}</span>}
      </span>
    </div>
  );
}
