/** The reason for one value: the chunk, its reference, the raw value, and what became of it. */

import { Fragment } from "preact";
import { useState } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import type { ValueTraced } from "../shared/wire.ts";

interface Props {
  session: ExplorerSession;
  array: string;
  /** Where the value is in the array. */
  index: number[];
}

type Answer = { asking: true } | { error: string } | ValueTraced;

export function WhyValue({ session, array, index }: Props) {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const ask = async () => {
    setAnswer({ asking: true });
    try {
      setAnswer(await session.preview.why(array, index));
    } catch (error) {
      setAnswer({ error: (error as Error).message });
    }
  };
  return (
    <div class="why">
      <button type="button" class="button" disabled={answer !== null && "asking" in answer} onClick={() => void ask()}>
        Why this value?
      </button>{" "}
      <code>
        {array}[{index.join(", ")}]
      </code>
      <div role="status">
        {answer && "error" in answer && <p class="bad">{answer.error}</p>}
        {answer && "sentence" in answer && (
          <>
            <p>{answer.sentence}</p>
            <dl class="facts">
              {answer.steps.map(({ name, text }) => (
                <Fragment key={name}>
                  <dt>{name}</dt>
                  <dd>{text}</dd>
                </Fragment>
              ))}
            </dl>
          </>
        )}
      </div>
    </div>
  );
}
