/** The search field above the tree, with how it reads and which kinds it lets through. */

import { count, counted, KIND_NAMES, KINDS } from "../shared/format.ts";
import { Badge } from "../shared/parts.tsx";
import { Waited } from "../shared/asking.tsx";
import { useStore } from "../shared/store.ts";
import type { Count, Kind } from "../shared/wire.ts";
import type { ExplorerSession } from "../explorer/session.ts";
import { STATE_NAMES } from "../health/healthtable.tsx";
import { START, type Mode } from "../explorer/state.ts";

const HINTS: Record<Mode, string> = {
  glob: "air/*.0",
  substring: "zarray",
  regex: "^air/[0-9.]+$",
};

interface Props {
  session: ExplorerSession;
  kinds: Record<Kind, Count>;
}

export function SearchBox({ session, kinds }: Props) {
  const { search, searching, capped, searchError, trouble, absent, hello, focus } = useStore(session);
  useStore(session.listing);
  const wrong = searchError ?? trouble;
  const toggle = (kind: Kind) =>
    session.find({
      kinds: search.kinds.includes(kind)
        ? search.kinds.filter((other) => other !== kind)
        : [...search.kinds, kind],
    });
  return (
    <div class="find" role="search">
      <div class="find-line">
        <input
          type="search"
          aria-label="Find keys"
          placeholder={`Find keys, such as ${HINTS[search.mode]}`}
          spellcheck={false}
          value={search.text}
          aria-invalid={searchError !== null}
          onInput={(event) => session.find({ text: event.currentTarget.value })}
        />
        <select
          aria-label="Search syntax"
          value={search.mode}
          onChange={(event) => session.find({ mode: event.currentTarget.value as Mode })}
        >
          <option value="glob">glob</option>
          <option value="substring">text</option>
          <option value="regex">regex</option>
        </select>
      </div>
      <div class="find-line">
        {KINDS.filter((kind) => Number(kinds[kind]) > 0).map((kind) => (
          <button
            type="button"
            key={kind}
            class="filter"
            aria-pressed={search.kinds.includes(kind)}
            title={`Only ${KIND_NAMES[kind]}`}
            onClick={() => toggle(kind)}
          >
            <Badge kind={kind} /> <span class="filter-count">{count(kinds[kind])}</span>
          </button>
        ))}
        {Number(hello?.facts.arrays) > 0 && (
          <button
            type="button"
            class="filter plain"
            aria-pressed={absent}
            title="Also show chunks without a reference, of arrays of up to a million chunks"
            onClick={() => session.run(session.showAbsent(!absent))}
          >
            <span class="hatch small" aria-hidden="true" /> absent chunks
          </button>
        )}
        <span class={wrong ? "find-said bad" : "find-said"} role="status">
          {wrong ?? (focus === null && searching ? found(session.rows.total, capped) : "")}
        </span>
      </div>
      {focus !== null && (
        <div class="find-line focused" role="group" aria-label="Filter">
          <span role="status">
            {searching ? `${counted(session.rows.total, "chunk")} ${STATE_NAMES[focus.state]}` : `Listing the chunks ${STATE_NAMES[focus.state]} …`}
            {focus.array !== null && <> of <b>{focus.array || "/"}</b></>}
          </span>
          <button type="button" class="button" onClick={() => session.find(START.search)}>Show all keys</button>
          <Waited waiting={session.narrowing} />
        </div>
      )}
    </div>
  );
}

function found(total: number, capped: boolean): string {
  return capped ? `the first ${count(total)} found` : `${counted(total, "key")} found`;
}
