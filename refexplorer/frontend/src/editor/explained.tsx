/** What there is to know about a diagnostic code: readers, cause, remedy, the smallest example. */

import { useEffect, useState } from "preact/hooks";

import { Blank, Sentence } from "../shared/parts.tsx";
import type { CodePage } from "../shared/wire.ts";
import type { EditorSession } from "./session.ts";

interface Props {
  session: EditorSession;
  code: string;
  close(): void;
  /** Puts the example into the editor; null where the text is not to be replaced. */
  write: ((text: string) => void) | null;
}

export function Explained({ session, code, close, write }: Props) {
  const [page, setPage] = useState<CodePage | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  useEffect(() => {
    let isCurrent = true;
    session.explainCode(code).then(
      (found) => isCurrent && setPage(found),
      (error: Error) => isCurrent && setTrouble(error.message),
    );
    return () => {
      isCurrent = false;
    };
  }, [code]);
  return (
    <section class="derivation explained" aria-label={`About ${code}`}>
      {trouble !== null && <Blank sentence={trouble} />}
      {page !== null && <Page page={page} write={write} />}
      <button type="button" class="button close" aria-label="Close" onClick={close}>✕</button>
    </section>
  );
}

function Page({ page, write }: { page: CodePage; write: Props["write"] }) {
  return (
    <>
      <p><b class="mono">{page.code}</b>: <Sentence text={page.meaning} /></p>
      <dl>
        <dt>What readers do</dt>
        {page.readers.map((said) => <dd key={said}><Sentence text={said} /></dd>)}
        <dt>How it comes about</dt>
        <dd><Sentence text={page.cause} /></dd>
        <dt>What to do</dt>
        <dd><Sentence text={page.mend} /></dd>
        {page.rule && (
          <>
            <dt>The rule</dt>
            <dd>
              <Sentence text={page.rule.sentence} />{" "}
              <a href={page.rule.link} target="_blank" rel="noreferrer">Specification, {page.rule.section}</a>
            </dd>
          </>
        )}
        <dt>The smallest example</dt>
        <dd><pre role="group" aria-label="Example">{page.example}</pre></dd>
      </dl>
      {write && page.live && (
        <button type="button" class="button" onClick={() => write(page.example)}>Put it into the editor</button>
      )}
    </>
  );
}
