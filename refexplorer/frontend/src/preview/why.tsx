/** The reason for one value: from its chunk over reference, bytes and codecs to what xarray shows. */

import { useEffect, useState } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import { Button, Sentence } from "../shared/parts.tsx";
import type { ValueTraced } from "../shared/wire.ts";

interface Props {
  session: ExplorerSession;
  array: string;
  /** Where the value is in the array. */
  index: number[];
  /** Whether the reason is looked up without a click. */
  atOnce?: boolean;
}

type Answer = { asking: true } | { error: string } | ValueTraced;

export function WhyValue({ session, array, index, atOnce = false }: Props) {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const ask = async () => {
    setAnswer({ asking: true });
    try {
      setAnswer(await session.preview.why(array, index));
    } catch (error) {
      setAnswer({ error: (error as Error).message });
    }
  };
  useEffect(() => {
    if (atOnce) void ask();
  }, [array, index.join()]);
  return (
    <div class="why">
      {!atOnce && (
        <>
          <Button text="Why this value?" disabled={answer !== null && "asking" in answer} onClick={() => void ask()} />{" "}
          <code>
            {array}[{index.join(", ")}]
          </code>
        </>
      )}
      <div role="status">
        {answer && "asking" in answer && <p class="quiet">Tracing the value …</p>}
        {answer && "error" in answer && <p class="bad">{answer.error}</p>}
        {answer && "sentence" in answer && <Chain traced={answer} />}
      </div>
    </div>
  );
}

/** The steps one below the other; the one that fails in red. */
function Chain({ traced: { sentence, steps } }: { traced: ValueTraced }) {
  return (
    <>
      <p>
        <Sentence text={sentence} />
      </p>
      <ol class="chain" aria-label="Where this value comes from">
        {steps.map(({ name, text, is_broken: isBroken }, i) => (
          <li key={i} class={isBroken ? "broken" : ""}>
            <span class="chain-mark" aria-hidden="true">
              {isBroken ? "✕" : "✓"}
            </span>
            <span class="chain-name">{name}</span>
            <span class="chain-text">
              <Sentence text={text} />
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}
