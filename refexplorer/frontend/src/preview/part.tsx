/** Which part of an array is read: its slices, how much without a question, a scrubber for each single place. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import { Choice, DraftField } from "../shared/controls.tsx";
import { bytes, count, exact } from "../shared/format.ts";
import { type KeptMenu, Menu } from "../shared/menu.tsx";
import { Button } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { Coordinate } from "../shared/wire.ts";
import { DateField, Scrubber } from "./scrubber.tsx";

interface Props {
  session: ExplorerSession;
  array: string;
}

/** What is read of an array, which the plan may not be of yet; null while its cost is not known. */
function usePart({ session, array }: Props) {
  const { plan, wanted } = useStore(session.preview);
  const own = plan?.array === array ? plan : null;
  const slices = wanted ?? own?.slices ?? [];
  const want = (axis: number, text: string) => session.preview.want(array, slices.with(axis, text));
  return { plan: own, slices: own === null ? [] : slices, want };
}

/** Which part is read, as Python writes it, and how much may be read without a question. */
export function PartMenu({ session, array, kept, children }: Props & { kept: KeptMenu; children?: ComponentChildren }) {
  const { bound, budget, job } = useStore(session.preview);
  const { plan, slices, want } = usePart({ session, array });
  const isRead = job?.array === array && job.reading !== null;
  return (
    <Menu label="Part and reading" kept={kept}>
      {children}
      {slices.length > 0 && (
        <div class="slices" role="group" aria-label="Part to read">
          {slices.map((text, axis) => (
            <div class="slice" key={axis}>
              <span class="slice-name">{plan!.dimensions[axis]}</span>
              <DraftField
                class="slice-text"
                aria-label={`${plan!.dimensions[axis]}: index or slice`}
                title="An index such as 3 or -1, a slice such as 0:10:2, or coordinate values, such as 2000-06 or 45.0:50.0"
                text={text}
                set={(next) => want(axis, next)}
              />
              <span class="quiet slice-size">of {count(plan!.sizes[axis]!)}</span>
            </div>
          ))}
        </div>
      )}
      {plan && (
        <div class="controls">
          <Choice
            label="First picture"
            value={String(budget ?? plan.budget)}
            options={budgets(Number(plan.budget))}
            choose={(to) => session.preview.setBudget(array, Number(to))}
          />
          {isRead && (
            <Choice
              label="Read other selections automatically"
              value={String(bound)}
              options={BOUNDS}
              choose={(to) => session.preview.setBound(Number(to))}
            />
          )}
        </div>
      )}
      {plan && isRead && (
        <div class="offer">
          <Button text="Read again" disabled={job.id !== null} onClick={() => session.preview.read()} />
          <span
            class="quiet"
            title="Decoded chunks, shared by all views of the set; the least recently used are dropped"
          >
            {bytes(plan.kept)} of {bytes(plan.kept_most)} kept
          </span>
        </div>
      )}
    </Menu>
  );
}

/** Pictures that are read before they are asked for. */
const AHEAD = 8;

/** A scrubber for each dimension of which one place is read. */
export function Places({ session, array }: Props) {
  const { job, bound } = useStore(session.preview);
  const { plan, slices, want } = usePart({ session, array });
  const strips = useStore(session.strips);
  useEffect(() => session.strips.look(array), [array]);
  const asked = useRef("");
  const isShown =
    plan !== null &&
    job !== null &&
    job.id === null &&
    job.error === null &&
    job.reading?.slices.join() === plan.slices.join() &&
    slices.join() === plan.slices.join();
  const axes = slices.flatMap((text, axis) => (/^\d+$/.test(text) && Number(plan!.sizes[axis]) > 1 ? [axis] : []));
  const last = axes[0];
  useEffect(() => {
    // Only what is cheap is read without a question, so playing stops at what is not.
    if (last === undefined || !isShown || job.array !== array || bound === 0) return;
    const [at, size] = [Number(slices[last]), Number(plan.sizes[last])];
    const parts = Array.from({ length: Math.min(AHEAD, size - 1) }, (_, i) =>
      slices.with(last, String((at + 1 + i) % size)),
    );
    const text = parts.join(";");
    if (text === asked.current) return;
    asked.current = text;
    void session.preview.readAhead(array, parts);
  }, [isShown, slices.join(), bound]);
  const reading = job?.array === array ? job.reading : null;
  return (
    <>
      {axes.map((axis) => {
        const coordinate = reading?.coordinates[axis];
        const name = plan!.dimensions[axis]!;
        return (
          <Scrubber
            key={axis}
            name={name}
            size={Number(plan!.sizes[axis])}
            at={Number(slices[axis])}
            place={isShown && coordinate ? placeText(coordinate) : ""}
            move={(to) => want(axis, String(to))}
            isShown={isShown}
            strip={strips.array === array ? strips.strips[axis] : undefined}
            marks={strips.array === array ? strips.marks.filter((mark) => mark.axis === axis) : []}
          >
            <DateField name={name} coordinate={coordinate} set={(text) => want(axis, text)} />
          </Scrubber>
        );
      })}
    </>
  );
}

/** Where the one place of a coordinate is; a date has a field of its own. */
function placeText({ values, texts, times }: Coordinate): string {
  if (texts?.[0] !== undefined) return texts[0];
  const first = values?.[0];
  return first == null || times ? "" : exact(first, "float64");
}

const BOUNDS: [string, string][] = [
  ["0", "never"],
  ["100000", "up to 100 kB"],
  ["1000000", "up to 1 MB"],
  ["10000000", "up to 10 MB"],
];

/** What a first picture may fetch: that of the set, and some others. */
function budgets(own: number): [string, string][] {
  const sizes = [...new Set([own, 500_000, 2_000_000, 10_000_000, 50_000_000])].sort((a, b) => a - b);
  return sizes.map((size) => [String(size), `up to ${bytes(size)}`]);
}
