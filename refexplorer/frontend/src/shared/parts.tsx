/** Small pieces that both views show. */

import { Fragment, type ButtonHTMLAttributes, type ComponentChildren } from "preact";

import { grouped, placeOf, TOGETHER, written } from "./notes.ts";
import { count, KIND_NAMES, SEVERITY_MARKS } from "./format.ts";
import type { Host } from "./host.ts";
import { toClipboard } from "./browser.ts";
import type { Count, Kind, Note, Severity } from "./wire.ts";
import { useSaid } from "./store.ts";

interface ButtonProps extends ButtonHTMLAttributes {
  /** The label, if it is plain text. */
  text?: ComponentChildren;
  /** Drawn as a link, or as the main button of its place. */
  link?: boolean;
  main?: boolean;
}

/** A button as it is drawn everywhere, where nothing else is said of it. */
export function Button({ text, children, link = false, main = false, ...others }: ButtonProps) {
  return (
    <button type="button" class={link ? "link" : main ? "button main-button" : "button"} {...others}>
      {text ?? children}
    </button>
  );
}

/** The kind of a reference: a letter and a colour, and its name where there is room. */
export function Badge({ kind, named = false }: { kind: Kind; named?: boolean }) {
  return (
    <span class={`badge ${kind}`} title={KIND_NAMES[kind]}>
      <i aria-hidden="true">{kind[0]!.toUpperCase()}</i>
      <span class={named ? "" : "unseen"}>{KIND_NAMES[kind]}</span>
    </span>
  );
}

export function SeverityMark({ severity }: { severity: Severity }) {
  return (
    <span class={`severity ${severity}`}>
      <span aria-hidden="true">{SEVERITY_MARKS[severity]}</span>
      <span class="unseen">{severity}</span>
    </span>
  );
}

/** A sentence of Python's, what it sets in backquotes set as code. */
export function Sentence({ text }: { text: string }) {
  return <>{text.split("`").map((part, i) => (i % 2 === 0 ? part : <code key={i}>{part}</code>))}</>;
}

/** As many characters of the end stay whatever the room: names of a set often begin alike. */
const TAIL = 10;

/** A name that is cut before its end where there is no room for it, or at its end. */
export function Cut({ text, ends = false }: { text: string; ends?: boolean }) {
  if (ends || text.length <= 2 * TAIL) return <>{text}</>;
  return (
    <span class="cut">
      <span>{text.slice(0, -TAIL)}</span>
      <span>{text.slice(-TAIL)}</span>
    </span>
  );
}

/** A path or a name of several words that may be broken between them. */
export function Words({ text }: { text: string }) {
  return (
    <>
      {text.split(/(?<=[_/])/).map((word, i) => (
        <Fragment key={i}>
          {i > 0 && <wbr />}
          {word}
        </Fragment>
      ))}
    </>
  );
}

interface NotesProps<N> {
  notes: N[];
  /** What happens on a click, or null for a note that leads nowhere. */
  follow(note: N): (() => void) | null;
  /** What can be done about a note. */
  actions?(note: N): ComponentChildren;
  /** What there is to know about the code of a note, or of notes that are folded. */
  about?(code: string): ComponentChildren;
}

/** Notes with their place, each a button where there is somewhere to go; many of one kind are folded. */
export function Notes<N extends Note>({ notes, follow, actions, about }: NotesProps<N>) {
  const lines = (shown: N[], folded: boolean) =>
    shown.map((note) => (
      <li key={`${note.code} ${note.pointer}`}>
        <NoteLine note={note} go={follow(note)} />
        {actions?.(note)}
        {!folded && about?.(note.code)}
      </li>
    ));
  return (
    <ul class="notes">
      {grouped(notes).map((group) =>
        group.length < TOGETHER ? (
          lines(group, false)
        ) : (
          <Group key={group[0]!.code} notes={group} about={about?.(group[0]!.code)}>
            {lines(group, true)}
          </Group>
        ),
      )}
    </ul>
  );
}

/** Notes of one kind: what they have in common, and each of them below it. */
function Group({ notes, about, children }: { notes: Note[]; about: ComponentChildren; children: ComponentChildren }) {
  const total = notes.reduce((sum, note) => sum + BigInt(note.count), 0n);
  const { severity, meaning } = notes[0]!;
  return (
    <li>
      <details class="note-group">
        <summary class="note">
          <SeverityMark severity={severity} />
          <span class="note-text">
            <Sentence text={meaning} />
          </span>
          <span class="note-place">{count(total)} times</span>
        </summary>
        {about}
        <ul class="notes">{children}</ul>
      </details>
    </li>
  );
}

function NoteLine({ note, go }: { note: Note; go: (() => void) | null }) {
  const more = Number(note.count) > 1 ? ` (${count(Number(note.count) - 1)} more like this)` : "";
  const body = (
    <>
      <SeverityMark severity={note.severity} />
      <span class="note-text">
        <Sentence text={note.message} />{" "}
        {note.hint && (
          <span class="quiet">
            <Sentence text={note.hint} />
          </span>
        )}
        {more}
      </span>
      <span class="note-place">{placeOf(note)}</span>
    </>
  );
  if (go === null) return <div class="note">{body}</div>;
  return <Button text={body} class="note" title={written(note.pointer)} onClick={go} />;
}

/** Puts a text on the clipboard and says so. */
export function Copy({ text, label = "Copy" }: { text: string | (() => string); label?: string }) {
  const [said, run] = useSaid(1600);
  const copy = async () =>
    (await toClipboard(typeof text === "string" ? text : text())) ? "Copied" : "Select the text and copy it";
  return (
    <Button aria-label={said ?? label} onClick={() => void run(copy)} disabled={text === ""}>
      <span role="status">{said ?? label}</span>
    </Button>
  );
}

/** What a view is of: the first heading of a document of its own; among those of a notebook, a name. */
export function Title({ host, text }: { host: Host; text: string }) {
  const Name = host.isMain ? "h1" : "b";
  return (
    <Name class="title" title={text}>
      {text}
    </Name>
  );
}

/** What is shown in place of a view that has nothing to show yet, or cannot. */
export function Blank({ sentence, retry }: { sentence: string; retry?: () => void }) {
  return (
    <div class="blank" role={retry ? "alert" : undefined}>
      <p>
        <Sentence text={sentence} />
      </p>
      {retry && <Button text="Try again" onClick={retry} />}
    </div>
  );
}

interface CountProps {
  n: Count | null;
  /** What the number is of, and what the link does. */
  label(n: Count): string;
  bad?: boolean;
  go(): void;
}

/** A number that leads to what it counts. */
export function CountLink({ n, label, bad = false, go }: CountProps) {
  if (n === null) return <Unknown />;
  if (Number(n) === 0) return <span class="quiet">0</span>;
  return <Button text={count(n)} class={bad ? "link bad" : "link"} aria-label={label(n)} onClick={go} />;
}

/** A number that is not known. */
export function Unknown() {
  return (
    <span class="quiet" title="not known">
      ?<span class="unseen"> not known</span>
    </span>
  );
}
