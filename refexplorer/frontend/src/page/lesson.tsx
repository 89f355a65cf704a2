/** The lesson of the set that is open, one step at a time, so that nobody reads the answer first. */

import { useEffect, useState } from "preact/hooks";

import type { Host } from "../shared/host.ts";
import { Button, Copy } from "../shared/parts.tsx";
import { ask, useShared } from "./wire.ts";

export function Lesson({ host, hidden }: { host: Host; hidden: boolean }) {
  const { title, steps, next } = useShared(host, "lesson");
  const [step, go] = useState(0);
  useEffect(() => go(0), [title]);
  if (!steps?.[step]) return null;
  const [heading, text] = steps[step];
  const following = steps[step + 1]?.[0];
  return (
    <details class="lesson" aria-label={title} open hidden={hidden}>
      <summary>
        <b>{title}</b> ({step + 1} of {steps.length})
      </summary>
      <div class="lesson-step">
        <div aria-live="polite">
          <h2>{heading}</h2>
          {text.map((each) => (
            <p key={each}>
              <Marked text={each} />
            </p>
          ))}
        </div>
        <div class="lesson-ways">
          {following && <Button text={following} main onClick={() => go(step + 1)} />}
          {!following && <Copy text={text.join("\n\n")} label="Copy the text" />}
          {!following && next && <Button text="Next lesson" main onClick={() => ask(host, "open", { source: next })} />}
          {step > 0 && <Button text="Back" onClick={() => go(step - 1)} />}
        </div>
      </div>
    </details>
  );
}

/** Text with `code` and *names of buttons*. */
function Marked({ text }: { text: string }) {
  const parts = text.split(/(`[^`]+`|\*[^*]+\*)/);
  return (
    <>
      {parts.map((part, i) => {
        if (i % 2 === 0) return part;
        return part[0] === "`" ? <code key={i}>{part.slice(1, -1)}</code> : <b key={i}>{part.slice(1, -1)}</b>;
      })}
    </>
  );
}
