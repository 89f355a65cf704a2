/** The search field above the tree, and which kinds it lets through. */

import { count, counted, KIND_NAMES, KINDS } from "../shared/format.ts";
import { targetName } from "../maps/cells.ts";
import { Badge, Button } from "../shared/parts.tsx";
import { Waited } from "../shared/access.tsx";
import { useStore } from "../shared/store.ts";
import type { Count, KeysFound, Kind } from "../shared/wire.ts";
import type { ExplorerSession } from "../explorer/session.ts";
import { STATE_NAMES, type ChunkState } from "../health/health.ts";
import { Mark } from "../health/healthtable.tsx";
import { START, type Focus } from "../explorer/state.ts";

interface Props {
  session: ExplorerSession;
  /** How many keys there are of each; null until they are counted. */
  kinds: Record<Kind, Count> | null;
}

export function SearchBox({ session, kinds }: Props) {
  const { search, searching, found, searchError, trouble, only, focus } = useStore(session);
  useStore(session.listing);
  useStore(session.health);
  useStore(session.comparing);
  const wrong = searchError ?? trouble;
  const toggle = (kind: Kind) =>
    session.find({
      kinds: search.kinds.includes(kind) ? search.kinds.filter((other) => other !== kind) : [...search.kinds, kind],
    });
  const onKeyDown = (event: KeyboardEvent & { currentTarget: HTMLInputElement }) => {
    // With a text in it, Escape empties the field first, as browsers do.
    if (event.key !== "ArrowDown" && (event.key !== "Escape" || search.text !== "")) return;
    event.preventDefault();
    event.stopPropagation();
    event.currentTarget.closest(".left")!.querySelector<HTMLElement>("[role=treegrid]")?.focus();
    if (event.key === "ArrowDown") session.queue(() => session.goTo(session.state.active));
  };
  return (
    <div class="find" role="search">
      <input
        type="search"
        aria-label="Find keys"
        placeholder="Find keys or files, such as temp or air/*.0"
        title="A part of a key or of the URL of a file; * and ? match any text; start with re: for a regular expression"
        spellcheck={false}
        value={search.text}
        aria-invalid={searchError !== null}
        onInput={(event) => session.find({ text: event.currentTarget.value })}
        onKeyDown={onKeyDown}
      />
      <div class="find-line">
        {KINDS.filter((kind) => kinds === null || Number(kinds[kind]) > 0).map((kind) => (
          <Button
            key={kind}
            class="filter"
            aria-pressed={search.kinds.includes(kind)}
            title={`Only ${KIND_NAMES[kind]}`}
            onClick={() => toggle(kind)}
          >
            <Badge kind={kind} /> <span class="filter-count">{kinds === null ? "" : count(kinds[kind])}</span>
          </Button>
        ))}
        <StateFilter session={session} state="absent" name="absent chunks" />
        {(only === "trouble" || isTroubled(session)) && (
          <Button
            class="filter plain"
            aria-pressed={only === "trouble"}
            title="Only chunks that are rejected, failed, missing, overlapping or different from their file, and keys with errors or warnings"
            onClick={() => session.run(session.showOnly(only === "trouble" ? null : "trouble"))}
          >
            <span class="severity error" aria-hidden="true">
              ✕
            </span>{" "}
            Problems only
          </Button>
        )}
        {(only === "changes" || session.comparing.isOn) && (
          <Button
            class="filter plain"
            aria-pressed={only === "changes"}
            title="Only keys that differ from the other set, including removed keys"
            onClick={() => session.run(session.showOnly(only === "changes" ? null : "changes"))}
          >
            <span aria-hidden="true">±</span> Changes only
          </Button>
        )}
        <span class={wrong ? "find-said bad" : "find-said quiet"} role="status">
          {wrong ?? (focus === null && searching && found !== null ? said(found) : "")}
        </span>
        {searching && found?.unfinished && <Button text="Stop" onClick={() => session.stopSearch()} />}
      </div>
      {focus !== null && (
        <div class="find-line focused" role="group" aria-label="Filter">
          <span role="status">
            <Focused focus={focus} total={searching ? session.rows.total : null} />
          </span>
          <Button text="Show all keys" onClick={() => session.find(START.search)} />
          <Waited waiting={session.narrowing} />
        </div>
      )}
    </div>
  );
}

/** Whether something is known to be wrong, or not known not to be. */
export function isTroubled(session: ExplorerSession): boolean {
  const sums = session.health.state.page?.sums;
  const notes = [...(session.state.hello?.notes ?? []), ...(session.verifying.state.answer?.findings ?? [])];
  const states = [sums?.rejected, sums?.failed, sums?.absent, sums?.differing, sums?.overlapping];
  return sums !== undefined && (states.some((n) => Number(n) > 0) || notes.some(({ severity }) => severity !== "info"));
}

/** Lists the chunks of a state, with how many they are; not there where there are none. */
function StateFilter({ session, state, name }: { session: ExplorerSession; state: ChunkState; name: string }) {
  const { focus } = useStore(session);
  const { page } = useStore(session.health);
  const number = page?.sums[state] ?? null;
  if (number === null || Number(number) === 0) return null;
  const pressed = focus?.by === "state" && focus.state === state && focus.array === null;
  return (
    <Button
      class="filter plain"
      aria-pressed={pressed}
      title={`Only the chunks ${STATE_NAMES[state]}`}
      onClick={() => session.run(pressed ? session.find(START.search) : session.focusOn(state, null))}
    >
      <Mark state={state} /> {name} <span class="filter-count">{count(number)}</span>
    </Button>
  );
}

/** What the tree is narrowed to; `total` is null until it is known. */
function Focused({ focus, total }: { focus: Focus; total: number | null }) {
  if (focus.by === "target") {
    return (
      <>
        {total === null ? "Listing the keys" : counted(total, "key")} of <b>{targetName(focus.url)}</b>
      </>
    );
  }
  const state = STATE_NAMES[focus.state];
  return (
    <>
      {total === null ? `Listing the chunks ${state} …` : `${counted(total, "chunk")} ${state}`}
      {focus.array !== null && (
        <>
          {" "}
          of <b>{focus.array || "/"}</b>
        </>
      )}
    </>
  );
}

function said({ total, capped, in_targets: inTargets, unfinished }: KeysFound): string {
  const by = Number(inTargets) > 0 ? `, ${count(inTargets)} of them by file` : "";
  if (capped && Number(total) === 0) return "none found before it was stopped";
  if (capped) return `the first ${count(total)} found${by}`;
  return `${counted(total, "key")} found${unfinished ? " so far" : ""}${by}`;
}
