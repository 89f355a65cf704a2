/** The tree of keys: an ARIA treegrid of which only the visible rows are in the document; its marks, its menu. */

import { useEffect, useRef, useState } from "preact/hooks";

import { bytes, count, fileName, TYPE_NAMES, counted, SEVERITY_MARKS } from "../shared/format.ts";
import { Badge, Cut, Unknown } from "../shared/parts.tsx";
import { ChunkStrip } from "../shared/strip.tsx";
import { type RowPlace, Rows, type RowsHandle } from "../shared/rows/rows.tsx";
import { useStore } from "../shared/store.ts";
import { EMPTY_ROW, type Row, type PathItem, type Badges as Counts, type RowChanges } from "../shared/wire.ts";
import { SHORTCUTS } from "../explorer/keys.tsx";
import { isTroubled, SearchBox } from "./search.tsx";
import type { ExplorerSession } from "../explorer/session.ts";
import type { ExplorerView, PartProps } from "../explorer/view.ts";
import type { Only } from "../explorer/state.ts";
import { toClipboard } from "../shared/browser.ts";
import { ActionList } from "../shared/menu.tsx";
import { STATE_NAMES } from "../health/health.ts";

const TYPE_AHEAD_MS = 700;
/** The origin of a chunk that has no reference. */
const ABSENT = "absent";
/** That of one whose reference cannot be used. */
const REJECTED = "rejected";
/** Stands for a row that is waited for, in the same elements. */
const WAITING: Row = { ...EMPTY_ROW, name: "…" };

export const VIEW: ExplorerView = { name: "tree", Shown: Keys };

export function Keys({ session, hello }: PartProps) {
  return (
    <nav class="left" aria-label="Keys">
      <SearchBox session={session} kinds={hello.facts.kinds} />
      <Tree session={session} label={`Keys of ${hello.title}`} />
    </nav>
  );
}

function Tree({ session, label }: { session: ExplorerSession; label: string }) {
  const { active, selection, searching, revealed } = useStore(session);
  useStore(session.listing);
  useStore(session.health);
  useStore(session.comparing);
  const troubled = isTroubled(session);
  const compared = session.comparing.isOn;
  const handle = useRef<RowsHandle>(null);
  const [menu, setMenu] = useState<(Place & { path?: string }) | null>(null);
  /** The row under the pointer when it was pressed: until it is let go, its element may show another one. */
  const pressed = useRef<Row | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const close = () => {
    setMenu(null);
    box.current!.querySelector<HTMLElement>("[role=treegrid]")!.focus();
  };
  const onKeyDown = useKeys(session, handle, () => setMenu(below(box.current!)));
  const { rows } = session;
  useEffect(() => handle.current?.reveal(active), [revealed]);

  const onContextMenu = (event: MouseEvent, index: number, row: Row) => {
    event.preventDefault();
    const frame = box.current!.getBoundingClientRect();
    session.run(session.goToRow(index, row));
    setMenu({ left: event.clientX - frame.left, top: event.clientY - frame.top, path: row.path });
  };
  const choose = (index: number, drawn: Row) => {
    const row = pressed.current ?? drawn;
    pressed.current = null;
    session.queue(() => session.goToRow(index, row));
  };
  return (
    <div class="tree-box" ref={box}>
      <Rows
        rows={rows}
        handle={handle}
        active={active}
        attributes={{
          class: `tree${troubled ? " troubled" : ""}${compared ? " compared" : ""}`,
          role: "treegrid",
          "aria-label": label,
        }}
        onKeyDown={onKeyDown}
        header={<Columns troubled={troubled} compared={compared} />}
        empty={emptyOf(session)}
      >
        {(row = WAITING, place) => (
          <TreeRow
            key={place.key}
            place={place}
            row={row}
            flat={searching}
            troubled={troubled}
            compared={compared}
            active={place.index === active}
            selected={row.path === selection && selection !== ""}
            press={() => {
              pressed.current = row;
            }}
            choose={() => choose(place.index, row)}
            toggle={() => session.run(session.toggle(row))}
            onContextMenu={(event) => onContextMenu(event, place.index, row)}
          />
        )}
      </Rows>
      {menu && <CopyMenu session={session} place={menu} path={menu.path ?? null} close={close} />}
    </div>
  );
}

/** Where a menu opens that a key asked for: at the active row. */
function below(box: HTMLElement): Place {
  const frame = box.getBoundingClientRect();
  const row = box.querySelector(".row.active")?.getBoundingClientRect() ?? frame;
  return { left: 40, top: Math.min(row.bottom, frame.bottom - 20) - frame.top };
}

function Columns({ troubled, compared }: { troubled: boolean; compared: boolean }) {
  return (
    <div class="row columns" role="row" aria-rowindex={1}>
      <span role="columnheader">Key</span>
      {troubled && <span role="columnheader">Problems</span>}
      {compared && <span role="columnheader">Changes</span>}
      <span role="columnheader">Kind</span>
      {[
        ["Size", "number"],
        ["File or shape", "target"],
        ["Origin", "target origin"],
      ].map(([name, look]) => (
        <span key={name} role="columnheader" class={look}>
          {name}
        </span>
      ))}
    </div>
  );
}

/** What is said where there are no rows. */
function emptyOf({ state: { searching, only, found } }: ExplorerSession): string {
  if (searching) return found?.unfinished ? "No key matches so far." : "No key and no file matches.";
  return only === null ? "This reference set has no keys." : NOTHING[only];
}

const NOTHING: Record<Only, string> = {
  trouble: "No known problems, but the files may not have been read.",
  changes: "No key differs between the two sets.",
};

interface RowProps {
  row: Row;
  place: RowPlace;
  flat: boolean;
  /** Whether rows have a cell for what is wrong. */
  troubled: boolean;
  /** Whether they have one for what changed. */
  compared: boolean;
  active: boolean;
  selected: boolean;
  press(): void;
  choose(): void;
  toggle(): void;
  onContextMenu(event: MouseEvent): void;
}

function TreeRow({ row, place, flat, troubled, compared, active, selected, toggle, ...on }: RowProps) {
  const waiting = row === WAITING;
  const branch = row.type !== "key" && !flat;
  const absent = row.origin === ABSENT;
  const marks = { waiting, selected, active, "no-reference": absent };
  const state = Object.entries(marks)
    .map(([mark, on]) => (on ? `${mark} ` : ""))
    .join("");
  const shown = flat && !waiting ? row.path : row.name || "/";
  const onTwisty = (event: MouseEvent) => {
    event.stopPropagation();
    toggle();
  };
  return (
    <div
      id={place.id}
      class={`row ${state}${row.type}-row`}
      role="row"
      aria-rowindex={place.index + 2}
      aria-level={row.depth + 1}
      aria-posinset={waiting ? undefined : Number(row.position)}
      aria-setsize={waiting ? undefined : Number(row.siblings)}
      aria-expanded={branch ? row.open : undefined}
      aria-selected={selected}
      style={place.style}
      onPointerDown={on.press}
      onClick={on.choose}
      onDblClick={branch ? toggle : undefined}
      onContextMenu={on.onContextMenu}
    >
      <span
        role="gridcell"
        class="name"
        style={{ "--depth": flat ? 0 : row.depth }}
        aria-label={shown || undefined}
        title={[row.path, row.label, row.form, row.cause].filter(Boolean).join("  ") || undefined}
      >
        <span class={branch ? "twisty" : "twisty none"} aria-hidden="true" onClick={branch ? onTwisty : undefined}>
          {branch ? (row.open ? "▾" : "▸") : ""}
        </span>
        <span class="name-text">
          <Cut text={shown} />
        </span>
        {row.label && <span class="row-label">{row.label}</span>}
      </span>
      {troubled && (
        <span role="gridcell">
          <Badges badges={row.badges} leaf={row.type === "key"} />
        </span>
      )}
      {compared && (
        <span role="gridcell">
          <ChangeMarks changes={row.changes} />
        </span>
      )}
      <span role="gridcell">
        {row.kind ? (
          <Badge kind={row.kind} />
        ) : row.strip ? (
          <ChunkStrip text={row.strip} height={10} />
        ) : (
          <span class="quiet">{unkinded(row)}</span>
        )}
      </span>
      <span role="gridcell" class="number">
        {row.size === null ? unsized(row) && <Unknown /> : bytes(row.size)}
      </span>
      <span role="gridcell" class="target" title={row.cause ?? row.target ?? inside(row)}>
        {row.cause !== null ? row.cause : row.target === null ? inside(row) : <Cut text={fileName(row.target)} />}
      </span>
      <span role="gridcell" class="target origin">
        {absent ? "" : row.origin}
      </span>
    </div>
  );
}

/** Shown in place of a kind. */
function unkinded(row: Row): string {
  if (row === WAITING) return "";
  if (row.origin === REJECTED) return "✕";
  return row.origin === ABSENT ? "–" : TYPE_NAMES[row.type];
}

/** Whether a size is not known, rather than none. */
function unsized(row: Row): boolean {
  return row !== WAITING && row.origin !== ABSENT && row.origin !== REJECTED;
}

function inside(row: Row): string {
  if (row.origin === ABSENT) return "no reference";
  if (row.origin === REJECTED) return row.cause ?? "rejected: its reference cannot be used";
  return row.form ?? (row.type === "key" ? "" : `${count(row.children)} inside`);
}

/** The keyboard of a treegrid (WAI-ARIA practices), and type-ahead by name. */
function useKeys(session: ExplorerSession, handle: { current: RowsHandle | null }, openMenu: () => void) {
  const typed = useRef({ text: "", at: 0 });

  const type = (character: string) => {
    const now = Date.now();
    const fresh = now - typed.current.at > TYPE_AHEAD_MS;
    const text = (fresh ? "" : typed.current.text) + character.toLowerCase();
    typed.current = { text, at: now };
    session.queue(() => session.typeAhead(text, session.state.active + (fresh ? 1 : 0)));
  };

  return (event: KeyboardEvent) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "c") {
      event.preventDefault();
      event.stopPropagation();
      session.queue(() => copyKey(session));
      return;
    }
    if (event.key === "ContextMenu" || (event.shiftKey && event.key === "F10")) {
      event.preventDefault();
      openMenu();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = handle.current?.page() ?? 1;
    const by = (rows: number) => () => session.goTo(session.state.active + rows);
    const actions: Record<string, () => Promise<void>> = {
      ArrowDown: by(1),
      ArrowUp: by(-1),
      PageDown: by(page),
      PageUp: by(-page),
      Home: () => session.goTo(0),
      End: () => session.goTo(session.rows.total - 1),
      ArrowRight: () => inward(session),
      ArrowLeft: () => outward(session),
      Enter: () => activate(session),
      " ": () => activate(session),
    };
    const action = actions[event.key];
    if (action) session.queue(action);
    else if (event.key.length === 1 && !SHORTCUTS.has(event.key)) type(event.key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
}

async function inward(session: ExplorerSession): Promise<void> {
  const row = await session.activeRow();
  if (!row || row.type === "key" || session.state.searching) return;
  await (row.open ? session.goTo(session.state.active + 1) : session.toggle(row, true));
}

async function outward(session: ExplorerSession): Promise<void> {
  const row = await session.activeRow();
  if (!row || session.state.searching) return;
  if (row.open) await session.toggle(row, false);
  else if (row.depth > 0) await session.reveal(row.path.slice(0, -(row.name.length + 1)));
}

async function activate(session: ExplorerSession): Promise<void> {
  const row = await session.activeRow();
  if (!row) return;
  if (session.state.searching) await session.reveal(row.path);
  else if (row.type !== "key") await session.toggle(row);
  else await session.select(row.path);
}

/** In px from the corner of the tree. */
export interface Place {
  left: number;
  top: number;
}

const CHOICES: { name: string; text(item: PathItem): string | null }[] = [
  { name: "Copy key", text: ({ path }) => path },
  { name: "Copy reference", text: ({ raw }) => raw },
  { name: "Copy code", text: ({ code }) => code },
];

/** Puts the key of the active row on the clipboard. */
export async function copyKey(session: ExplorerSession): Promise<void> {
  const row = await session.activeRow();
  if (row) await copy(row.path);
}

interface Props {
  session: ExplorerSession;
  place: Place;
  /** Null: that of the active row. */
  path: string | null;
  close(): void;
}

export function CopyMenu({ session, place, path, close }: Props) {
  const [item, setItem] = useState<PathItem | null>(null);
  useEffect(() => {
    session.run(
      (async () => {
        const key = path ?? (await session.activeRow())?.path;
        if (key !== undefined) setItem(await session.itemOf(key));
      })(),
    );
  }, []);
  const choices = CHOICES.map(({ name, text }) => {
    const found = item && text(item);
    return { name, act: found ? () => session.run(copy(found)) : null };
  });
  const style = { left: `${place.left}px`, top: `${place.top}px` };
  return <ActionList label="Copy" choices={choices} style={style} close={close} />;
}

async function copy(text: string): Promise<void> {
  if (!(await toClipboard(text))) throw new Error("The browser refused to copy the text.");
}

export function Badges({ badges, leaf }: { badges: Counts | null | undefined; leaf: boolean }) {
  if (!badges) return null;
  const said = words(badges);
  // Notes of severity error are mostly about what is rejected: both numbers would say the same thing twice.
  const lost = Number(badges.rejected) + Number(badges.failed) + Number(badges.differing) || Number(badges.errors);
  const marks = [
    { name: "error", mark: SEVERITY_MARKS.error, n: lost },
    { name: "overlap", mark: <Overlap />, n: Number(badges.overlapping) },
    { name: "warning", mark: SEVERITY_MARKS.warning, n: Number(badges.warnings) },
    { name: "none", mark: <i class="hatch small" />, n: Number(badges.absent) },
  ].filter(({ n }) => n > 0);
  return (
    <span class="marks" title={said}>
      <span class="unseen">{said}</span>
      {marks.map(({ name, mark, n }) => (
        <span key={name} class={`severity ${name}`} aria-hidden="true">
          {mark}
          {leaf ? "" : short(n)}
        </span>
      ))}
    </span>
  );
}

/** Two squares over each other: the character for it is missing in common fonts. */
function Overlap() {
  return (
    <svg class="overlap-mark" aria-hidden="true" viewBox="0 0 10 10">
      <path d="M.5 .5h6v6h-6zM3.5 3.5h6v6h-6z" />
    </svg>
  );
}

const CHANGES = [
  ["added", "+"],
  ["removed", "−"],
  ["changed", "~"],
] as const;

/** What became of a key, or of the keys below a folder, since the other set. */
export function ChangeMarks({ changes }: { changes: RowChanges | null | undefined }) {
  if (!changes) return null;
  const found = CHANGES.filter(([name]) => Number(changes[name]) > 0);
  const said = changes.words ?? found.map(([name]) => `${counted(changes[name], "key")} ${name}`).join(", ");
  return (
    <span class="marks" title={said}>
      <span class="unseen">{said}</span>
      {found.map(([name, mark]) => (
        <span key={name} class={`change ${name}`} aria-hidden="true">
          {mark}
          {changes.words === null ? short(Number(changes[name])) : ""}
        </span>
      ))}
    </span>
  );
}

/** What is wrong, in words. */
function words({ rejected, failed, differing, overlapping, absent, errors, warnings }: Counts): string {
  const chunks = [
    [rejected, "rejected"],
    [failed, "failed"],
    [differing, STATE_NAMES.differing],
    [overlapping, STATE_NAMES.overlapping],
    [absent, "without a reference"],
  ] as const;
  const notes = [
    [errors, "error"],
    [warnings, "warning"],
  ] as const;
  return [
    ...chunks.filter(([n]) => Number(n) > 0).map(([n, what]) => `${counted(n, "chunk")} ${what}`),
    ...notes.filter(([n]) => Number(n) > 0).map(([n, noun]) => counted(n, noun)),
  ].join(", ");
}

/** 118 → "118", 12345 → "12k": the whole number is in the title. */
function short(n: number): string {
  if (n < 1e4) return count(n);
  const power = Math.min(4, Math.floor(Math.log10(n) / 3));
  return `${Math.floor(n / 1000 ** power)}${["", "k", "M", "G", "T"][power]}`;
}
