/** The right side where nothing is selected: what was found, how much there is, and what was checked. */

import { useEffect, useRef, useState } from "preact/hooks";

import { count, counted, countedNotes, KIND_NAMES, KINDS } from "../shared/format.ts";
import { Files, Repair, Verified } from "../health/verification.tsx";
import { DataTable } from "../shared/controls.tsx";
import { written } from "../shared/notes.ts";
import { Badge, Button, Notes } from "../shared/parts.tsx";
import { useAnswer, useStore } from "../shared/store.ts";
import type { Kind, Note, SetFacts, Severity } from "../shared/wire.ts";
import { Counting, Failure } from "../shared/access.tsx";
import { Versions } from "../versions/versions.tsx";
import { VersionPicker } from "../versions/versions.ts";
import type { ExplorerSession } from "./session.ts";
import type { ShownProps } from "./view.ts";
import { PageOfCode } from "../text/codepage.tsx";

export function SetDetails({ session, hello }: ShownProps) {
  const { facts } = hello;
  const { factsError } = useStore(session);
  return (
    <>
      <Repair session={session} />
      <SetNotes session={session} hello={hello} />
      <Files session={session} />
      <Verified session={session} />
      {Number(facts.keys) > 0 &&
        (facts.kinds === null ? (
          <Counting
            title="Kinds of references"
            error={factsError}
            retry={() => void session.seekFacts()}
            sentence="Counting …"
            waiting={session.counting}
          />
        ) : (
          <section>
            <h3>Kinds of references</h3>
            <KindTable keys={facts.keys} kinds={facts.kinds} />
          </section>
        ))}
      {hello.has_versions && <Versions picker={session.of(VersionPicker)} />}
    </>
  );
}

/** What is odd about the set: each note leads to the key that it names, or shows its text. */
function SetNotes({ session, hello }: ShownProps) {
  const { notes, note_count: total } = hello;
  const [source, show] = useState<Source | null>(null);
  const { notesOf, severity, notesShown, notesError } = useStore(session);
  const { answer: compared } = useStore(session.verifying);
  const { files } = useStore(session.maps);
  const isChecked = compared !== null || Number(files?.checked ?? 0) > 0;
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    const pane = section.current?.closest(".pane");
    if (notesShown === 0 || !pane) return;
    // Not `scrollIntoView`, which scrolls a notebook or the page as well.
    pane.scrollTop += section.current!.getBoundingClientRect().top - pane.getBoundingClientRect().top;
    section.current!.focus({ preventScroll: true });
  }, [notesShown]);
  if (notes === null || total === null)
    return (
      <Counting
        title="Findings"
        error={notesError}
        retry={() => void session.seekNotes()}
        sentence="Checking the references …"
        waiting={session.seeking}
      />
    );
  const follow = (note: Note) => {
    const { key } = note;
    if (key !== null) return () => session.run(session.reveal(key));
    if (note.line === null) return null;
    return () => session.run(session.around(note).then((lines) => show(lines && { note, lines })));
  };
  const about = notes.filter(
    (note) => (severity === null || note.severity === severity) && (notesOf === null || isAbout(note, notesOf)),
  );
  const narrowed = notesOf !== null || severity !== null;
  return (
    <section ref={section} tabIndex={-1}>
      <h3>
        {total === 0 ? "Findings" : narrowed ? titleOf(about.length, notesOf, severity) : counted(total, "finding")}
      </h3>
      {narrowed && total > 0 && (
        <Button
          text={`Show all findings (${count(total)})`}
          onClick={() => session.set({ notesOf: null, severity: null })}
        />
      )}
      {total === 0 ? (
        <p class="prose quiet">
          No problems were found in the references.{" "}
          {isChecked ? "What was found in their files is below." : "The files were not checked."}
        </p>
      ) : (
        <Notes
          notes={about}
          follow={follow}
          actions={(note) => source?.note === note && <Lines {...source} />}
          about={(code) => <About session={session} code={code} />}
        />
      )}
      {total > notes.length && <p class="quiet">and {count(total - notes.length)} more</p>}
    </section>
  );
}

/** Whether a note names an array or a key below it. */
function isAbout({ key }: Note, array: string): boolean {
  return key !== null && (key === array || array === "" || key.startsWith(`${array}/`));
}

function titleOf(n: number, array: string | null, severity: Severity | null): string {
  const what = severity === null ? counted(n, "finding") : countedNotes(severity, n);
  return array === null ? what : `${what} about ${array || "/"}`;
}

/** The lines of the source around a note. */
interface Source {
  note: Note;
  lines: [number, string][];
}

function Lines({ note, lines }: Source) {
  return (
    <pre class="source" role="group" aria-label={`Lines around ${written(note.pointer)}`}>
      {lines.map(([number, text]) => (
        <span key={number} class={number === note.line ? "source-line meant" : "source-line"}>
          <span class="source-number">{number}</span>
          {text}
        </span>
      ))}
    </pre>
  );
}

function KindTable({ keys, kinds }: { keys: SetFacts["keys"]; kinds: NonNullable<SetFacts["kinds"]> }) {
  const share = (kind: Kind) => (100 * Number(kinds[kind])) / Math.max(1, Number(keys));
  return (
    <DataTable
      class="kinds"
      label="Kinds of references"
      rows={KINDS}
      of={(kind) => kind}
      columns={[
        { head: <span class="unseen">Kind</span>, cell: (kind) => <Badge kind={kind} named /> },
        { head: <span class="unseen">Keys</span>, cell: (kind) => count(kinds[kind]), class: "number" },
        {
          head: <span class="unseen">Share</span>,
          class: "share",
          cell: (kind) => (
            <span
              title={`${KIND_NAMES[kind]}: ${count(kinds[kind])} keys`}
              hidden={Number(kinds[kind]) === 0}
              style={{ width: `${share(kind)}%`, background: `var(--${kind})` }}
            />
          ),
        },
      ]}
    />
  );
}

export function About({ session, code }: { session: ExplorerSession; code: string }) {
  const [isOpen, setOpen] = useState(false);
  const { answer: page, error } = useAnswer(isOpen ? code : null, () => session.explainCode(code));
  return (
    <div class="about">
      <Button link aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? "Close" : "What is this?"}
        <span class="unseen"> {code}</span>
      </Button>
      {isOpen && error !== null && <Failure sentence={error} />}
      {isOpen && page !== null && (
        <section class="derivation explained" aria-label={`About ${code}`}>
          <PageOfCode page={page} write={null} cite={null} />
        </section>
      )}
    </div>
  );
}
