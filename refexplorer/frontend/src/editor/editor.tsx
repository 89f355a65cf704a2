/** The template editor: the V1 text on the left, the V0 keys that it makes on the right. */

import type { EditorView } from "@codemirror/view";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { count, counted } from "../shared/format.ts";
import type { ViewProps } from "../shared/mount.tsx";
import { Blank, Button, Notes, Sentence, Title } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { EditReply, Fix, Help, EditorDiagnostic, Remarks } from "../shared/wire.ts";
import { applyFix, compareWith, createEditor, jumpTo, replaceText, showMarks } from "../text/code.ts";
import { DerivationPanel, Table } from "./table.tsx";
import { Below, Examples, Explained, Export, GoTo, OriginLine, WithText } from "./toolbar.tsx";
import { Readers, ShorterPanel, SpecificationRules, Trying } from "./panels.tsx";
import { EditorSession } from "./session.ts";
import { TaskPanel } from "../exercises/task.tsx";
import { revealTraces, showPlaces, showTraces } from "../text/traces.ts";

export function Editor({ host, root }: ViewProps) {
  const [session] = useState(() => new EditorSession(host));
  useEffect(() => () => session.close(), [session]);
  const { help, failure, reply, text, remarks } = useStore(session);
  const view = useRef<EditorView | null>(null);
  const [side, turn] = useState<"readers" | "trying" | "shorter" | null>(null);
  const [code, explain] = useState<string | null>(null);
  const { isOpen: withRules } = useStore(session.specification);
  if (help === null) {
    return failure === null ? (
      <Blank sentence="Opening the document …" />
    ) : (
      <Blank sentence={failure} retry={() => session.open()} />
    );
  }
  const show = (panel: typeof side) => {
    turn(side === panel ? null : panel);
    if (side === "readers") session.readAs("");
  };
  const isTask = session.tasks.state.all.length > 0;
  const name = isTask ? "Exercises" : "Template editor";
  const mend = (fix: Fix, of: string) => view.current && applyFix(view.current, fix, of);
  const format = async () => {
    await session.format();
    jump({ from: 0, to: 0 });
  };
  const write = (text: string) => view.current && replaceText(view.current, text);
  const cite = (rule: string) => void session.specification.open(rule);
  const jump = (place: { from: number; to: number }) => view.current && jumpTo(view.current, place);
  const main = (
    <section class={`view editor${isTask ? " with-task" : ""}`} aria-label={name}>
      <header class="bar head">
        <Title host={host} text={name} />
        <span class="chip form">{reply?.form === "V0" ? "V0" : "V1 → V0"}</span>
        <Button
          text="Specification"
          aria-pressed={withRules}
          onClick={() => (withRules ? session.specification.close() : void session.specification.open())}
        />
        <Button text="Try values" aria-pressed={side === "trying"} onClick={() => show("trying")} />
        <Button text="Other readers" aria-pressed={side === "readers"} onClick={() => show("readers")} />
        {reply?.wrap && <Button text={reply.wrap.label} onClick={() => mend(reply.wrap!, text)} />}
        {reply && <Total reply={reply} />}
        <span class="tools">
          {!isTask && <Examples session={session} write={write} />}
          <WithText
            session={session}
            isTask={isTask}
            isOnPage={host.place === "page"}
            format={() => void format()}
            shorten={() => show("shorter")}
          />
          <GoTo session={session} />
          <Export session={session} isTask={isTask} isOnPage={host.place === "page"} />
        </span>
      </header>
      <OriginLine session={session} />
      {isTask && <TaskPanel tasks={session.tasks} write={write} cite={cite} />}
      <div class={withRules ? "two with-rules" : "two"}>
        <Code session={session} help={help} root={root} view={view} />
        <div class="results">
          <Table session={session} stale={reply?.good === false} />
          <DerivationPanel tracing={session.tracing} jump={jump} explore={(key) => void session.explore(key)} />
          {side === "readers" && <Readers session={session} />}
          {side === "trying" && <Trying session={session} />}
          {side === "shorter" && <ShorterPanel shortening={session.shortening} />}
          {code !== null && (
            <Explained
              key={code}
              session={session}
              code={code}
              close={() => explain(null)}
              write={isTask ? null : write}
              cite={cite}
            />
          )}
        </div>
        {withRules && (
          <SpecificationRules
            specification={session.specification}
            write={isTask ? null : write}
            train={(name) => session.tasks.choose(name)}
          />
        )}
      </div>
      {reply && (
        <Footer
          reply={reply}
          remarks={remarks}
          failure={failure}
          jump={(mark) => (mark.from < 0 ? session.lookAt(mark.line ?? 1) : jump(mark))}
          mend={(fix) => remarks && mend(fix, remarks.text)}
          explain={explain}
          cite={cite}
        />
      )}
    </section>
  );
  return (
    <>
      {main}
      <Below host={host} />
    </>
  );
}

/** Takes the room that is left: what it says changes at each key, and must not move the buttons. */
function Total({ reply: { total, removed, removed_exactly: exactly, good } }: { reply: EditReply }) {
  const [number, noun] = counted(total, "key").split(" ");
  return (
    <span class="fact total">
      <b>{number}</b> {noun}
      {!good && " in the last valid text"}
      {good && removed !== 0 && `, ${exactly ? "" : "at least "}${count(removed)} removed`}
    </span>
  );
}

interface CodeProps {
  session: EditorSession;
  help: Help;
  root: ShadowRoot;
  view: { current: EditorView | null };
}

function Code({ session, help, root, view }: CodeProps) {
  const box = useRef<HTMLDivElement>(null);
  const { good, remarks } = useStore(session);
  const { derivation, version } = useStore(session.tracing);
  const { chosen, followed } = useStore(session.specification);
  const { other, trouble } = useStore(session.comparing);
  const [differing, setDiffering] = useState<number | null>(null);
  useLayoutEffect(() => {
    const { view: editor, begin } = createEditor({
      parent: box.current!,
      root,
      text: session.document,
      help,
      first: session.state.reply?.window?.first ?? null,
      edited: (text) => session.edited(text),
      moved: (pointer) => {
        session.tracing.at(pointer);
        session.specification.at(pointer);
      },
      compared: setDiffering,
    });
    view.current = editor;
    session.replace = (text) => replaceText(editor, text);
    session.begin = begin;
    return () => editor.destroy();
  }, [session]);
  useEffect(() => {
    if (view.current && remarks) showMarks(view.current, remarks.notes, remarks.text);
  }, [remarks]);
  useEffect(() => {
    // Places of another text may lie behind the end of this one.
    if (view.current && (derivation === null || good?.version === version)) {
      showTraces(view.current, derivation, good?.text ?? "");
    }
  }, [derivation, good]);
  useEffect(() => {
    if (view.current && derivation) revealTraces(view.current, derivation);
  }, [derivation?.key, derivation?.number]);
  const revealed = useRef<string | null>(null);
  useEffect(() => {
    if (!view.current || (followed !== null && followed.version !== good?.version)) return;
    if (followed !== null && view.current.state.doc.toString() !== good?.text && session.state.reply?.window === null)
      return;
    // Only a rule that was just chosen moves the text: not what is typed while it is shown.
    showPlaces(view.current, followed?.places ?? [], followed !== null && revealed.current !== chosen);
    if (followed !== null || chosen === null) revealed.current = chosen;
  }, [followed, good]);
  useEffect(() => {
    if (view.current) compareWith(view.current, other?.text ?? null);
  }, [other]);
  return (
    <div class="code-box">
      {(other !== null || trouble !== null) && (
        <p class="comparing">
          <span class={trouble === null ? "" : "bad"} role="status">
            {trouble ?? comparison(other!.name, differing)}
          </span>
          <Button text={other === null ? "Close" : "Stop comparing"} onClick={() => session.comparing.end()} />
        </p>
      )}
      <div class="code-text" ref={box} />
    </div>
  );
}

function comparison(name: string, differing: number | null): string {
  if (differing === 0) return `The same as ${name}.`;
  const places = differing === null ? "" : `: ${counted(differing, "place")} ${differing === 1 ? "differs" : "differ"}`;
  return `Compared with ${name}${places}; its lines are above those of the text.`;
}

const NOTHING_SAID: Omit<Remarks, "version"> = { good: true, sentence: "", notes: [], note_count: 0 };

interface FooterProps {
  reply: EditReply;
  remarks: Remarks | null;
  failure: string | null;
  jump(mark: EditorDiagnostic): void;
  mend(fix: Fix): void;
  explain(code: string): void;
  cite(rule: string): void;
}

/** The code of a note that an exercise does not tell yet. */
const HIDDEN = "hidden";

function Footer({ reply, remarks, failure, jump, mend, explain, cite }: FooterProps) {
  const { good, sentence, notes, note_count: total } = remarks ?? NOTHING_SAID;
  // The header says the number of keys, and the first note the rest.
  const isSaid = failure === null && (good || (notes.length > 0 && sentence.endsWith(notes[0]!.message)));
  return (
    <footer class="foot">
      {reply.window && (
        <p class="quiet" role="status">
          {reply.window.sentence}
        </p>
      )}
      <p class={isSaid ? "unseen" : good && failure === null ? "" : "bad"} role="status">
        <Sentence text={failure ?? sentence} />
      </p>
      {notes.length > 0 && (
        <Notes
          notes={notes}
          follow={(note) => () => jump(note)}
          actions={(note) => (
            <span class="note-actions">
              {note.fixes.map((fix) => (
                <Button text={fix.label} key={fix.label} class="button fix" onClick={() => mend(fix)} />
              ))}
              {note.code !== HIDDEN && (
                <Button text={`About ${note.code}`} class="button fix" onClick={() => explain(note.code)} />
              )}
              {note.rule !== null && (
                <Button text={`Rule: ${note.rule}`} class="button fix" onClick={() => cite(note.rule!)} />
              )}
            </span>
          )}
        />
      )}
      {total > notes.length && <p class="quiet">and {count(total - notes.length)} more</p>}
    </footer>
  );
}
