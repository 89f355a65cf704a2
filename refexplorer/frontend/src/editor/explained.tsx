/** What there is to know about a diagnostic code: readers, cause, remedy, the smallest example. */

import { useEffect, useState } from "preact/hooks";

import { PageOfCode } from "../text/codepage.tsx";
import { Blank, Button } from "../shared/parts.tsx";
import type { CodePage } from "../shared/wire.ts";
import type { EditorSession } from "./session.ts";

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
      {page !== null && <PageOfCode page={page} write={write} cite={cite} />}
      <Button text="✕" class="button close" aria-label="Close" onClick={close} />
    </section>
  );
}
