/** Going through a dimension: a slider, play and pause, and what is read ahead for it. */

import { useEffect, useRef, useState } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import { Choice } from "../maps/mapparts.tsx";
import { useStore } from "../shared/store.ts";
import type { Plan } from "../shared/wire.ts";

interface Props {
  session: ExplorerSession;
  plan: Plan;
  /** The part that was asked for last. */
  wanted: string[];
  axis: number;
  set(text: string): void;
}

/** Pictures a second, if the next one is there by then. */
const PACES: [string, string][] = [
  ["3", "3 a second"],
  ["7", "7 a second"],
  ["15", "15 a second"],
  ["30", "30 a second"],
];
/** Pictures that are read before they are asked for. */
const AHEAD = 8;

export function Player({ session, plan, wanted, axis, set }: Props) {
  const { job, bound } = useStore(session.preview);
  const [plays, setPlays] = useState(false);
  const [pace, setPace] = useState(matchMedia("(prefers-reduced-motion: reduce)").matches ? "3" : "7");
  const asked = useRef("");
  const at = Number(wanted[axis]);
  const size = Number(plan.sizes[axis]);
  const name = plan.dimensions[axis]!;
  const next = (at + 1) % size;
  const isShown =
    job !== null &&
    job.id === null &&
    job.error === null &&
    job.reading?.slices.join() === plan.slices.join() &&
    wanted.join() === plan.slices.join();

  useEffect(() => {
    // Only what is cheap is read without a question, so playing stops at what is not.
    if (!isShown || job.array !== plan.array || bound === 0) return;
    const parts = Array.from({ length: Math.min(AHEAD, size - 1) }, (_, i) =>
      wanted.with(axis, String((at + 1 + i) % size)),
    );
    const text = parts.join(";");
    if (text === asked.current) return;
    asked.current = text;
    void session.preview.readAhead(plan.array, parts);
  }, [isShown, wanted.join(), bound]);

  useEffect(() => {
    if (!plays || !isShown) return;
    const timer = setTimeout(() => set(String(next)), 1000 / Number(pace));
    return () => clearTimeout(timer);
  }, [plays, isShown, next, pace]);

  return (
    <>
      <input
        type="range"
        aria-label={`${name}: index`}
        min={0}
        max={size - 1}
        value={wanted[axis]}
        onInput={(event) => {
          setPlays(false);
          set(event.currentTarget.value);
        }}
      />
      {job?.reading != null && size > 1 && (
        <button
          type="button"
          class="button"
          aria-pressed={plays}
          aria-label={plays ? `Pause along ${name}` : `Play along ${name}`}
          onClick={() => setPlays(!plays)}
        >
          {plays ? "❚❚" : "▶"}
        </button>
      )}
      {plays && <Choice label="Pace" value={pace} options={PACES} choose={setPace} />}
    </>
  );
}
