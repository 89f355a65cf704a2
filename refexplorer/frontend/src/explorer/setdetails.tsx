/** The right side where nothing is selected: what was found, how much there is, and what was checked. */

import { useEffect, useRef, useState } from "preact/hooks";

import { count, counted, KIND_NAMES, KINDS } from "../shared/format.ts";
import { Files } from "../health/files.tsx";
import { Repair } from "../health/repair.tsx";
import { Verified } from "../health/verified.tsx";
import { Badge, Button, Notes, Sentence } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { CodePage, Hello, Note, SetFacts, Severity } from "../shared/wire.ts";
import { Failure, Waited } from "../shared/asking.tsx";
import { Versions } from "../versions/versions.tsx";
import { VersionPicker } from "../versions/versions.ts";
import type { ExplorerSession } from "./session.ts";
import { PageOfCode } from "../text/codepage.tsx";

interface Props {
  session: ExplorerSession;
  hello: Hello;
}

export function SetDetails({ session, hello }: Props) {
  const { facts } = hello;
  return (
    <>
      <Repair session={session} />
      <SetNotes session={session} hello={hello} />
      <Files session={session} />
      <Verified session={session} />
      {Number(facts.keys) > 0 && (
        <section>
          <h3>Kinds of references</h3>
          {facts.kinds === null ? <Counted session={session} /> : <KindTable keys={facts.keys} kinds={facts.kinds} />}
        </section>
      )}
      {hello.has_versions && <Versions picker={session.of(VersionPicker)} />}
    </>
  );
}

/** What is odd about the set: each note leads to the key that it names, or shows its text. */
function SetNotes({ session, hello }: Props) {
  const { notes, note_count: total } = hello;
  const [source, show] = useState<Source | null>(null);
  const { notesOf, severity, notesShown } = useStore(session);
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    const pane = section.current?.closest(".pane");
    if (notesShown === 0 || !pane) return;
    // Not `scrollIntoView`, which scrolls a notebook or the page as well.
    pane.scrollTop += section.current!.getBoundingClientRect().top - pane.getBoundingClientRect().top;
    section.current!.focus({ preventScroll: true });
  }, [notesShown]);
  if (notes === null || total === null) return <Sought session={session} />;
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
        <p class="prose quiet">No problems were found in the references. The files were not checked.</p>
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
  const what = counted(
    n,
    severity === null ? "finding" : severity === "info" ? "finding worth knowing" : severity,
  ).replace("finding worth knowings", "findings worth knowing");
  return array === null ? what : `${what} about ${array || "/"}`;
}

/** The lines of the source around a note. */
interface Source {
  note: Note;
  lines: [number, string][];
}

function Lines({ note, lines }: Source) {
  return (
    <pre class="source" role="group" aria-label={`Lines around ${note.pointer || "/"}`}>
      {lines.map(([number, text]) => (
        <span key={number} class={number === note.line ? "source-line meant" : "source-line"}>
          <span class="source-number">{number}</span>
          {text}
        </span>
      ))}
    </pre>
  );
}

/** What stands in place of the notes until they are known. */
function Sought({ session }: { session: ExplorerSession }) {
  const { notesError } = useStore(session);
  return (
    <section>
      <h3>Findings</h3>
      {notesError === null ? (
        <p class="prose quiet">Checking the references …</p>
      ) : (
        <p class="prose quiet">
          <Sentence text={notesError} /> <Button text="Check the references" onClick={() => session.seekNotes()} />
        </p>
      )}
      <Waited waiting={session.seeking} />
    </section>
  );
}

/** What stands in place of the counts until they are known. */
function Counted({ session }: { session: ExplorerSession }) {
  const { factsError } = useStore(session);
  return (
    <>
      {factsError === null ? (
        <p class="prose quiet">Counting …</p>
      ) : (
        <p class="prose quiet">
          <Sentence text={factsError} /> <Button text="Count the references" onClick={() => session.seekFacts()} />
        </p>
      )}
      <Waited waiting={session.counting} />
    </>
  );
}

function KindTable({ keys, kinds }: { keys: SetFacts["keys"]; kinds: NonNullable<SetFacts["kinds"]> }) {
  const all = Math.max(1, Number(keys));
  return (
    <table class="kinds">
      <thead class="unseen">
        <tr>
          <th>Kind</th>
          <th>Keys</th>
          <th>Share</th>
        </tr>
      </thead>
      <tbody>
        {KINDS.map((kind) => (
          <tr key={kind} class={kind}>
            <th scope="row">
              <Badge kind={kind} named />
            </th>
            <td class="number">{count(kinds[kind])}</td>
            <td class="share" title={`${KIND_NAMES[kind]}: ${count(kinds[kind])} keys`}>
              <span hidden={Number(kinds[kind]) === 0} style={{ width: `${(100 * Number(kinds[kind])) / all}%` }} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function About({ session, code }: { session: ExplorerSession; code: string }) {
  const [page, setPage] = useState<CodePage | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [isOpen, setOpen] = useState(false);
  const toggle = () => {
    setOpen(!isOpen);
    if (page === null && !isOpen) session.explainCode(code).then(setPage, (error: Error) => setTrouble(error.message));
  };
  return (
    <div class="about">
      <Button class="link" aria-expanded={isOpen} onClick={toggle}>
        {isOpen ? "Close" : "What is this?"}
        <span class="unseen"> {code}</span>
      </Button>
      {isOpen && trouble !== null && <Failure sentence={trouble} />}
      {isOpen && page !== null && (
        <section class="derivation explained" aria-label={`About ${code}`}>
          <PageOfCode page={page} write={null} cite={null} />
        </section>
      )}
    </div>
  );
}
