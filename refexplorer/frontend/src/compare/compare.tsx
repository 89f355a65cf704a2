/** The comparison: the other set, what differs in numbers, on a map, key by key, value by value. */

import { useEffect, useState } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import type { ExplorerView } from "../explorer/view.ts";
import { placeOf } from "../maps/cells.ts";
import { fitting } from "../maps/changecells.ts";
import { ChunkBoard } from "../maps/chunkboard.tsx";
import { type GridPicture, isNarrowed, type Span } from "../maps/maps.ts";
import { Failure, Waited } from "../shared/asking.tsx";
import { count, counted } from "../shared/format.ts";
import { Button, Sentence } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { ArrayChanges, ComparedSets, Count } from "../shared/wire.ts";
import { ChangeLegend } from "../maps/legend.tsx";
import { indexOf } from "./comparing.ts";
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
      {compared !== null && sets === null && error === null && <Nothing comparable={compared.comparable} />}
      {sets !== null && <Sets sets={sets} session={session} />}
    </div>
  );
}

function Nothing({ comparable }: { comparable: boolean }) {
  return (
    <p class="prose quiet">
      {comparable
        ? "Enter the path or URL of an earlier version or another form of this set. Only the references are compared; no file is read."
        : "No other set can be opened here. Open this set with refexplorer to compare it."}
    </p>
  );
}

/** The other set: a path or URL, one that is offered, or one of before. */
function Choose({ session: { comparing } }: { session: ExplorerSession }) {
  const { source: known } = useStore(comparing);
  const [source, setSource] = useState(known);
  useEffect(() => {
    if (known !== "") setSource(known);
  }, [known]);
  const ask = (event: Event) => {
    event.preventDefault();
    if (source.trim() !== "") void comparing.compare(source.trim(), true);
  };
  const { choices } = comparing;
  return (
    <form class="compare-with" onSubmit={ask}>
      <input
        class="field"
        aria-label="Compare with another set: path or URL"
        placeholder="Path or URL of an earlier version"
        spellcheck={false}
        value={source}
        onInput={(event) => setSource(event.currentTarget.value)}
      />
      <Button text="Compare" type="submit" class="button main-button" disabled={source.trim() === ""} />
      {choices.length > 0 && (
        <select
          aria-label="Sets to compare with"
          value=""
          onChange={(event) => {
            setSource(event.currentTarget.value);
            void comparing.compare(event.currentTarget.value);
          }}
        >
          <option value="" disabled>
            Choose …
          </option>
          {choices.map(({ title, source: named }) => (
            <option key={named} value={named}>
              {title}
            </option>
          ))}
        </select>
      )}
    </form>
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
        <ul class="change-counts" aria-label="Keys by their change">
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
                  title="List only these"
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
        <table class="health-table" aria-label="Arrays with changes">
          <thead>
            <tr>
              <th scope="col" class="start">
                Array
              </th>
              {kinds.map(({ name, mark, words }) => (
                <th key={name} scope="col">
                  <code>{mark}</code> {words}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sets.arrays.map((array) => (
              <tr key={array.path}>
                <th scope="row" class="start">
                  <Button
                    text={array.path || "/"}
                    class="link"
                    title={array.after === null ? "Show the map of its chunks" : "Show the array"}
                    onClick={() => look(session, array)}
                  />
                  <span class="quiet shape">{forms(array)}</span>
                </th>
                {kinds.map(({ name, words, place }) => (
                  <td key={name} class="number">
                    <Keys
                      n={array.counts[place]!}
                      label={`${words} of ${array.path || "/"}`}
                      go={() => comparing.list({ change: name, folder: array.path })}
                    />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {more > 0 && <p class="quiet">and {counted(more, "more array")}</p>}
    </section>
  );
}

function Keys({ n, label, go }: { n: Count; label: string; go(): void }) {
  if (Number(n) === 0) return <span class="quiet">0</span>;
  return <Button text={count(n)} class="link" aria-label={`${counted(n, "key")} ${label}: list them`} onClick={go} />;
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
  const { changes, gone } = useStore(comparing);
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
  if (gone !== null) return <GoneChunks grid={gone} sets={sets} session={session} />;
  if (wanted === undefined) return null;
  if (gridError !== null) return <Failure sentence={gridError} />;
  const drawn = grid?.array === wanted ? fitting(changes, grid) : null;
  const selected = item?.chunk?.array === wanted ? item.chunk.index.map(Number) : null;
  return (
    <section class="change-map">
      <h3>
        Chunks of <ArrayChoice sets={sets} chosen={wanted} session={session} />
      </h3>
      <Waited waiting={maps.counting} />
      <Waited waiting={comparing.drawing} />
      {grid && drawn && grid.rows * grid.columns > 0 ? (
        <>
          {isNarrowed(grid) && <Button text="Whole grid" onClick={() => maps.showGrid(grid.array, grid.axes)} />}
          <ChunkBoard
            key={wanted}
            picture={grid}
            by="change"
            changes={drawn}
            selected={selected}
            only={null}
            select={(key) => session.run(session.reveal(key))}
            zoomTo={(spans) => maps.showGrid(grid.array, grid.axes, spans)}
          />
          <ChangeLegend changes={drawn} />
        </>
      ) : grid && drawn ? (
        <p class="quiet">The array has no chunks.</p>
      ) : (
        <p class="quiet">Drawing the chunks …</p>
      )}
    </section>
  );
}

/** The map of an array that only the set before has; its chunks are not in the tree. */
function GoneChunks({ grid, sets, session }: { grid: GridPicture; sets: ComparedSets; session: ExplorerSession }) {
  const { comparing } = session;
  const { changes, goneChunk } = useStore(comparing);
  const drawn = fitting(changes, grid);
  const show = (window: Span[] | null) => void comparing.showGone(grid.array, grid.axes, window);
  return (
    <section class="change-map">
      <h3>
        Chunks of <ArrayChoice sets={sets} chosen={grid.array} session={session} />
      </h3>
      <p class="prose quiet">The array was removed: this map is from {sets.before}.</p>
      <Waited waiting={comparing.drawing} />
      {drawn && grid.rows * grid.columns > 0 && (
        <>
          {isNarrowed(grid) && <Button text="Whole grid" onClick={() => show(null)} />}
          <ChunkBoard
            key={grid.array}
            picture={grid}
            by="change"
            changes={drawn}
            selected={goneChunk === null ? null : indexOf(grid, goneChunk)}
            only={null}
            select={(key) => comparing.set({ goneChunk: key })}
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
  return (
    <select
      aria-label="Array of the map"
      value={chosen}
      onChange={(event) => look(session, sets.arrays.find(({ path }) => path === event.currentTarget.value)!)}
    >
      {sets.arrays.map(({ path, before, after }) => (
        <option key={path} value={path}>
          {path || "/"}
          {after === null ? " (removed)" : before === null ? " (added)" : ""}
        </option>
      ))}
    </select>
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
