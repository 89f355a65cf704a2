/** Above the text and the rows: ways to go, texts to begin with, what is said of them, and the document to take away. */

import { useEffect, useRef, useState } from "preact/hooks";

import { AskForm } from "../shared/controls.tsx";
import { save, toClipboard } from "../shared/browser.ts";
import { ActionMenu } from "../shared/menu.tsx";
import { Blank, Button, Sentence } from "../shared/parts.tsx";
import { useAnswer, useStore, useSaid } from "../shared/store.ts";
import type { EditorSession } from "./session.ts";
import type { Child, Host } from "../shared/host.ts";
import { PageOfCode } from "../text/codepage.tsx";

export function GoTo({ session }: { session: EditorSession }) {
  const [trouble, setTrouble] = useState<string | null>(null);
  return (
    <AskForm
      box="go-to"
      type="search"
      aria-label="Go to a key or its number"
      placeholder="Key or number"
      go={async (text) => setTrouble(await session.goTo(text))}
      typed={() => setTrouble(null)}
    >
      <span class="bad" role="status">
        {trouble !== null && <Sentence text={trouble} />}
      </span>
    </AskForm>
  );
}

type Way = "Copy V0" | "Save V0";

interface ExportProps {
  session: EditorSession;
  isTask: boolean;
  /** Whether there is an address that others can open. */
  isOnPage: boolean;
}

/** Takes the document away as V0 or V1, or to the explorer; asks first where V0 is large. */
export function Export({ session, isTask, isOnPage }: ExportProps) {
  const [said, run] = useSaid();
  const [asked, ask] = useState<Way | null>(null);
  const take = async (way: Way, sure = false) => {
    ask(null);
    const { text, sentence } = await session.v0(sure);
    if (text !== null) return deliver(way, text);
    ask(way);
    return sentence;
  };
  const copyLink = async () => {
    ask(null);
    const isCopied = await toClipboard(await session.link());
    return isCopied ? "Copied." : "The browser refused to copy the link; save the text instead.";
  };
  return (
    <span class="export">
      <span class="quiet" role="status">
        {said !== null && <Sentence text={said} />}
      </span>
      {asked !== null && <Button text={`${asked} anyway`} onClick={() => void run(() => take(asked, true))} />}
      <ActionMenu
        label="Export"
        choices={[
          ...(isTask ? [] : [{ name: "Open in explorer", act: () => void session.explore() }]),
          ...(isOnPage ? [{ name: "Copy link", act: () => void run(copyLink) }] : []),
          // A notebook has a file of them in its folder.
          ...(isOnPage && isTask ? [{ name: "Save answers", act: () => save("answers.json", session.answers()) }] : []),
          { name: "Copy V0", act: () => void run(() => take("Copy V0")) },
          { name: "Save V0", act: () => void run(() => take("Save V0")) },
          { name: "Save text", act: () => saveText(session.document) },
        ]}
      />
    </span>
  );
}

/** Puts one of the shipped sets into the editor; what was there is a step to undo. */
export function Examples({ session, write }: { session: EditorSession; write(text: string): void }) {
  const { examples: titles } = useStore(session);
  const show = async (title: string) => {
    const text = await session.example(title);
    if (text !== null) write(text);
  };
  if (titles.length === 0) return null;
  return <ActionMenu label="Examples" choices={titles.map((name) => ({ name, act: () => void show(name) }))} />;
}

interface WithTextProps {
  session: EditorSession;
  isTask: boolean;
  /** Whether the browser keeps what is written. */
  isOnPage: boolean;
  format(): void;
  shorten(): void;
}

/** What is done with the text: in order, shorter, and compared with another one. */
export function WithText({ session, isTask, isOnPage, format, shorten }: WithTextProps) {
  const { solution } = useStore(session.tasks);
  const { reply } = useStore(session);
  // Of a large document only a part is here.
  const isWhole = reply?.window === null;
  const { comparing } = session;
  return (
    <ActionMenu
      label="Text"
      choices={[
        { name: "Format", act: format },
        ...(isTask ? [] : [{ name: "Find a shorter V1", act: shorten }]),
        ...(isWhole ? [{ name: "Compare with the start", act: () => void comparing.withStart() }] : []),
        ...(isWhole && solution !== null
          ? [{ name: "Compare with the solution", act: () => comparing.begin("the solution", solution) }]
          : []),
        ...(isWhole
          ? [{ name: "Compare with a file …", act: () => pick((file) => void comparing.withFile(file)) }]
          : []),
        ...(isOnPage ? [{ name: "Delete saved text", act: () => session.forget() }] : []),
      ]}
    />
  );
}

/** Lets the person choose a file. */
function pick(take: (file: File) => void): void {
  const input = document.createElement("input");
  input.type = "file";
  input.onchange = () => {
    const [file] = input.files ?? [];
    if (file) take(file);
  };
  input.click();
}

async function deliver(way: Way, text: string): Promise<string> {
  if (way === "Save V0") {
    save("references.v0.json", text);
    return "";
  }
  return (await toClipboard(text)) ? "Copied." : "The browser refused to copy the text; save it instead.";
}

export function saveText(text: string | null): void {
  if (text !== null) save("references.v1.json", text);
}

export function Below({ host }: { host: Host }) {
  const box = useRef<HTMLDivElement>(null);
  const [turns, turn] = useState(0);
  useEffect(() => {
    if (host.place === "notebook") return host.onChange("explorer", () => turn((times) => times + 1));
  }, [host]);
  useEffect(() => {
    let child: Child | null = null;
    let isCurrent = true;
    host.child("explorer").then((drawn) => {
      if (!isCurrent) return drawn?.remove();
      child = drawn;
      if (child) {
        box.current?.append(child.element);
        if (turns > 0) box.current?.scrollIntoView({ block: "nearest" });
      }
    });
    return () => {
      isCurrent = false;
      child?.remove();
    };
  }, [host, turns]);
  return <div class="below" ref={box} />;
}

interface Props {
  session: EditorSession;
  code: string;
  close(): void;
  /** Puts the example into the editor; null where the text is not to be replaced. */
  write: ((text: string) => void) | null;
  /** Shows a rule in the specification. */
  cite(rule: string): void;
}

export function Explained({ session, code, close, write, cite }: Props) {
  const { answer: page, error } = useAnswer(code, () => session.explainCode(code));
  return (
    <section class="derivation explained" aria-label={`About ${code}`}>
      {error !== null && <Blank sentence={error} />}
      {page !== null && <PageOfCode page={page} write={write} cite={cite} />}
      <Button text="✕" class="button close" aria-label="Close" onClick={close} />
    </section>
  );
}

const WAYS = { link: "Show the text without the link", draft: "Discard" };

export function OriginLine({ session }: { session: EditorSession }) {
  const { origin } = useStore(session);
  if (origin === null) return null;
  const { leads, sentence } = origin;
  return (
    <p class="comparing">
      <span class={leads === null ? "bad" : ""} role="status">
        <Sentence text={sentence} />
      </span>
      <span>
        {leads !== null && <Button text={WAYS[leads]} onClick={() => void session.goBack()} />}{" "}
        <Button text="Close" onClick={() => session.set({ origin: null })} />
      </span>
    </p>
  );
}
