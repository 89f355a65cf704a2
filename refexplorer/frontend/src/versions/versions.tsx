/** Branches, tags and snapshots to choose from: to open one, and to compare any two. */

import { Button } from "../shared/parts.tsx";
import { Failure, Offer, Waited } from "../shared/access.tsx";
import { Sentences } from "../shared/controls.tsx";
import { useStore } from "../shared/store.ts";
import type { VersionList } from "../shared/wire.ts";
import type { VersionPicker } from "./versions.ts";

/** Characters of an id that are shown. */
const SHOWN = 12;

export function Versions({ picker }: { picker: VersionPicker }) {
  const { versions, before, after, changes, error } = useStore(picker);
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
          <Choice
            name="Version"
            versions={versions}
            chosen={after}
            choose={(next) => picker.set({ after: next, changes: null })}
          />
          <Button
            text="Open this version"
            disabled={after === versions.shown}
            onClick={() => void picker.open(after)}
          />
          <Choice
            name="compared with"
            versions={versions}
            chosen={before}
            choose={(next) => picker.set({ before: next, changes: null })}
          />
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

interface ChoiceProps {
  name: string;
  versions: VersionList;
  chosen: string;
  choose(version: string): void;
}

function Choice({ name, versions, chosen, choose }: ChoiceProps) {
  const named: [string, [string, string][]][] = [
    ["Branches", versions.branches],
    ["Tags", versions.tags],
  ];
  return (
    <label class="version-choice">
      {name}{" "}
      <select aria-label={name} value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
        {named.map(
          ([label, entries]) =>
            entries.length > 0 && (
              <optgroup key={label} label={label}>
                {entries.map(([version]) => (
                  <option key={version} value={version}>
                    {version}
                  </option>
                ))}
              </optgroup>
            ),
        )}
        <optgroup label="Snapshots">
          {versions.snapshots.map(({ id, written, message, names }) => (
            <option key={id} value={id}>
              {[id.slice(0, SHOWN), written, message, names.join(", ")].filter(Boolean).join(" · ")}
            </option>
          ))}
        </optgroup>
      </select>
    </label>
  );
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
