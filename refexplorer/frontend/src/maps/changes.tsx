/** Beside and below a map of chunks: what it is compared with, and all that differs. */

import { useState } from "preact/hooks";

import { count } from "../shared/format.ts";
import { Sentence } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import { Failure, Waited } from "../shared/asking.tsx";
import { changeInk, changesShown } from "./changecells.ts";
import type { ChangePicture, Comparing } from "./comparing.ts";
import { Entries, type LegendEntry } from "./mapparts.tsx";
import type { GridPicture } from "./maps.ts";

/** The changes of the chunks in view, with their numbers. */
export function ChangeLegend({ changes }: { changes: ChangePicture }) {
  const entries: LegendEntry[] = changesShown(changes).map(({ name, mark, words, chunks }) => ({
    name: `${mark} ${words}: ${count(chunks)}`,
    mark: changeInk(name),
  }));
  const chunks = changes.window.reduce((product, [start, stop]) => product * (Number(stop) - Number(start)), 1);
  const compared = changes.perChange.reduce((sum, n) => sum + n, 0);
  const neither = compared < chunks ? [{ name: `in neither set: ${count(chunks - compared)}`, mark: "nothing" as const }] : [];
  return <Entries label="Legend" entries={[...entries, ...neither]} />;
}

export function Comparison({ comparing, grid }: { comparing: Comparing; grid: GridPicture }) {
  const { changes, comparable, error } = useStore(comparing);
  return (
    <>
      {comparable && <CompareWith comparing={comparing} grid={grid} isOn={changes !== null} />}
      <Waited waiting={comparing.waiting} />
      {error !== null && <Failure sentence={error} />}
      {changes !== null && <Differences changes={changes} />}
    </>
  );
}

interface CompareWithProps {
  comparing: Comparing;
  grid: GridPicture;
  isOn: boolean;
}

function CompareWith({ comparing, grid, isOn }: CompareWithProps) {
  const [source, setSource] = useState("");
  const ask = (event: Event) => {
    event.preventDefault();
    if (source.trim() !== "") void comparing.compare(source.trim(), grid);
  };
  return (
    <form class="compare-with" onSubmit={ask}>
      <input
        class="field"
        aria-label="Compare with another set: path or URL"
        placeholder="Compare with … (path or URL)"
        spellcheck={false}
        value={source}
        onInput={(event) => setSource(event.currentTarget.value)}
      />
      <button type="submit" class="button" disabled={source.trim() === ""}>Compare</button>
      {isOn && <button type="button" class="button" onClick={() => void comparing.compare("", grid)}>Stop comparing</button>}
    </form>
  );
}

/** The summary of all keys, and the first of those that differ. */
function Differences({ changes: { title, kinds, sentences, rows, more } }: { changes: ChangePicture }) {
  return (
    <section class="differences" aria-label="What differs">
      <h3>{title}</h3>
      <ul class="change-counts" aria-label="Keys by their change">
        {kinds.map(({ name, mark, words, keys }) => (
          <li key={name}><code>{mark}</code> {words}: <b>{count(keys)}</b></li>
        ))}
      </ul>
      {sentences.map((sentence) => <p key={sentence}><Sentence text={sentence} /></p>)}
      {rows.length > 0 && (
        <div class="scrolled" tabIndex={0} role="region" aria-label="Keys that differ">
          <table class="texts">
            <thead>
              <tr><th scope="col">Change</th><th scope="col">Key</th><th scope="col">Before</th><th scope="col">After</th></tr>
            </thead>
            <tbody>
              {rows.map(({ mark, key, before, after }) => (
                <tr key={key}><td>{mark}</td><td>{key}</td><td>{before}</td><td>{after}</td></tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {Number(more) > 0 && <p class="quiet">and {count(more)} more</p>}
    </section>
  );
}
