/** Above the text and the rows: the way to a row, texts to begin with, and the document to take away. */

import { useState } from "preact/hooks";

import { Button, Sentence, toClipboard } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import { Menu } from "./menu.tsx";
import type { EditorSession } from "./session.ts";

export function GoTo({ session }: { session: EditorSession }) {
  const [text, setText] = useState("");
  const [trouble, setTrouble] = useState<string | null>(null);
  const go = async (event: Event) => {
    event.preventDefault();
    if (text.trim() !== "") setTrouble(await session.goTo(text));
  };
  return (
    <form class="go-to" onSubmit={go}>
      <input
        type="search"
        class="field"
        aria-label="Go to a key or a number"
        placeholder="Key or number"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setTrouble(null);
        }}
      />
      <span class="bad" role="status">
        {trouble !== null && <Sentence text={trouble} />}
      </span>
    </form>
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
  const [said, say] = useState<string | null>(null);
  const [asked, ask] = useState<Way | null>(null);
  const take = async (way: Way, sure = false) => {
    ask(null);
    say("Writing V0 …");
    try {
      const { text, sentence } = await session.v0(sure);
      if (text === null) ask(way);
      say(text === null ? sentence : await deliver(way, text));
    } catch (error) {
      say((error as Error).message);
    }
  };
  const copyLink = async () => {
    ask(null);
    try {
      const link = await session.link();
      say((await toClipboard(link)) ? "Copied." : "The browser refused to copy the link; save the text instead.");
    } catch (error) {
      say((error as Error).message);
    }
  };
  return (
    <span class="export">
      <span class="quiet" role="status">
        {said !== null && <Sentence text={said} />}
      </span>
      {asked !== null && <Button text={`${asked} anyway`} onClick={() => take(asked, true)} />}
      <Menu
        label="Export"
        choices={[
          ...(isTask ? [] : [{ name: "Open in explorer", act: () => void session.explore() }]),
          ...(isOnPage ? [{ name: "Copy link", act: () => void copyLink() }] : []),
          // A notebook has a file of them beside it.
          ...(isOnPage && isTask ? [{ name: "Save answers", act: () => save("answers.json", session.answers()) }] : []),
          { name: "Copy V0", act: () => void take("Copy V0") },
          { name: "Save V0", act: () => void take("Save V0") },
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
  return <Menu label="Examples" choices={titles.map((name) => ({ name, act: () => void show(name) }))} />;
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
    <Menu
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

function save(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = name;
  link.click();
  // The browser takes the text when it starts to save, which is after this.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
