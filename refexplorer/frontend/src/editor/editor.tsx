/** The template editor: the V1 text on the left, the V0 keys that it makes on the right. */

import type { EditorView } from "@codemirror/view";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { count, counted } from "../shared/format.ts";
import type { ViewProps } from "../shared/mount.tsx";
import { Blank, Notes, Sentence } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { EditReply, Mark, Note } from "../shared/wire.ts";
import { createEditor, jumpTo, replaceText, showMarks } from "./code.ts";
import { DerivationPanel } from "./derivation.tsx";
import { EditorSession } from "./session.ts";
import { Table } from "./table.tsx";
import { revealTraces, showTraces } from "./traces.ts";

export function Editor({ host, root }: ViewProps) {
  const [session] = useState(() => new EditorSession(host));
  useEffect(() => () => session.close(), [session]);
  const { ready, failure, reply } = useStore(session);
  const view = useRef<EditorView | null>(null);
  if (!ready) {
    return failure === null ? (
      <Blank sentence="Opening the document …" />
    ) : (
      <Blank sentence={failure} retry={() => session.open()} />
    );
  }
  const jump = (place: { from: number; to: number }) => view.current && jumpTo(view.current, place);
  return (
    <section class="view editor" aria-label="Template editor">
      <header class="bar head">
        <b class="title">Template editor</b>
        <span class="chip">V1 → V0</span>
        {reply && <Total reply={reply} />}
      </header>
      <div class="two">
        <Code session={session} root={root} view={view} />
        <div class="results">
          <Table session={session} stale={reply?.good === false} />
          <DerivationPanel tracing={session.tracing} jump={jump} />
        </div>
      </div>
      {reply && (
        <Footer reply={reply} failure={failure} jump={jump} />
      )}
    </section>
  );
}

function Total({ reply }: { reply: EditReply }) {
  const [number, noun] = counted(reply.total, "key").split(" ");
  return (
    <span class="fact">
      <b>{number}</b> {noun}
      {!reply.good && " in the last good text"}
    </span>
  );
}

interface CodeProps {
  session: EditorSession;
  root: ShadowRoot;
  view: { current: EditorView | null };
}

function Code({ session, root, view }: CodeProps) {
  const box = useRef<HTMLDivElement>(null);
  const { marks } = useStore(session);
  const { derivation } = useStore(session.tracing);
  useLayoutEffect(() => {
    const editor = createEditor({
      parent: box.current!,
      root,
      text: session.document,
      edited: (text) => session.edited(text),
      moved: (pointer) => session.tracing.at(pointer),
    });
    view.current = editor;
    session.replace = (text) => replaceText(editor, text);
    return () => editor.destroy();
  }, [session]);
  useEffect(() => {
    if (view.current) showMarks(view.current, marks.notes, marks.text);
  }, [marks]);
  useEffect(() => {
    if (view.current) showTraces(view.current, derivation, marks.text);
  }, [derivation, marks]);
  useEffect(() => {
    if (view.current && derivation) revealTraces(view.current, derivation);
  }, [derivation?.key, derivation?.number]);
  return <div class="code-box" ref={box} />;
}

interface FooterProps {
  reply: EditReply;
  failure: string | null;
  jump(mark: Mark): void;
}

function Footer({ reply, failure, jump }: FooterProps) {
  const { good, sentence, notes, note_count: total } = reply;
  const marks = new Map<Note, Mark>(notes.map((mark) => [mark, mark]));
  // A text that cannot be read has one note, and it says what the sentence says.
  const isSaid = failure === null && notes[0]?.message === sentence;
  return (
    <footer class="foot">
      <p class={isSaid ? "unseen" : good && failure === null ? "" : "bad"} role="status">
        <Sentence text={failure ?? sentence} />
      </p>
      {notes.length > 0 && (
        <Notes
          notes={notes}
          follow={(note) => () => jump(marks.get(note)!)}
        />
      )}
      {total > notes.length && <p class="quiet">and {count(total - notes.length)} more</p>}
    </footer>
  );
}
