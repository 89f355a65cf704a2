/** The files of a set, whether the set says what they say, and how it is repaired. */

import { useEffect, useRef } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import { targetName } from "../maps/cells.ts";
import { Allow, Failure, Working, Counting } from "../shared/access.tsx";
import { Sentences, AskForm } from "../shared/controls.tsx";
import { capital, count, counted } from "../shared/format.ts";
import { Button, Sentence, SeverityMark } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { SetVerified, VerifiedFinding, RepairShown, TargetsSummary } from "../shared/wire.ts";
import { STATES, TargetCheck } from "../maps/targettable.tsx";

export function Verified({ session }: { session: ExplorerSession }) {
  const { verifying } = session;
  const { id, answer: found, error } = useStore(verifying);
  const { hello } = useStore(session);
  const { files } = useStore(session.maps);
  useEffect(() => session.run(session.lastVerified()), [session, hello?.title]);
  if (files === null || Number(files.total) === 0) return null;
  return (
    <section class="verified">
      <h3>Comparison with the files</h3>
      {found !== null && <Found found={found} session={session} />}
      <VerifyControls session={session} />
      {id === null && error !== null && <Failure sentence={error} />}
      {found === null && id === null && (
        <p class="prose quiet">
          Reads the metadata of each file and compares byte ranges, data types, packing, units and coordinates.
        </p>
      )}
    </section>
  );
}

/** The button that compares, its cost, and the progress. */
export function VerifyControls({ session }: { session: ExplorerSession }) {
  const { verifying } = session;
  const { id, progress, answer: found } = useStore(verifying);
  const { withValues } = useStore(session);
  return id !== null ? (
    <Working progress={progress} cancel={() => verifying.stop()} />
  ) : (
    <div class="offer">
      <Button
        text={found === null ? "Compare with the files" : "Compare again"}
        onClick={() => void session.verify()}
      />
      <label>
        <input
          type="checkbox"
          checked={withValues}
          onChange={(event) => session.set({ withValues: event.currentTarget.checked })}
        />{" "}
        and values of ten chunks of each array
      </label>
      {found?.grants.map((grant) => (
        <Allow grant={grant} key={grant} allow={() => void session.verify(grant)} />
      ))}
    </div>
  );
}

function Found({ found, session }: { found: SetVerified; session: ExplorerSession }) {
  const more = Number(found.finding_count) - found.findings.length;
  return (
    <>
      <p class="prose" role="status">
        <b class={found.good ? "" : "bad"}>
          {found.good ? "✓" : "≠"} {capital(found.verdict)}.
        </b>
      </p>
      {found.findings.length > 0 && (
        <ul class="notes" aria-label="What differs from the files">
          {found.findings.map((each) => (
            <Finding key={each.message} found={each} session={session} />
          ))}
          {more > 0 && <li class="quiet">and {count(more)} more</li>}
        </ul>
      )}
      {found.findings.length > 0 && <RepairOffer session={session} />}
      <Sentences class="prose quiet" of={found.summary} />
    </>
  );
}

/** The button that repairs, or why there is none: nothing would change, or it was done. */
export function RepairOffer({ session }: { session: ExplorerSession }) {
  const { answer: found } = useStore(session.verifying);
  const { answer: planned } = useStore(session.repairing);
  const { answer: written } = useStore(session.writing);
  const isUseful = planned === null ? found?.is_repairable !== false : Number(planned.change_count) > 0;
  if (written === null)
    return isUseful ? (
      <Button text="Repair …" onClick={() => session.repair()} />
    ) : (
      <span class="quiet">A repair would change nothing: the files confirm no better references.</span>
    );
  return (
    <>
      <span class="quiet" title={written.path}>
        This is the set before the repair; {written.path.split(/[\\/]/).at(-1)} is the repaired one.
      </span>{" "}
      {written.can_open && <Button text="Open the repaired set" onClick={() => session.run(session.openRepaired())} />}
    </>
  );
}

/** A finding with the array, the key and the files that it names, each a link. */
function Finding({ found, session }: { found: VerifiedFinding; session: ExplorerSession }) {
  const { array, key, files, file_count: total, severity, message, remedy } = found;
  const more = Number(total) - files.length;
  return (
    <li>
      <span class="note">
        <SeverityMark severity={severity} />
        <span class="note-text">
          <Sentence text={message} /> <span class="quiet">{remedy}</span>
        </span>
      </span>
      <span class="leads">
        <Button text={array || "/"} link title="Show the array" onClick={() => session.run(session.reveal(array))} />
        {key !== null && key !== array && (
          <Button text={key} link title="Show the key" onClick={() => session.run(session.reveal(key))} />
        )}
        {files.map((url) => (
          <Button text={targetName(url)} link key={url} title={url} onClick={() => session.showTarget(url)} />
        ))}
        {more > 0 && <span class="quiet">and {count(more)} more</span>}
      </span>
    </li>
  );
}

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
      {found !== null && <Planned found={found} session={session} />}
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

function Planned({ found, session }: { found: RepairShown; session: ExplorerSession }) {
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

/** Sorts the references by their files, once the chunks are counted. */
export function useFiles(session: ExplorerSession): void {
  const running = useStore(session.maps.checking).id !== null;
  const { hello } = useStore(session);
  const { page, error } = useStore(session.health);
  // Sorting a large set takes longer than counting its chunks, which must not wait for it.
  const isNext = page !== null || error !== null;
  useEffect(() => {
    // which ranges overlap, and the dates in names, are known from then on
    if (isNext && !running) void session.maps.sumTargets().then(() => session.health.load());
  }, [session, hello?.title, running, isNext]);
}

export function Files({ session }: { session: ExplorerSession }) {
  const { files, filesError } = useStore(session.maps);
  if (filesError !== null || files === null) {
    const sentence = "Sorting the references by their files …";
    return <Counting title="Files" error={filesError} sentence={sentence} waiting={session.maps.summing} />;
  }
  if (Number(files.total) === 0) return null;
  const more = Number(files.lost_count) - files.lost.length;
  return (
    <section class="files">
      <h3>{counted(files.total, "file")}</h3>
      <p class="prose">
        {where(files)} <Button text="Show the table of files" link onClick={() => session.showTargets(null)} />
      </p>
      {files.lost.length > 0 && (
        <ul class="lost" aria-label="Files with problems">
          {files.lost.map(({ url, state, message }) => (
            <li key={url}>
              <span class="bad">{STATES[state]}</span>{" "}
              <Button text={targetName(url)} link onClick={() => session.showTarget(url)} />{" "}
              <span class="quiet">{message}</span>
            </li>
          ))}
          {more > 0 && <li class="quiet">and {count(more)} more</li>}
        </ul>
      )}
      <TargetCheck maps={session.maps} />
    </section>
  );
}

/** Where the targets are, and how many of them were asked. */
function where({ total, places, place_count: all, checked, lost_count: lost, unlisted }: TargetsSummary): string {
  const isOne = Number(total) === 1;
  const named = places.map(
    ({ place, targets }) =>
      `${isOne ? "" : all === 1 ? "all " : `${count(targets)} `}${place === "" ? "with a local path" : `at ${place}`}`,
  );
  if (Number(all) > places.length) named.push(`the others at ${counted(Number(all) - places.length, "more place")}`);
  const list = named.join(", ");
  const some = isOne
    ? "It was"
    : Number(checked) === Number(total)
      ? "All were"
      : `${count(checked)} of ${count(total)} were`;
  const exist = isOne ? "it exists" : "they exist";
  const found = Number(lost) === 0 ? exist : `${count(lost)} with problems`;
  const asked = Number(checked) === 0 ? `Whether ${exist} was not checked yet.` : `${some} checked: ${found}.`;
  const unknown =
    Number(unlisted) > 0
      ? ` ${counted(unlisted, "generated key")} ${Number(unlisted) === 1 ? "was" : "were"} not evaluated and may have other files.`
      : "";
  return `${capital(list)}. ${asked}${unknown}`;
}
