/** The table of targets, what it is narrowed to, and the check of whether they are what the references say. */

import { Fragment } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { bytes, count, counted, fileName, NOT_KNOWN, moment } from "../shared/format.ts";
import { Order, Choice, DraftField } from "../shared/controls.tsx";
import { Button, Cut } from "../shared/parts.tsx";
import { Rows, useActive } from "../shared/rows/rows.tsx";
import { useStore, useSaid } from "../shared/store.ts";
import type { TargetFold, TargetRow } from "../shared/wire.ts";
import { Allow, Failure, Working } from "../shared/access.tsx";
import { targetName } from "./cells.ts";
import type { Maps, Query } from "./maps.ts";
import { apart, arrayName, common, isAlike, percent } from "./intervals.ts";
import type { ExplorerSession } from "../explorer/session.ts";
import { save, toClipboard } from "../shared/browser.ts";

interface Props {
  maps: Maps;
  chosen: string | null;
  /** Shows an array. */
  reveal(path: string): void;
}

/** Rows whose names are held against each other. */
const COMPARED = 300;

/** The length of a date without a time. */
const DAY = 10;

/** Rows that are shown at once, as long as there are so many. */
const SHOWN = 14;

export function TargetTable({ maps, chosen, reveal }: Props) {
  const { rows } = maps;
  const { handle, active, goTo, goal } = useActive(rows);
  const { strip, query, dates } = useStore(maps);
  const here = Array.from({ length: Math.min(rows.total, COMPARED) }, (_, index) => rows.at(index)).filter(
    (row) => row !== undefined,
  );
  const files = shownAs(here.flatMap(({ fold, url }) => (fold === null && url !== null ? [fileName(url)] : [])));
  const folds = shownAs(here.flatMap(({ fold }) => (fold?.name ? [fold.name.replace(/\/$/, "")] : [])));
  const dated = Number(dates?.dated ?? 0) > 0;
  const timed = here.some(({ date }) => date !== null && date.length > DAY);
  const partly = Number(strip?.unlisted) > 0;
  const place = rows.find((row) => row.fold === null && row.url === chosen);
  const revealed = useRef<string | null | undefined>(undefined);
  useEffect(() => {
    // After sorting or searching, the table stays at its top.
    if (place < 0 || revealed.current === chosen) return;
    revealed.current = chosen;
    goTo(place);
  }, [place, rows.total]);
  const show = ({ fold, url }: TargetRow) => {
    if (fold === null) maps.showTarget({ url, window: null });
  };
  const toggle = (fold: TargetFold) => {
    const others = (query.open ?? []).filter((name) => name !== fold.name);
    maps.narrowTargets({ open: fold.open ? others : [...others, fold.name] });
  };
  const choose = (row: TargetRow) => (row.fold ? toggle(row.fold) : show(row));
  const onKeyDown = (event: KeyboardEvent) => {
    const next = goal(event.key);
    const fold = rows.at(active)?.fold;
    const opens: Record<string, boolean> = { ArrowRight: true, ArrowLeft: false };
    if (next !== undefined) rows.withRow(goTo(next), show);
    else if (fold && (event.key === "Enter" || event.key === " ")) toggle(fold);
    else if (fold && opens[event.key] === !fold.open) toggle(fold);
    else return;
    event.preventDefault();
  };
  return (
    <div class="target-box">
      <Rows
        rows={rows}
        handle={handle}
        active={active}
        attributes={{
          class: `targets${dated ? " dated" : ""}${timed ? " timed" : ""}`,
          role: query.fold === undefined ? "grid" : "treegrid",
          "aria-label": "Files",
          style: { height: `${Math.min(SHOWN, rows.total + 1) * 24 + 2}px` },
        }}
        onKeyDown={onKeyDown}
        header={<Columns maps={maps} query={query} dated={dated} />}
      >
        {(row, { index, key, id, style }) => (
          <div
            key={key}
            id={id}
            class={`row${isChosen(row, chosen) ? " selected" : ""}${row?.fold ? " fold" : ""}`}
            role="row"
            aria-rowindex={index + 2}
            aria-selected={isChosen(row, chosen)}
            aria-level={query.fold === undefined ? undefined : row?.fold ? 1 : 2}
            aria-expanded={row?.fold ? row.fold.open : undefined}
            style={style}
            onClick={() => rows.withRow(goTo(index), choose)}
          >
            {row?.fold ? (
              <FoldCells row={row} fold={row.fold} dated={dated} names={folds} />
            ) : row ? (
              <Cells
                row={row}
                partly={partly}
                dated={dated}
                indented={query.fold !== undefined}
                names={files}
                reveal={reveal}
              />
            ) : (
              <span role="gridcell">…</span>
            )}
          </div>
        )}
      </Rows>
    </div>
  );
}

/** How the names of all rows of one kind are shown. */
interface Names {
  /** What they begin with. */
  shared: string;
  /** Whether they end alike, so that they are cut there. */
  ends: boolean;
}

function shownAs(names: string[]): Names {
  return { shared: common(names), ends: isAlike(names) };
}

function isChosen(row: TargetRow | undefined, chosen: string | null): boolean {
  return row !== undefined && row.fold === null && row.url === chosen;
}

type Sort = NonNullable<Query["sort"]>;

function Columns({ maps, query, dated }: { maps: Maps; query: Query; dated: boolean }) {
  const by = (sort: Sort) => {
    const again = query.sort === sort;
    // Names and dates from the first, numbers from the greatest; a third time: as the set has them.
    const first = sort !== "name" && sort !== "state" && sort !== "date";
    if (again && (query.descending ?? false) !== first) maps.narrowTargets({ sort: "set", descending: false });
    else maps.narrowTargets({ sort, descending: again ? !first : first });
  };
  const head = (sort: Sort, name: string, look = "") => (
    <span
      role="columnheader"
      class={look}
      aria-sort={query.sort === sort ? (query.descending ? "descending" : "ascending") : undefined}
    >
      <Button class="sorter" title={`Sort by ${name.toLowerCase()}`} onClick={() => by(sort)}>
        {name}
        <Order descends={query.sort === sort ? query.descending === true : null} />
      </Button>
    </span>
  );
  return (
    <div class="row columns" role="row" aria-rowindex={1}>
      {head("name", "File")}
      {dated && head("date", "Date")}
      {head("ranges", "Ranges", "number")}
      {head("bytes", "Referenced", "number")}
      {head("share", "Share", "number share")}
      {head("size", "Size", "number size")}
      {head("state", "State")}
      <span role="columnheader">Arrays</span>
    </div>
  );
}

function FoldCells({ row, fold, dated, names }: { row: TargetRow; fold: TargetFold; dated: boolean; names: Names }) {
  return (
    <>
      <span role="gridcell" class="fold-name" title={fold.name}>
        <span aria-hidden="true">{fold.open ? "▾" : "▸"}</span>
        <Cut text={fold.name === "" ? "no folder in the path" : apart(fold.name, names.shared)} ends={names.ends} />
      </span>
      {dated && <span role="gridcell" />}
      <span role="gridcell" class="number">
        {count(row.ranges)}
      </span>
      <span role="gridcell" class="number">
        {Number(row.ranges) > 0 ? bytes(row.bytes) : ""}
      </span>
      <span role="gridcell" class="share" />
      <span role="gridcell" class="size" />
      <span role="gridcell" class={Number(fold.lost) > 0 ? "bad" : "quiet"}>
        {Number(fold.lost) > 0 ? `✕ ${count(fold.lost)} with problems` : counted(fold.targets, "file")}
      </span>
      <span role="gridcell">{Number(fold.lost) > 0 ? counted(fold.targets, "file") : ""}</span>
    </>
  );
}

const SOME = "Not all generated keys were evaluated, so more of them may refer to this file.";

const KINDS = {
  native: "A file of the Icechunk repository itself.",
  virtual: "A file that the Icechunk repository refers to.",
};

/** With a sign, so nothing is distinguished by colour alone. */
export const STATES: Record<TargetRow["state"], string> = {
  unknown: "not checked",
  good: "✓ answered",
  short: "✕ range past end",
  unreachable: "✕ unreachable",
  "not allowed": "– not allowed",
  "access denied": "– access denied",
  damaged: "✕ damaged",
  changed: "≠ changed",
};

/** What was found, and no more: ranges are compared with a size that is known. */
function stateOf({ state, size, ranges }: TargetRow): string {
  return state === "good" && size !== null && Number(ranges) > 0 ? "✓ ranges inside" : STATES[state];
}

interface CellsProps {
  row: TargetRow;
  partly: boolean;
  dated: boolean;
  indented: boolean;
  names: Names;
  reveal(path: string): void;
}

function Cells({ row, partly, dated, indented, names, reveal }: CellsProps) {
  const whole = Number(row.ranges) === 0;
  const more = row.array_count - row.arrays.length;
  const arrays = row.arrays.map(arrayName).join(", ") + (more > 0 ? ` and ${more} more` : "");
  const go = (path: string) => (event: Event) => {
    event.stopPropagation();
    reveal(path);
  };
  return (
    <>
      <span role="gridcell" class={indented ? "indented" : ""} title={targetName(row.url)}>
        {row.url === null ? targetName(null) : <Cut text={apart(fileName(row.url), names.shared)} ends={names.ends} />}
        {row.kind != null && (
          <span class="quiet" title={KINDS[row.kind]}>
            {" "}
            {row.kind}
          </span>
        )}
      </span>
      {dated && (
        <span role="gridcell" class={row.date === null ? "quiet" : ""} title={row.date ?? ""}>
          {row.date ?? "none"}
        </span>
      )}
      {[
        ["number", whole ? "whole" : `${partly ? "≥ " : ""}${count(row.ranges)}`, partly ? SOME : ""],
        ["number", whole ? "" : `${partly ? "≥ " : ""}${bytes(row.bytes)}`],
        ["number share", whole ? "" : partly ? NOT_KNOWN : percent(Number(row.bytes) / Math.max(1, Number(row.end)))],
        ["number size", row.size === null ? NOT_KNOWN : bytes(row.size)],
      ].map(([look, text, title = ""], i) => (
        <span key={i} role="gridcell" class={look} title={title}>
          {text}
        </span>
      ))}
      <span
        role="gridcell"
        class={row.state === "good" ? "" : row.state === "unknown" ? "quiet" : "bad"}
        title={row.message ?? ""}
      >
        {stateOf(row)}
      </span>
      <span role="gridcell" title={arrays}>
        {row.arrays.map((path, i) => (
          <Fragment key={path}>
            {i > 0 && ", "}
            {path === null ? (
              arrayName(null)
            ) : (
              <Button text={arrayName(path)} link tabIndex={-1} title="Show the array" onClick={go(path)} />
            )}
          </Fragment>
        ))}
        {more > 0 && ` and ${more} more`}
      </span>
    </>
  );
}

/** Checks the targets, and reports what was found and what was not checked. */
export function TargetCheck({ maps }: { maps: Maps }) {
  const { id, progress, answer: found, error } = useStore(maps.checking);
  const ask = (grant: string | null) => void maps.checkTargets(grant);
  if (id !== null) return <Working progress={progress} cancel={() => maps.checking.stop()} />;
  return (
    <div class="offer">
      <Button text={found ? "Check again" : "Check size and reachability"} onClick={() => ask(null)} />
      {found && (
        <span class="quiet" role="status">
          {found.summary}
        </span>
      )}
      {found?.grants.map((grant) => (
        <Allow grant={grant} key={grant} allow={ask} />
      ))}
      {error !== null && <Failure sentence={error} />}
    </div>
  );
}

const FOLDS: [string, string][] = [
  ["none", "none"],
  ["folder", "folder"],
  ["host", "host"],
];

export function TargetTools({ session }: { session: ExplorerSession }) {
  const { maps } = session;
  const { query, found, files } = useStore(maps);
  const [done, run] = useSaid();
  const list = async (form: "text" | "csv") => {
    const { name, text, left } = await maps.listTargets(form);
    if (form === "csv") save(name, text, "text/csv");
    const said =
      form === "csv" ? "Saved" : (await toClipboard(text)) ? "Copied" : "The browser refused to copy the list";
    return left > 0 ? `${said}; ${count(left)} more do not fit in one list` : said;
  };
  const total = files?.total ?? null;
  const isNarrowed = Object.keys(query).some((name) => !["sort", "descending", "fold", "open"].includes(name));
  useEffect(() => {
    // the overview requests it, which an address may omit
    if (isNarrowed && found !== null && total === null) void maps.sumTargets();
  }, [isNarrowed, found === null, total === null]);
  return (
    <div class="target-tools">
      <div class="controls">
        <input
          class="field"
          type="search"
          aria-label="Find files"
          placeholder="Find files, such as 2020 or *.nc"
          title="A part of the URL of a file; * and ? match any text"
          spellcheck={false}
          value={query.find ?? ""}
          onInput={(event) => maps.narrowTargets({ find: event.currentTarget.value })}
        />
        <Choice
          label="Group by"
          value={query.fold ?? "none"}
          options={FOLDS}
          choose={(fold) => maps.narrowTargets({ fold: fold as Query["fold"] & string, open: [] })}
        />
        <span class="space" />
        <Button text="Copy list" onClick={() => void run(() => list("text"))} />
        <Button text="Save as CSV" onClick={() => void run(() => list("csv"))} />
      </div>
      <Narrowed session={session} />
      <p class="caption">
        {found !== null &&
          (isNarrowed && total !== null ? `${count(found)} of ${counted(total, "file")}` : counted(found, "file"))}
        <span role="status">{done !== null && ` · ${done}`}</span>
      </p>
    </div>
  );
}

/** Whose targets are listed: those of an array, or of a part of it, and of a period. */
function Narrowed({ session }: { session: ExplorerSession }) {
  const { maps, preview } = session;
  const { query } = useStore(maps);
  const { plan } = useStore(preview);
  const { item } = useStore(session);
  const { array, slices, since, until } = query;
  const ofItem = item?.array?.path;
  const offered =
    plan !== null && plan.slices.length > 0 && (array !== plan.array || slices?.join() !== plan.slices.join());
  return (
    <div class="controls">
      {array === undefined && ofItem !== undefined && (
        <Button
          text={`Only files of ${ofItem || "/"}`}
          title={ofItem}
          onClick={() => maps.narrowTargets({ array: ofItem })}
        />
      )}
      {offered && (
        <Button
          text={`Only files needed for ${plan.array || "/"}[${plan.slices.join(", ")}]`}
          title={`The selection of ${plan.array || "/"} that is shown under Values`}
          onClick={() => maps.narrowTargets({ array: plan.array, slices: [...plan.slices] })}
        />
      )}
      {array != null && (
        <>
          <span>
            Files of <b>{array || "/"}</b>
          </span>
          <label class="choice">
            <span>part</span>
            <DraftField
              key={array}
              class="slice-text"
              placeholder="all, or 0:10, :, 5"
              title="An index or slice for each dimension, separated by commas: only the files needed to read it are listed"
              text={slices?.join(", ") ?? ""}
              set={(text) =>
                maps.narrowTargets({ slices: text.trim() === "" ? null : text.split(",").map((part) => part.trim()) })
              }
            />
          </label>
          <Button text="Show all files" onClick={() => maps.narrowTargets({ array: null, slices: null })} />
        </>
      )}
      {since != null && until != null && (
        <>
          <span>
            from <b>{moment(since)}</b> until <b>{moment(until)}</b>
          </span>
          <Button text="Show all dates" onClick={() => maps.narrowTargets({ since: null, until: null })} />
        </>
      )}
    </div>
  );
}
