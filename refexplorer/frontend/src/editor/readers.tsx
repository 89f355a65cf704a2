/** What other readers make of the same text: a chip for each, and why, for the chosen one. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

import { Blank, Button, Sentence } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { ReaderVerdict } from "../shared/wire.ts";
import type { EditorSession } from "./session.ts";

const MARKS: Record<ReaderVerdict["outcome"], string> = {
  same: "✓",
  dropped: "▲",
  different: "▲",
  refused: "✕",
  "not run": "?",
};
const CLASSES: Record<ReaderVerdict["outcome"], string> = {
  same: "",
  dropped: "warning",
  different: "warning",
  refused: "error",
  "not run": "",
};

export function Readers({ session }: { session: EditorSession }) {
  const { reply, reader: chosen } = useStore(session);
  const { active } = useStore(session.tracing);
  const [readers, setReaders] = useState<ReaderVerdict[] | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  useEffect(() => {
    let isCurrent = true;
    session.readers().then(
      (found) => {
        if (!isCurrent) return;
        setReaders(found);
        setTrouble(null);
        if (session.state.reader === "" && found[1]) session.readAs(found[1].name);
      },
      (error: Error) => isCurrent && setTrouble(error.message),
    );
    return () => {
      isCurrent = false;
    };
  }, [reply?.version]);
  if (trouble !== null)
    return (
      <Panel>
        <Blank sentence={trouble} />
      </Panel>
    );
  if (readers === null)
    return (
      <Panel>
        <p class="quiet">Checking other readers …</p>
      </Panel>
    );
  const shown = readers.find((reader) => reader.name === chosen) ?? readers[0]!;
  const row = session.rows.at(active);
  return (
    <Panel>
      <p class="chips">
        {readers.map((reader) => (
          <Button
            key={reader.name}
            class={`chip ${CLASSES[reader.outcome]}${reader === shown ? " on" : ""}`}
            aria-pressed={reader === shown}
            onClick={() => session.readAs(reader.name)}
          >
            {reader.name} <span aria-hidden="true">{MARKS[reader.outcome]}</span>
            <span class="unseen">{reader.outcome}</span>
          </Button>
        ))}
      </p>
      <Verdict reader={shown} />
      {row?.why != null && (
        <p role="status">
          <code>{row.key}</code>: <Sentence text={row.why} />
        </p>
      )}
    </Panel>
  );
}

function Panel({ children }: { children: ComponentChildren }) {
  return (
    <section class="derivation readers" aria-label="Other readers">
      {children}
    </section>
  );
}

function Verdict({ reader: { name, summary, reasons, examples } }: { reader: ReaderVerdict }) {
  return (
    <>
      <p>
        <b>{name}</b>: {summary}
      </p>
      <ul>
        {reasons.map((reason) => (
          <li key={reason}>
            <Sentence text={reason} />
          </li>
        ))}
        {examples.map((example) => (
          <li key={example}>
            <code>{example}</code>
          </li>
        ))}
      </ul>
    </>
  );
}
