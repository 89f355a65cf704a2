/** The decode ladder: what each step made of the bytes, how long it took, and where it broke. */

import { bytes, count, milliseconds } from "../shared/format.ts";
import type { LadderReply, RungModel } from "../shared/wire.ts";
import { Failure } from "../shared/asking.tsx";

const SHOWN = 16;

export function Ladder({ ladder: { rungs, state, message, values } }: { ladder: LadderReply }) {
  if (rungs.length === 0) return <Failure sentence={message ?? "The chunk could not be read."} />;
  return (
    <>
      <table class="ladder">
        <caption class="unseen">Steps from the reference to the values</caption>
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col" class="number">Size</th>
            <th scope="col" class="number">Time</th>
            <th scope="col">First bytes</th>
          </tr>
        </thead>
        <tbody>
          {rungs.map((rung) => <Step key={rung.name} rung={rung} />)}
        </tbody>
      </table>
      <p class="quiet ladder-values">Time is processor time; of the raw bytes, the time until they came.</p>
      {message !== null && <Failure sentence={message} />}
      {values.length > 0 && (
        <p class="ladder-values">
          <span class="quiet">First values</span> <code>{values.join(", ")}</code>
        </p>
      )}
      {state === "fill" && <p class="fill-said"><span aria-hidden="true" class="hatch" />No reference: it reads as the fill value.</p>}
    </>
  );
}

function Step({ rung: { name, size, seconds, head, form, message } }: { rung: RungModel }) {
  return (
    <tr class={message === null ? "" : "broken"}>
      <th scope="row">{name}</th>
      <td class="number" title={size === null ? undefined : `${count(size)} bytes`}>{size === null ? "" : bytes(size)}</td>
      <td class="number">{size === null ? "" : milliseconds(seconds)}</td>
      <td class="ladder-head">
        {message === null ? <Head head={head} /> : <span><span aria-hidden="true">✕</span> failed here</span>}
        {form !== "" && <span class="quiet"> {form}</span>}
      </td>
    </tr>
  );
}

function Head({ head }: { head: string }) {
  const pairs = head.match(/../g) ?? [];
  return <code>{pairs.slice(0, SHOWN).join(" ")}{pairs.length > SHOWN ? " …" : ""}</code>;
}
