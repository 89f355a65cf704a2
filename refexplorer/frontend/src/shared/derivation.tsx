/** The steps of a derivation, one below the other, with what each started from and what came of it. */

import { written } from "./notes.ts";
import type { Derived } from "./wire.ts";
import { Button } from "./parts.tsx";

export interface Place {
  from: number;
  to: number;
}

interface Props {
  steps: Derived[];
  /** Shows the source of a step in the text, where there is a text. */
  jump?(place: Place): void;
}

export function DerivationSteps({ steps, jump }: Props) {
  return (
    <ol class="steps">
      {steps.map((step) => (
        <Step key={`${step.name} ${step.pointer}`} step={step} jump={jump} />
      ))}
    </ol>
  );
}

function Step({ step, jump }: { step: Derived; jump: Props["jump"] }) {
  const { name, from, to, variables } = step;
  return (
    <li class="step">
      {jump === undefined || from === null || to === null ? (
        <span class="step-name" title={written(step.pointer)}>
          {name}
        </span>
      ) : (
        <Button text={name} class="step-name" title="Show this in the text" onClick={() => jump({ from, to })} />
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
  const apart = (Name: "span" | "b", shown: "text" | "result") =>
    pieces.map((piece, i) =>
      piece.result === null ? (
        piece.text
      ) : (
        <Name class="expression" key={i}>
          {piece[shown]}
        </Name>
      ),
    );
  return (
    <span>
      <code>{apart("span", "text")}</code>
      <span class="quiet"> → </span>
      <code>{isSplit ? apart("b", "result") : result}</code>
    </span>
  );
}
