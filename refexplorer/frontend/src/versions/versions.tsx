/** Branches, tags and snapshots to choose from: to open one, and to compare any two. */

import { Button } from "../shared/parts.tsx";
import { Failure, Offer, Waited } from "../shared/access.tsx";
import { type Options, Select, Sentences } from "../shared/controls.tsx";
import { useStore } from "../shared/store.ts";
import type { VersionList } from "../shared/wire.ts";
import type { VersionPicker } from "./versions.ts";

/** Characters of an id that are shown. */
const SHOWN = 12;

export function Versions({ picker }: { picker: VersionPicker }) {
  const { versions, before, after, changes, error } = useStore(picker);
  const choice = (name: string, chosen: string, choose: (version: string) => void) => (
    <label class="version-choice">
      {name} <Select aria-label={name} value={chosen} options={optionsOf(versions!)} choose={choose} />
    </label>
  );
  return (
    <section class="versions" aria-label="Versions of the repository">
      <h3>Versions</h3>
      {versions === null ? (
        <Offer
          text="List branches, tags and snapshots"
          note="Reads the history of the repository, but no references."
          act={() => void picker.list()}
        />
      ) : (
        <>
          {choice("Version", after, (next) => picker.set({ after: next, changes: null }))}
          <Button
            text="Open this version"
            disabled={after === versions.shown}
            onClick={() => void picker.open(after)}
          />
          {choice("compared with", before, (next) => picker.set({ before: next, changes: null }))}
          <Button text="What changed since" disabled={before === after} onClick={() => void picker.compare()} />
          {versions.more && <p class="quiet">There are older snapshots; `refexplorer.history` lists them all.</p>}
        </>
      )}
      <Waited waiting={picker.progress} />
      {error !== null && <Failure sentence={error} />}
      {changes !== null && (
        <div role="status">
          <p class="prose">{changes.title}</p>
          <Lines name="Changes of references" lines={changes.lines} />
          <Lines name="Transaction log" lines={changes.logged} />
        </div>
      )}
    </section>
  );
}

function optionsOf({ branches, tags, snapshots }: VersionList): Options {
  const named = ([version]: [string, string]) => version;
  const written = snapshots.map(({ id, written, message, names }): [string, string] => [
    id,
    [id.slice(0, SHOWN), written, message, names.join(", ")].filter(Boolean).join(" · "),
  ]);
  return [
    { label: "Branches", options: branches.map(named) },
    { label: "Tags", options: tags.map(named) },
    { label: "Snapshots", options: written },
  ].filter(({ options }) => options.length > 0);
}

function Lines({ name, lines }: { name: string; lines: string[] }) {
  if (lines.length === 0) return null;
  return (
    <>
      <h4>{name}</h4>
      <Sentences of={lines} />
    </>
  );
}
