/** Above the text and the rows: the way to a row, and the document to take away. */

import { useState } from "preact/hooks";

import { Sentence, toClipboard } from "../shared/parts.tsx";
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
        placeholder="Go to key or number"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setTrouble(null);
        }}
      />
      <span class="bad" role="status">{trouble !== null && <Sentence text={trouble} />}</span>
    </form>
  );
}

type Way = "Copy V0" | "Save V0";

/** Takes the document away as V0 or V1; asks first where V0 is large. */
export function Export({ session }: { session: EditorSession }) {
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
  return (
    <span class="export">
      <span class="quiet" role="status">{said !== null && <Sentence text={said} />}</span>
      {asked !== null ? (
        <button type="button" class="button" onClick={() => take(asked, true)}>{asked} all the same</button>
      ) : (
        <>
          <button type="button" class="button" onClick={() => take("Copy V0")}>Copy V0</button>
          <button type="button" class="button" onClick={() => take("Save V0")}>Save V0</button>
          <button type="button" class="button" onClick={() => save("references.v1.json", session.document)}>Save text</button>
        </>
      )}
    </span>
  );
}

async function deliver(way: Way, text: string): Promise<string> {
  if (way === "Save V0") {
    save("references.v0.json", text);
    return "";
  }
  return (await toClipboard(text)) ? "Copied." : "The browser refused to copy the text; save it instead.";
}

function save(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = name;
  link.click();
  // The browser takes the text when it starts to save, which is after this.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
