/** The trace of a key: what each step made of the bytes, how long it took, and where it broke. */

import { bytes, count, milliseconds } from "../shared/format.ts";
import type { TraceReply, StepModel } from "../shared/wire.ts";
import { Failure } from "../shared/access.tsx";

const SHOWN = 16;

export function Trace({ trace: { steps, state, message, values } }: { trace: TraceReply }) {
  if (steps.length === 0) return <Failure sentence={message ?? "The chunk could not be read."} />;
  return (
    <>
      <table class="trace">
        <caption class="unseen">Steps from the reference to the values</caption>
        <thead>
          <tr>
            <th scope="col">Step and its first bytes</th>
            <th scope="col" class="number">
              Size
            </th>
            <th scope="col" class="number">
              Time
            </th>
          </tr>
        </thead>
        <tbody>
          {steps.map((step) => (
            <Step key={step.name} step={step} />
          ))}
        </tbody>
      </table>
      <p class="quiet trace-values">Time is processor time; of the raw bytes, the time until they came.</p>
      {message !== null && <Failure sentence={message} />}
      {values.length > 0 && (
        <p class="trace-values">
          <span class="quiet">First values</span> <code>{values.join(", ")}</code>
        </p>
      )}
      {state === "fill" && (
        <p class="fill-said">
          <span aria-hidden="true" class="hatch" />
          No reference: it reads as the fill value.
        </p>
      )}
    </>
  );
}

function Step({ step: { name, size, seconds, head, form, message } }: { step: StepModel }) {
  const pairs = head.match(/../g) ?? [];
  return (
    <>
      <tr class={message === null ? "" : "broken"}>
        <th scope="row">{name}</th>
        <td class="number" title={size === null ? undefined : `${count(size)} bytes`}>
          {size === null ? "" : bytes(size)}
        </td>
        <td class="number">{size === null ? "" : milliseconds(seconds)}</td>
      </tr>
      <tr class={message === null ? "" : "broken"}>
        <td class="trace-head" colSpan={3}>
          {message === null ? (
            <code>
              {pairs.slice(0, SHOWN).join(" ")}
              {pairs.length > SHOWN ? " …" : ""}
            </code>
          ) : (
            <span>
              <span aria-hidden="true">✕</span> failed here
            </span>
          )}
          {form !== "" && <span class="quiet"> {form}</span>}
        </td>
      </tr>
    </>
  );
}
