/** How the chosen row came about: one step below the other, each with its place in the text. */

import { count } from "../../shared/format.ts";
import { DerivationSteps, type Place } from "../../shared/derivation.tsx";
import { Blank, Button } from "../../shared/parts.tsx";
import { useStore } from "../../shared/store.ts";
import type { Derivation } from "../../shared/wire.ts";
import type { Tracing } from "./tracing.ts";

interface Props {
  tracing: Tracing;
  jump(place: Place): void;
  explore(key: string): void;
}

export function DerivationPanel({ tracing, jump, explore }: Props) {
  const { derivation, trouble, active } = useStore(tracing);
  if (active < 0 || (derivation === null && trouble === null)) return null;
  return (
    <section class="derivation" aria-label="Derivation of this key">
      {derivation === null ? (
        <Blank sentence={trouble!} />
      ) : (
        <Steps derivation={derivation} jump={jump} explore={explore} />
      )}
      <Button text="✕" class="button close" aria-label="Close" onClick={() => tracing.close()} />
    </section>
  );
}

function Steps({ derivation, jump, explore }: { derivation: Derivation } & Pick<Props, "jump" | "explore">) {
  const { key, number, origin, steps } = derivation;
  return (
    <>
      <p>
        <b class="mono">{key}</b>{" "}
        <span class="quiet">
          comes from <code>{origin}</code>; key number {count(number)}, from 0
        </span>{" "}
        <Button text="Show in the explorer" class="link" onClick={() => explore(key)} />
      </p>
      <DerivationSteps steps={steps} jump={jump} />
    </>
  );
}
