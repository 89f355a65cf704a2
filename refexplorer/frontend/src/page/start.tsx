/** The screen where a set is chosen: by path or URL, as a file, or one that is offered. */

import { AskForm } from "../shared/controls.tsx";
import { bytes } from "../shared/format.ts";
import type { Host } from "../shared/host.ts";
import { Button, Sentence } from "../shared/parts.tsx";
import { Drop } from "./drop.tsx";
import { ask, type OfferedSet, useShared } from "./wire.ts";

export function Start({ host }: { host: Host }) {
  const title = useShared(host, "title");
  const problem = useShared(host, "problem");
  const opening = useShared(host, "opening");
  const open = (source: string) => ask(host, "open", { source });
  const [typed, sets] = [useShared(host, "typed"), useShared(host, "sets")];
  const busy = opening !== "";
  return (
    <main class="start">
      <h1>Explore a reference set</h1>
      <p class="quiet lead">
        A reference set maps Zarr keys to bytes in other files. Open one to browse its keys, see what each one points
        to, plot its data and edit its templates. Opening it reads only the set itself.
      </p>
      <AskForm
        key={typed}
        box="source"
        label="Path or URL of a reference set (JSON, gzip, zstd, or a parquet folder)"
        placeholder="combined.json"
        start={typed}
        button="Open"
        main
        busy={busy}
        go={open}
      />
      <Drop host={host} busy={busy} />
      {problem !== "" && (
        <p class="failed" role="alert">
          <span aria-hidden="true">✕</span> <Sentence text={problem} />
        </p>
      )}
      <Opening host={host} />
      <Offered title="Sets offered on this page" sets={sets.filter((set) => !isLesson(set))} open={open} busy={busy} />
      <Offered title="Lessons: find out what is wrong" sets={sets.filter(isLesson)} open={open} busy={busy} />
      {title !== "" && (
        <Button text={`Back to ${title}`} class="button back" onClick={() => ask(host, "turn", { view: "explorer" })} />
      )}
    </main>
  );
}

/** What is being opened, and the way to wait no longer. */
export function Opening({ host }: { host: Host }) {
  const opening = useShared(host, "opening");
  const [done, size] = useShared(host, "opened");
  return (
    <div class="quiet opening">
      <span role="status">{opening !== "" && `Opening ${opening} …`}</span>
      {opening !== "" && size !== undefined && (
        <>
          <progress max={size} value={done} aria-label={`Opening ${opening}`} />
          <span>
            {bytes(done ?? 0)} of {bytes(size)}
          </span>
        </>
      )}
      {opening !== "" && <Button text="Cancel" onClick={() => ask(host, "stop")} />}
    </div>
  );
}

const isLesson = ({ source }: OfferedSet) => source.startsWith("lessons/");

interface OfferedProps {
  title: string;
  sets: OfferedSet[];
  open(source: string): void;
  busy: boolean;
}

function Offered({ title, sets, open, busy }: OfferedProps) {
  // A link can be copied and opened in another tab; a plain click stays on this page.
  const choose = (event: MouseEvent, source: string) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    if (!busy) open(source);
  };
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <ul class="sets">
        {sets.map((set) => (
          <li key={set.source}>
            <a
              class="set"
              href={`?source=${encodeURIComponent(set.source)}`}
              aria-disabled={busy}
              onClick={(event) => choose(event, set.source)}
            >
              <span class="set-title">{set.title}</span>
              <code class="quiet">{set.source}</code>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
