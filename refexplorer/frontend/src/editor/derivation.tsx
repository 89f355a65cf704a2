/** How the chosen row came about: one step below the other, each with its place in the text. */

import { count } from "../shared/format.ts";
import { Blank } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { Derivation, Derived } from "./messages.ts";
import type { Tracing } from "./tracing.ts";

interface Place {
  from: number;
  to: number;
}

interface Props {
  tracing: Tracing;
  jump(place: Place): void;
}

export function DerivationPanel({ tracing, jump }: Props) {
  const { derivation, trouble, active } = useStore(tracing);
  if (active < 0 || (derivation === null && trouble === null)) return null;
  return (
    <section class="derivation" aria-label="How this key came about">
      {derivation === null ? <Blank sentence={trouble!} /> : <Steps derivation={derivation} jump={jump} />}
      <button class="button close" aria-label="Close" onClick={() => tracing.close()}>✕</button>
    </section>
  );
}

function Steps({ derivation, jump }: { derivation: Derivation; jump: Props["jump"] }) {
  const { key, number, origin, steps } = derivation;
  return (
    <>
      <p>
        <b class="mono">{key}</b>{" "}
        <span class="quiet">
          comes from <code>{origin}</code>; key number {count(number)}, from 0
        </span>
      </p>
      <ol>
        {steps.map((step) => <Step key={`${step.name} ${step.pointer}`} step={step} jump={jump} />)}
      </ol>
    </>
  );
}

function Step({ step, jump }: { step: Derived; jump: Props["jump"] }) {
  const { name, from, to, variables } = step;
  return (
    <li class="step">
      {from === null || to === null ? (
        <span class="step-name">{name}</span>
      ) : (
        <button class="step-name" title="Show this in the text" onClick={() => jump({ from, to })}>{name}</button>
      )}
      <span class="step-body">
        <Formula step={step} />
        {variables.length > 0 && (
          <span class="quiet">
            {name === "dimensions" ? "" : "with "}
            {variables.map(([variable, value]) => `${variable} = ${value}`).join(", ")}
          </span>
        )}
      </span>
    </li>
  );
}

/** What the step starts from and what came of it, the expressions set apart in both. */
function Formula({ step: { pieces, result, variables } }: { step: Derived }) {
  const source = pieces.map((piece) => piece.text).join("");
  if (source === "" || source === result) {
    return variables.length > 0 ? <span>{result}</span> : <code>{result}</code>;
  }
  const isSplit = pieces.some((piece) => piece.result !== null);
  return (
    <span>
      <code>
        {pieces.map((piece, i) => (piece.result === null ? piece.text : <span class="expression" key={i}>{piece.text}</span>))}
      </code>
      <span class="quiet"> → </span>
      <code>
        {isSplit
          ? pieces.map((piece, i) => (piece.result === null ? piece.text : <b class="expression" key={i}>{piece.result}</b>))
          : result}
      </code>
    </span>
  );
}
