/** A date of a dimension of times, of which the nearest is shown. */

import { useEffect, useState } from "preact/hooks";

import type { Coordinate } from "../../shared/wire.ts";
import { written } from "./written.ts";

interface Props {
  name: string;
  /** Of what is shown. */
  coordinate: Coordinate | undefined;
  /** Whether a single time is. */
  isOne: boolean;
  set(text: string): void;
}

export function DateField({ name, coordinate, isOne, set }: Props) {
  const first = coordinate?.times ? (coordinate.values?.[0] ?? null) : null;
  const shown = first === null ? "" : written(first);
  const [draft, setDraft] = useState(shown);
  useEffect(() => setDraft(shown), [shown]);
  if (!isOne || shown === "") return null;
  return (
    <input
      type="datetime-local"
      class="date"
      aria-label={`${name}: date`}
      title="The nearest time is shown (UTC)"
      value={draft}
      onInput={(event) => setDraft(event.currentTarget.value)}
      onChange={(event) => {
        if (event.currentTarget.value && event.currentTarget.value !== shown) set(`~${event.currentTarget.value}`);
      }}
    />
  );
}
