/** Raw bytes, a page at a time: offset, hexadecimal, ASCII, and what they mean at the cursor. */

import { useEffect, useId, useRef } from "preact/hooks";

import { DataTable } from "../shared/controls.tsx";
import { Button } from "../shared/parts.tsx";
import { count } from "../shared/format.ts";
import { decode } from "./numbers.ts";
import type { Block } from "./keydetails.ts";

const ACROSS = 16;
const PAGE = 512;

interface Props {
  block: Block;
  cursor: number;
  move(cursor: number): void;
}

export function Hex({ block: { data, start, total: size }, cursor, move }: Props) {
  const total = Number(size);
  const page = cursor - (cursor % PAGE);
  const grid = useRef<HTMLDivElement>(null);
  const id = useId();
  const moveTo = (wanted: number) => move(Math.min(Math.max(0, wanted), total - 1));
  useEffect(() => {
    grid.current?.querySelector(".at")?.scrollIntoView({ block: "nearest" });
  }, [cursor]);
  if (total === 0) return <p class="quiet">There are no bytes: the length is 0.</p>;
  // While another block is on its way, the one that is here has nothing of this page.
  const bytes = page < start ? data.subarray(0, 0) : data.subarray(page - start, page - start + PAGE);
  return (
    <div class="hex">
      <Pager page={page} total={total} moveTo={moveTo} />
      <div
        class="hex-grid"
        ref={grid}
        role="grid"
        tabIndex={0}
        aria-label={`Bytes from offset ${count(page)}, of ${count(total)}`}
        aria-busy={bytes.length === 0}
        aria-rowcount={Math.ceil(total / ACROSS)}
        aria-colcount={ACROSS + 2}
        aria-activedescendant={cursor - page < bytes.length ? `${id}-${cursor}` : undefined}
        onKeyDown={(event) => steer(event, cursor, total, moveTo)}
      >
        {rowsOf(bytes, page).map(([offset, part]) => (
          <Line key={offset} id={id} offset={offset} bytes={part} cursor={cursor} choose={moveTo} />
        ))}
      </div>
      <Meaning data={data} at={cursor - start} offset={cursor} />
    </div>
  );
}

function rowsOf(bytes: Uint8Array, page: number): [number, Uint8Array][] {
  const rows: [number, Uint8Array][] = [];
  for (let at = 0; at < bytes.length; at += ACROSS) rows.push([page + at, bytes.subarray(at, at + ACROSS)]);
  return rows;
}

/** Arrows, Home and End in the line (with Ctrl: of all bytes), PageUp and PageDown. */
function steer(event: KeyboardEvent, cursor: number, total: number, moveTo: (next: number) => void): void {
  const line = cursor - (cursor % ACROSS);
  const places: Record<string, number> = {
    ArrowLeft: cursor - 1,
    ArrowRight: cursor + 1,
    ArrowUp: cursor - ACROSS,
    ArrowDown: cursor + ACROSS,
    PageUp: cursor - PAGE,
    PageDown: cursor + PAGE,
    Home: event.ctrlKey ? 0 : line,
    End: event.ctrlKey ? total - 1 : line + ACROSS - 1,
  };
  const next = places[event.key];
  if (next === undefined || event.altKey || event.metaKey) return;
  event.preventDefault();
  moveTo(next);
}

interface LineProps {
  id: string;
  offset: number;
  bytes: Uint8Array;
  cursor: number;
  choose(offset: number): void;
}

function Line({ id, offset, bytes, cursor, choose }: LineProps) {
  const all = [...bytes];
  return (
    <div role="row" class="hex-line" aria-rowindex={offset / ACROSS + 1}>
      <span role="rowheader" class="hex-offset">
        {hex(offset, 8)}
      </span>
      <span class="hex-bytes" role="presentation">
        {all.map((byte, i) => (
          <span
            key={i}
            id={`${id}-${offset + i}`}
            role="gridcell"
            class={offset + i === cursor ? "at" : byte === 0 ? "zero" : ""}
            aria-selected={offset + i === cursor}
            aria-label={`${hex(byte, 2)} at ${count(offset + i)}`}
            onClick={() => choose(offset + i)}
          >
            {hex(byte, 2)}
          </span>
        ))}
      </span>
      <span role="gridcell" class="hex-ascii" aria-label={`ASCII ${ascii(all)}`}>
        {all.map((byte, i) => (
          <i key={i} class={offset + i === cursor ? "at" : ""}>
            {ascii([byte])}
          </i>
        ))}
      </span>
    </div>
  );
}

function Pager({ page, total, moveTo }: { page: number; total: number; moveTo(offset: number): void }) {
  const last = Math.floor((total - 1) / PAGE) * PAGE;
  const go = (event: SubmitEvent) => {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget as HTMLFormElement).get("offset")).trim();
    const offset = Number(text);
    if (text !== "" && Number.isInteger(offset)) moveTo(offset);
  };
  return (
    <form class="hex-pager" onSubmit={go}>
      <Button text="First" disabled={page === 0} onClick={() => moveTo(0)} />
      <Button text="Previous" disabled={page === 0} onClick={() => moveTo(page - PAGE)} />
      <span class="quiet" role="status">
        {count(page)} to {count(Math.min(page + PAGE, total) - 1)} of {count(total)} bytes
      </span>
      <Button text="Next" disabled={page >= last} onClick={() => moveTo(page + PAGE)} />
      <Button text="Last" disabled={page >= last} onClick={() => moveTo(last)} />
      <label class="index">
        Go to <input name="offset" size={11} placeholder="0x1f or 31" aria-label="Go to byte" />
      </label>
    </form>
  );
}

/** The bytes from the cursor on, read as numbers. */
function Meaning({ data, at, offset }: { data: Uint8Array; at: number; offset: number }) {
  return (
    <div class="meaning-box" tabIndex={0} role="group" aria-label="Numbers at the cursor">
      <p class="caption">
        At byte {count(offset)} <span class="quiet">(0x{hex(offset, 1)})</span>
      </p>
      <DataTable
        class="meaning"
        label={`At byte ${count(offset)}`}
        rows={decode(data, at)}
        of={({ name }) => name}
        columns={[
          { head: "Type", cell: ({ name }) => name },
          { head: "Little-endian", cell: ({ little }) => little },
          { head: "Big-endian", cell: ({ big }) => big },
        ]}
      />
    </div>
  );
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}

/** Letters as they are, a dot for what has no shape. */
function ascii(bytes: number[]): string {
  return bytes.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·")).join("");
}
