/** The comparison: the other set, what differs in numbers, on a map, key by key, value by value. */

import { useEffect } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import type { ExplorerView } from "../explorer/view.ts";
import { placeOf } from "../maps/cells.ts";
import { fitting } from "../maps/changecells.ts";
import { ChunkBoard } from "../maps/chunkboard.tsx";
import { type GridPicture, isNarrowed, type Span } from "../maps/maps.ts";
import { Failure, Waited } from "../shared/access.tsx";
import { count, counted } from "../shared/format.ts";
import { AskForm, DataTable, FileButton, Select } from "../shared/controls.tsx";
import { COMPARE_FILE } from "../shared/host.ts";
import { Button, CountLink, Sentence } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { ArrayChanges, ComparedSets } from "../shared/wire.ts";
import { ChangeLegend } from "../maps/legend.tsx";
import { indexOf } from "./comparison.ts";
import { ChangedKeys } from "./keys.tsx";
import { ChunkInBoth } from "./values.tsx";

const SAME = "same";

export const VIEW: ExplorerView = { name: "compare", Shown: Compare };

function Compare({ session }: { session: ExplorerSession }) {
  const { comparing } = session;
  const { compared, error } = useStore(comparing);
  const sets = compared?.sets ?? null;
  return (
    <div class="compare">
      {compared?.comparable && <Choose session={session} />}
      <Waited waiting={comparing.comparing} />
      {error !== null && <Failure sentence={error} />}
      {compared === null && error === null && <p class="quiet">Loading the comparison …</p>}
      {compared !== null && sets === null && error === null && (
        <p class="prose quiet">
          {compared.comparable
            ? "Enter the path or URL of an earlier version of this set, or of the same set in another format. Only the references are compared; no file is read."
            : "No other set can be opened here. Open this set with refexplorer to compare it."}
        </p>
      )}
      {sets !== null && <Sets sets={sets} session={session} />}
    </div>
  );
}

/** The other set: a path or URL, one that is offered, an earlier one, or a file if the page accepts files. */
function Choose({ session: { comparing, isPage } }: { session: ExplorerSession }) {
  const { source } = useStore(comparing);
  const { choices } = comparing;
  return (
    <AskForm
      box="compare-with"
      aria-label="Compare with another set: path or URL"
      placeholder="Path or URL of an earlier version"
      title="Path or URL of an earlier version"
      start={source}
      button="Compare"
      main
      go={(typed) => void comparing.compare(typed, true)}
    >
      {choices.length > 0 && (
        <Select
          aria-label="Sets to compare with"
          first="Choose …"
          options={choices.map(({ title, source: named }) => [named, title])}
          choose={(named) => void comparing.compare(named)}
        />
      )}
      {isPage && (
        <FileButton
          label="File to compare with"
          choose={(detail) => document.dispatchEvent(new CustomEvent(COMPARE_FILE, { detail }))}
        />
      )}
    </AskForm>
  );
}

function Sets({ sets, session }: { sets: ComparedSets; session: ExplorerSession }) {
  const { comparing } = session;
  const { goneChunk } = useStore(comparing);
  const { item } = useStore(session);
  const { listed } = comparing.state;
  const differ = sets.kinds.filter(({ name }) => name !== SAME);
  return (
    <>
      <h2 class="unseen">Comparison</h2>
      <section class="differences" aria-label="What differs">
        <h3>{sets.title}</h3>
        <ul class="change-counts" aria-label="Keys by kind of change">
          {sets.kinds.map(({ name, mark, words, keys }) => (
            <li key={name}>
              {name === SAME ? (
                <span class="chip">
                  <code>{mark}</code> {words}: <b>{count(keys)}</b>
                </span>
              ) : (
                <Button
                  class="chip"
                  aria-pressed={listed.change === name}
                  title="List only these keys"
                  onClick={() => comparing.list({ change: listed.change === name ? null : name })}
                >
                  <code>{mark}</code> {words}: <b>{count(keys)}</b>
                </Button>
              )}
            </li>
          ))}
        </ul>
        {sets.sentences.map((sentence) => (
          <p key={sentence} class="prose">
            <Sentence text={sentence} />
          </p>
        ))}
      </section>
      {differ.length > 0 && <Arrays sets={sets} session={session} />}
      {differ.length > 0 && <ChunkChanges sets={sets} session={session} />}
      <ChunkInBoth session={session} chunk={goneChunk ?? (item?.chunk ? item.path : null)} />
      {differ.length > 0 && <ChangedKeys session={session} sets={sets} />}
    </>
  );
}

/** The arrays of which something changed, each number a link to its keys. */
function Arrays({ sets, session }: { sets: ComparedSets; session: ExplorerSession }) {
  const { comparing } = session;
  const kinds = sets.kinds.map((kind, place) => ({ ...kind, place })).filter(({ name }) => name !== SAME);
  if (sets.arrays.length === 0) return null;
  const more = Number(sets.array_count) - sets.arrays.length;
  return (
    <section class="health">
      <h3>{counted(sets.array_count, "array")} with changes</h3>
      <div class="health-scroll">
        <DataTable
          class="health-table"
          label="Arrays with changes"
          rows={sets.arrays}
          of={({ path }) => path}
          columns={[
            {
              head: "Array",
              class: "start",
              cell: (array) => (
                <>
                  <Button
                    text={array.path || "/"}
                    link
                    title={array.after === null ? "Show the map of its chunks" : "Show the array"}
                    onClick={() => look(session, array)}
                  />
                  <span class="quiet shape">{forms(array)}</span>
                </>
              ),
            },
            ...kinds.map(({ name, mark, words, place }) => ({
              head: (
                <>
                  <code>{mark}</code> {words}
                </>
              ),
              class: "number",
              cell: (array: ArrayChanges) => (
                <CountLink
                  n={array.counts[place]!}
                  label={(all) => `${counted(all, "key")} ${words} of ${array.path || "/"}: list them`}
                  go={() => comparing.list({ change: name, folder: array.path })}
                />
              ),
            })),
          ]}
        />
      </div>
      {more > 0 && <p class="quiet">and {counted(more, "more array")}</p>}
    </section>
  );
}

/** Shows the map of an array of either set. */
function look(session: ExplorerSession, { path, after }: ArrayChanges): void {
  if (after === null) void session.comparing.showGone(path);
  else {
    session.comparing.leaveGone();
    session.run(session.reveal(path));
  }
}

/** Shape and data type, before and after where they are not the same. */
function forms({ before, after }: ArrayChanges): string {
  if (before === null) return `${after}, a new array`;
  if (after === null) return `${before}, removed`;
  return before === after ? after : `${before} became ${after}`;
}

/** The map of the chunks of an array, by what became of them. */
function ChunkChanges({ sets, session }: { sets: ComparedSets; session: ExplorerSession }) {
  const { maps, comparing } = session;
  const { item } = useStore(session);
  const { grid, gridError } = useStore(maps);
  const { changes, gone, goneChunk } = useStore(comparing);
  const changed = ({ counts }: ArrayChanges) => counts.reduce<number>((sum, n) => sum + Number(n), 0);
  const arrays = sets.arrays
    .filter(({ after }) => after !== null)
    .sort((one, two) => changed(two) - changed(one))
    .map(({ path }) => path);
  const ofItem = item?.array?.path;
  const wanted =
    ofItem !== undefined && arrays.includes(ofItem)
      ? ofItem
      : arrays.includes(grid?.array ?? "\n")
        ? grid!.array
        : arrays[0];
  useEffect(() => {
    if (wanted !== undefined && grid?.array !== wanted) maps.showGrid(wanted);
    else if (grid && item?.chunk && placeOf(grid, item.chunk.index.map(Number)) === null)
      maps.showGrid(grid.array, grid.axes);
  }, [wanted, item]);
  useEffect(() => {
    if (gone ?? grid) comparing.show((gone ?? grid)!);
  }, [gone, grid, changes === null, sets]);
  useEffect(() => {
    // only what is gone differs
    if (wanted === undefined && sets.arrays.length > 0 && !comparing.isAtGone)
      void comparing.showGone(sets.arrays[0]!.path);
  }, [wanted, gone === null]);
  // The map of an array that only the set before has; its chunks are not in the tree.
  if (gone !== null)
    return (
      <ChangeMap
        {...{ sets, session, array: gone.array, grid: gone }}
        note={`The array was removed: this map is from ${sets.before}.`}
        selected={goneChunk === null ? null : indexOf(gone, goneChunk)}
        select={(key) => comparing.set({ goneChunk: key })}
        show={(window) => void comparing.showGone(gone.array, gone.axes, window)}
      />
    );
  if (wanted === undefined) return null;
  if (gridError !== null) return <Failure sentence={gridError} />;
  const drawn = grid?.array === wanted ? grid : null;
  return (
    <ChangeMap
      {...{ sets, session, array: wanted, grid: drawn }}
      selected={item?.chunk?.array === wanted ? item.chunk.index.map(Number) : null}
      select={(key) => session.run(session.reveal(key))}
      show={(window) => maps.showGrid(wanted, drawn?.axes, window)}
    />
  );
}

interface ChangeMapProps {
  sets: ComparedSets;
  session: ExplorerSession;
  array: string;
  grid: GridPicture | null;
  note?: string;
  selected: number[] | null;
  select(key: string): void;
  show(window: Span[] | null): void;
}

function ChangeMap({ sets, session, array, grid, note, selected, select, show }: ChangeMapProps) {
  const { changes } = useStore(session.comparing);
  const drawn = grid && fitting(changes, grid);
  return (
    <section class="change-map">
      <h3>
        Chunks of <ArrayChoice sets={sets} chosen={array} session={session} />
      </h3>
      {note && <p class="prose quiet">{note}</p>}
      <Waited waiting={session.maps.counting} />
      <Waited waiting={session.comparing.drawing} />
      {!grid || !drawn ? (
        <p class="quiet">Drawing the chunks …</p>
      ) : grid.rows * grid.columns === 0 ? (
        <p class="quiet">The array has no chunks.</p>
      ) : (
        <>
          {isNarrowed(grid) && <Button text="Whole grid" onClick={() => show(null)} />}
          <ChunkBoard
            key={array}
            picture={grid}
            by="change"
            changes={drawn}
            selected={selected}
            only={null}
            select={select}
            zoomTo={show}
          />
          <ChangeLegend changes={drawn} />
        </>
      )}
    </section>
  );
}

/** Which array is drawn; a name alone where there is one. */
function ArrayChoice({ sets, chosen, session }: { sets: ComparedSets; chosen: string; session: ExplorerSession }) {
  if (sets.arrays.length < 2) return <>{chosen || "/"}</>;
  const became = ({ before, after }: ArrayChanges) =>
    after === null ? " (removed)" : before === null ? " (added)" : "";
  return (
    <Select
      aria-label="Array of the map"
      value={chosen}
      options={sets.arrays.map((array) => [array.path, `${array.path || "/"}${became(array)}`])}
      choose={(name) => look(session, sets.arrays.find(({ path }) => path === name)!)}
    />
  );
}

export function ComparisonBanner({ session }: { session: ExplorerSession }) {
  const { comparing } = session;
  const { compared } = useStore(comparing);
  const { look, item } = useStore(session);
  const sets = compared?.sets ?? null;
  if (sets === null) return null;
  const differing = sets.kinds.filter(({ name }) => name !== "same");
  const total = differing.reduce((sum, { keys }) => sum + Number(keys), 0);
  return (
    <section class="compared-with" aria-label="Comparison with another set">
      <p>
        <span aria-hidden="true">±</span>{" "}
        <b>
          {total === 0 ? "No key differs" : `${counted(total, "key")} ${total === 1 ? "differs" : "differ"}`} from{" "}
          {sets.before}
        </b>
        {total > 0 && ": "}
        {differing.map(({ mark, words, keys }) => `${mark} ${count(keys)} ${words}`).join(", ")}
      </p>
      <Button
        text="What differs"
        aria-pressed={look === "compare"}
        onClick={() => session.show(look === "compare" ? "data" : "compare")}
      />
      {item?.array != null && (
        <Button text="Both pictures" aria-pressed={look === "beside"} onClick={() => session.show("beside")} />
      )}
      <Button text="Stop comparing" onClick={() => void comparing.compare("")} />
    </section>
  );
}
