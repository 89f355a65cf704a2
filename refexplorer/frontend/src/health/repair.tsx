/** Repairing the set: what would change is shown first, then a new file is written. */

import { useEffect, useRef } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import { Allow, Failure, Working } from "../shared/access.tsx";
import { AskForm, Sentences } from "../shared/controls.tsx";
import { capital, count, counted } from "../shared/format.ts";
import { Button, Sentence } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { RepairShown } from "../shared/wire.ts";

/** What repairing would change, with the button that writes it; nothing before it is asked for. */
export function Repair({ session }: { session: ExplorerSession }) {
  const planning = useStore(session.repairing);
  const writing = useStore(session.writing);
  const { answer: found } = planning;
  const { id, error } = planning.id === null && planning.error === null ? writing : planning;
  const written = writing.answer;
  const section = useRef<HTMLElement>(null);
  const isShown = id !== null || found !== null || error !== null;
  useEffect(() => {
    section.current?.closest(".pane")?.scrollTo({ top: 0 });
  }, [isShown]);
  if (!isShown) return null;
  return (
    <section class="repair" aria-label="Repair" ref={section}>
      <h3>Repair</h3>
      {found !== null && <Found found={found} session={session} />}
      {[session.repairing, session.writing].map(
        (work) => work.state.id !== null && <Working progress={work.state.progress} cancel={() => work.stop()} />,
      )}
      {id === null && error !== null && <Failure sentence={error} />}
      {id === null && found !== null && written === null && found.output !== null && (
        <AskForm
          box="offer repair-path"
          label="New file"
          start={found.output}
          button="Write"
          main
          go={(path) => void session.writing.start({ output: path })}
        />
      )}
      {written !== null && (
        <p class="prose" role="status">
          ✓ {counted(written.keys, "key")} written to <code>{written.path}</code>, read back and compared with the
          files.
        </p>
      )}
    </section>
  );
}

function Found({ found, session }: { found: RepairShown; session: ExplorerSession }) {
  const { verdict, repaired, left, notes, changes, change_count: total, grants, obstacle } = found;
  const more = Number(total) - changes.length;
  return (
    <>
      <p class="prose" role="status">
        <b>
          <Sentence text={`${capital(verdict)}.`} />
        </b>
      </p>
      {grants.map((grant) => (
        <Allow grant={grant} key={grant} allow={() => session.repair(grant)} />
      ))}
      <Listed title="Would be repaired" sentences={repaired} />
      <Listed title="Not repaired" sentences={left} />
      <Listed title="Notes" sentences={notes} />
      {changes.length > 0 && (
        <ul class="repair-changes" aria-label="Keys that would change">
          {changes.map(({ key, mark, before, after }) => (
            <li key={key}>
              <Button link onClick={() => session.run(session.reveal(key))}>
                <span aria-hidden="true">{mark}</span> {key}
              </Button>
              <del>{before}</del>
              <ins>{after}</ins>
            </li>
          ))}
          {more > 0 && <li class="quiet">and {count(more)} more</li>}
        </ul>
      )}
      {obstacle !== null && (
        <p class="prose">
          <Sentence text={obstacle} />
        </p>
      )}
    </>
  );
}

function Listed({ title, sentences }: { title: string; sentences: readonly string[] }) {
  return (
    <>
      {sentences.length > 0 && <h4>{title}</h4>}
      <Sentences class="prose" of={sentences} />
    </>
  );
}
