/** What there is to know about the code of a note, opened below it. */

import { useState } from "preact/hooks";

import { PageOfCode } from "../text/codepage.tsx";
import { Button } from "../shared/parts.tsx";
import { Failure } from "../shared/asking.tsx";
import type { CodePage } from "../shared/wire.ts";
import type { ExplorerSession } from "./session.ts";

export function About({ session, code }: { session: ExplorerSession; code: string }) {
  const [page, setPage] = useState<CodePage | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [isOpen, setOpen] = useState(false);
  const toggle = () => {
    setOpen(!isOpen);
    if (page === null && !isOpen) session.explainCode(code).then(setPage, (error: Error) => setTrouble(error.message));
  };
  return (
    <div class="about">
      <Button class="link" aria-expanded={isOpen} onClick={toggle}>
        {isOpen ? "Close" : "What is this?"}
        <span class="unseen"> {code}</span>
      </Button>
      {isOpen && trouble !== null && <Failure sentence={trouble} />}
      {isOpen && page !== null && (
        <section class="derivation explained" aria-label={`About ${code}`}>
          <PageOfCode page={page} write={null} cite={null} />
        </section>
      )}
    </div>
  );
}
