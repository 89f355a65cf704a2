/** What other readers make of the same text: a chip for each, and why, for the chosen one. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

import { Blank, Sentence } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { Reader } from "./messages.ts";
import type { EditorSession } from "./session.ts";

const MARKS: Record<Reader["outcome"], string> = { same: "✓", dropped: "▲", different: "▲", refused: "✕" };
const CLASSES: Record<Reader["outcome"], string> = {
  same: "",
  dropped: "warning",
  different: "warning",
  refused: "error",
};

export function Readers({ session }: { session: EditorSession }) {
  const { reply } = useStore(session);
  const [readers, setReaders] = useState<Reader[] | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [chosen, choose] = useState<string | null>(null);
  useEffect(() => {
    let isCurrent = true;
    session.readers().then(
      (found) => isCurrent && (setReaders(found), setTrouble(null)),
      (error: Error) => isCurrent && setTrouble(error.message),
    );
    return () => {
      isCurrent = false;
    };
  }, [reply?.version]);
  if (trouble !== null) return <Panel><Blank sentence={trouble} /></Panel>;
  if (readers === null) return <Panel><p class="quiet">Asking what each reader makes of it …</p></Panel>;
  const shown = readers.find((reader) => reader.name === chosen) ?? readers[1] ?? readers[0]!;
  return (
    <Panel>
      <p class="chips">
        {readers.map((reader) => (
          <button
            key={reader.name}
            class={`chip ${CLASSES[reader.outcome]}${reader === shown ? " on" : ""}`}
            aria-pressed={reader === shown}
            onClick={() => choose(reader.name)}
          >
            {reader.name} <span aria-hidden="true">{MARKS[reader.outcome]}</span>
            <span class="unseen">{reader.outcome}</span>
          </button>
        ))}
      </p>
      <Verdict reader={shown} />
    </Panel>
  );
}

function Panel({ children }: { children: ComponentChildren }) {
  return <section class="derivation readers" aria-label="What other readers make of it">{children}</section>;
}

function Verdict({ reader: { name, summary, reasons, examples } }: { reader: Reader }) {
  return (
    <>
      <p><b>{name}</b>: {summary}</p>
      <ul>
        {reasons.map((reason) => <li key={reason}><Sentence text={reason} /></li>)}
        {examples.map((example) => <li key={example}><code>{example}</code></li>)}
      </ul>
    </>
  );
}
