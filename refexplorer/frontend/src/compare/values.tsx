/** One chunk in both sets: its references, its values side by side, and their difference. */

import { useRef, useState } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import { Linked } from "../beside/beside.tsx";
import { ALL } from "../beside/besides.ts";
import type { Scheme } from "../preview/colours.ts";
import type { Axis } from "../preview/slices.ts";
import type { Integers } from "../preview/time/frames.ts";
import { Failure, Question, Waited } from "../shared/asking.tsx";
import { count, exact, grouped, moment, value } from "../shared/format.ts";
import { Button, Sentence } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import { useWidth } from "../shared/width.ts";
import type { ComparedSide, ComparedChunk } from "../shared/wire.ts";
import type { ChunkPictures } from "./comparing.ts";

/** The least width of a picture, px; with less room for three they stand below each other. */
const LEAST = 220;

export function ChunkInBoth({ session, chunk }: { session: ExplorerSession; chunk: string | null }) {
  const { comparing } = session;
  const { chunk: read, chunkError } = useStore(comparing);
  const shown = read !== null && read.answer.key === chunk ? read : null;
  if (chunk === null)
    return <p class="quiet hint">Select a chunk, on the map or in the table, to compare its values.</p>;
  const blocked = shown && [shown.answer.before, shown.answer.after].find(({ state }) => state === "ask");
  return (
    <section class="both" aria-label="The chunk in both sets">
      <h3>Values of {chunk}</h3>
      <Waited waiting={comparing.reading} />
      {shown === null && (
        <div class="offer">
          <Button
            text="Read this chunk in both sets"
            class="button main-button"
            onClick={() => void comparing.read(chunk)}
          />
        </div>
      )}
      {chunkError !== null && <Failure sentence={chunkError} />}
      {blocked ? (
        <Question
          sentence={blocked.message}
          grant={blocked.grant!}
          allow={(grant) => void comparing.read(chunk, grant)}
        />
      ) : null}
      {shown !== null && !blocked && <Shown key={chunk} read={shown} />}
    </section>
  );
}

function Shown({ read: { answer, values, integers } }: { read: ChunkPictures }) {
  return (
    <>
      <p class="caption">{said(answer)}</p>
      {values === null ? (
        <div class="sides">
          {[answer.before, answer.after].map((side, i) => (
            <Head key={i} side={side} title={i === 0 ? "Before" : "After"} />
          ))}
        </div>
      ) : (
        <Pictures answer={answer} values={values} integers={integers} />
      )}
    </>
  );
}

/** What came of the comparison, in a sentence. */
function said({ difference, array, slices, step, units }: ComparedChunk): string {
  const part = `${array || "/"}[${slices.join(", ")}]`;
  const thinned = step.some((each) => each > 1)
    ? ` Every ${step.map(count).join(", ")}th value along the dimensions is drawn; all of them were compared.`
    : "";
  if (difference === null) return `${part}: no chunk was fetched on both sides, so no values were compared.`;
  const { compared, different, low, high } = difference;
  if (Number(different) === 0)
    return `${part}: all ${count(compared)} values that both sets have are the same.${thinned}`;
  const span = low === null || high === null ? "" : `, by ${value(low)} to ${value(high)}${units ? ` ${units}` : ""}`;
  return `${part}: ${count(different)} of ${count(compared)} values differ${span}.${thinned}`;
}

function Head({ side, title }: { side: ComparedSide; title: string }) {
  return (
    <div class="side-head">
      <b>{title}</b> <span class="quiet">{side.name}</span>
      <code title={side.reference}>{side.reference}</code>
      {side.dtype !== "" && <span class="quiet mono">{side.dtype}</span>}
      {side.message !== null && (
        <p class={side.state === "failed" ? "failed" : "fill-said"}>
          {side.state === "fill" && <span aria-hidden="true" class="hatch" />}
          <Sentence text={side.message} />
        </p>
      )}
    </div>
  );
}

interface PicturesProps {
  answer: ComparedChunk;
  values: [Float64Array, Float64Array, Float64Array];
  integers: ChunkPictures["integers"];
}

function Pictures({ answer, values, integers }: PicturesProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const axes: Axis[] = answer.shape.map((size, dimension) => ({
    dimension,
    name: answer.dimensions[dimension]!,
    size,
    at: null,
    first: startOf(answer, dimension),
    step: answer.step[dimension]!,
    times: false,
  }));
  const drawn = axes.filter(({ size }) => size > 1).slice(-2);
  const others = axes.filter(({ size, dimension }) => size > 1 && !drawn.some((axis) => axis.dimension === dimension));
  const [at, setAt] = useState<number[]>(() => answer.shape.map(() => 0));
  const [cursor, setCursor] = useState<number[] | null>(null);
  const [window, setWindow] = useState(ALL);
  const wide = width >= 3 * LEAST + 24;
  const each = wide ? Math.floor((width - 24) / 3) : width;
  const parts = values.map((all) => partOf(all, answer.shape, drawn, at)) as typeof values;
  const digits = integers.map((all) => all && partOf(all, answer.shape, drawn, at));
  const { low, high, difference } = answer;
  const domain: [number, number] =
    low === null || high === null ? [0, 1] : low === high ? [low - 1, high + 1] : [low, high];
  const most = Math.max(Math.abs(difference?.low ?? 0), Math.abs(difference?.high ?? 0)) || 1;
  const looks: { title: string; side: ComparedSide | null; domain: [number, number]; scheme: Scheme }[] = [
    { title: "Before", side: answer.before, domain, scheme: "viridis" },
    { title: "After", side: answer.after, domain, scheme: "viridis" },
    { title: "Difference", side: null, domain: [-most, most], scheme: "rdbu" },
  ];
  return (
    <div ref={box}>
      {others.map(({ dimension, name, size }) => (
        <label key={dimension} class="stepper">
          <span>{name}</span>
          <input
            type="range"
            min={0}
            max={size - 1}
            value={at[dimension]}
            onInput={(event) => setAt(at.with(dimension, Number(event.currentTarget.value)))}
          />
          <output>{count(at[dimension]! * answer.step[dimension]!)}</output>
        </label>
      ))}
      <div class={wide ? "sides three" : "sides"}>
        {looks.map(({ title, side, ...look }, i) => (
          <div key={title}>
            {side ? (
              <Head side={side} title={title} />
            ) : (
              <div class="side-head">
                <b>{title}</b> <span class="quiet">after minus before</span>
              </div>
            )}
            {missing(answer, i) ? (
              i === 2 && <p class="quiet">No chunk was fetched on both sides, so there are no values to compare.</p>
            ) : drawn.length === 0 ? (
              <p class="mono">{amounts(answer, parts, digits, 0)[i]}</p>
            ) : (
              <Linked
                label={`${title}, values of ${answer.array || "/"}${parts[i]!.every(Number.isNaN) ? ": none" : ""}`}
                picture={{ title, axes: drawn, values: parts[i]!, ...look, times: answer.times && i < 2 }}
                width={each}
                window={window}
                setWindow={setWindow}
                point={(at) => setCursor(at?.map((share, side) => Math.floor(share * drawn[side]!.size)) ?? null)}
              />
            )}
          </div>
        ))}
      </div>
      {drawn.length > 0 && (
        <p class="readout" role="status">
          {cursor === null
            ? "Axes are indices. Point at a pixel to see its value in both sets."
            : readout(answer, drawn, cursor, parts, digits)}
        </p>
      )}
    </div>
  );
}

/** Whether there is nothing to draw of a side, or of the difference. */
function missing({ before, after, difference }: ComparedChunk, which: number): boolean {
  return which === 2 ? difference === null : [before, after][which]!.state !== "fetched";
}

/** The values along the drawn dimensions, C order, at the places of the others. */
function partOf<T extends Float64Array | Integers>(all: T, shape: number[], drawn: Axis[], at: number[]): T {
  const strides = shape.map((_, i) => shape.slice(i + 1).reduce((product, size) => product * size, 1));
  const stays = shape.map((_, i) => !drawn.some(({ dimension }) => dimension === i));
  const start = at.reduce((sum, place, i) => sum + (stays[i] ? place * strides[i]! : 0), 0);
  const [rows, columns] = drawn.length === 2 ? drawn : [null, drawn[0] ?? null];
  const [height, width] = [rows?.size ?? 1, columns?.size ?? 1];
  const part = new (all.constructor as new (length: number) => T)(height * width);
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const offset = row * (rows ? strides[rows.dimension]! : 0) + column * (columns ? strides[columns.dimension]! : 0);
      part[row * width + column] = all[start + offset]!;
    }
  }
  return part;
}

/** A place, and what both sets have there. */
function readout(
  answer: ComparedChunk,
  drawn: Axis[],
  cursor: number[],
  parts: Float64Array[],
  digits: (Integers | null)[],
): string {
  const flat = drawn.length === 2 ? cursor[0]! * drawn[1]!.size + cursor[1]! : cursor[0]!;
  const where = drawn
    .map(
      ({ name, dimension }, i) => `${name} ${count(startOf(answer, dimension) + cursor[i]! * answer.step[dimension]!)}`,
    )
    .join(", ");
  const [before, after, gap] = amounts(answer, parts, digits, flat);
  return `${where}: before ${before}, after ${after}, difference ${gap}`;
}

/** Where the part begins along a dimension. */
function startOf({ slices }: ComparedChunk, dimension: number): number {
  return Number.parseInt(slices[dimension]!, 10) || 0;
}

/** The values before and after with every digit, and their difference. */
function amounts(
  { before, after, units, times }: ComparedChunk,
  parts: Float64Array[],
  digits: (Integers | null)[],
  flat: number,
): string[] {
  const unit = units && !times ? ` ${units}` : "";
  const numbers = parts.map((part) => part[flat]!);
  const sides = [before, after].map(({ value_type: type }, i) => {
    if (Number.isNaN(numbers[i]!)) return "none";
    const integer = digits[i]?.[flat];
    return times && integer === undefined
      ? moment(numbers[i]!)
      : `${grouped(exact(numbers[i]!, type ?? "float64", integer))}${unit}`;
  });
  const gap = numbers[2]!;
  if (Number.isNaN(gap)) return [...sides, "none"];
  if (times) return [...sides, `${value(gap / 1000)} s`];
  return [...sides, `${value(gap)}${unit}`];
}
