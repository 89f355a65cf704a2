/** The page of a diagnostic code: what readers do, how it comes about, what to do, the smallest example. */

import { Button, Sentence } from "../shared/parts.tsx";
import type { CodePage } from "../shared/wire.ts";

interface Props {
  page: CodePage;
  /** Puts the example into the editor; null where there is none, or its text is not to be replaced. */
  write: ((text: string) => void) | null;
  /** Shows the rule in the text of the specification; null where there is no room for it. */
  cite: ((rule: string) => void) | null;
}

export function PageOfCode({ page, write, cite }: Props) {
  return (
    <>
      <p>
        <b class="mono">{page.code}</b>: <Sentence text={page.meaning} />
      </p>
      <dl>
        <dt>What readers do</dt>
        {page.readers.map((said) => (
          <dd key={said}>
            <Sentence text={said} />
          </dd>
        ))}
        <dt>Cause</dt>
        <dd>
          <Sentence text={page.cause} />
        </dd>
        <dt>What to do</dt>
        <dd>
          <Sentence text={page.mend} />
        </dd>
        {page.rule && (
          <>
            <dt>The rule</dt>
            <dd>
              <Sentence text={page.rule.sentence} />{" "}
              {cite && (
                <>
                  <Button text="Show the rule" onClick={() => cite(page.rule!.name)} />{" "}
                </>
              )}
              <a href={page.rule.link} target="_blank" rel="noreferrer">
                Specification, {page.rule.section}
              </a>
            </dd>
          </>
        )}
        {page.example && (
          <>
            <dt>The smallest example</dt>
            <dd>
              <pre role="group" aria-label="Example">
                {page.example}
              </pre>
            </dd>
          </>
        )}
      </dl>
      {write && page.live && <Button text="Insert into the editor" onClick={() => write(page.example)} />}
    </>
  );
}
