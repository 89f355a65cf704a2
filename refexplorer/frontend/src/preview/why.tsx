/** The reason for one value: from its chunk over reference, bytes and codecs to what xarray shows. */

import { useState } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import { Button, Sentence } from "../shared/parts.tsx";
import { useAnswer } from "../shared/store.ts";
import type { ValueTraced } from "../shared/wire.ts";

interface Props {
  session: ExplorerSession;
  array: string;
  /** Where the value is in the array. */
  index: number[];
  /** Whether the reason is looked up without a click. */
  atOnce?: boolean;
}

export function WhyValue({ session, array, index, atOnce = false }: Props) {
  const [times, setTimes] = useState(atOnce ? 1 : 0);
  const { answer, error, isComing } = useAnswer(times === 0 ? null : `${times} ${array} ${index.join()}`, () =>
    session.preview.why(array, index),
  );
  return (
    <div class="why">
      {!atOnce && (
        <>
          <Button text="Why this value?" disabled={isComing} onClick={() => setTimes(times + 1)} />{" "}
          <code>
            {array}[{index.join(", ")}]
          </code>
        </>
      )}
      <div role="status">
        {isComing && <p class="quiet">Tracing the value …</p>}
        {!isComing && error !== null && <p class="bad">{error}</p>}
        {!isComing && answer && <Chain traced={answer} />}
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
