/** One chunk in both sets: its references, its values side by side, and their difference. */

import { useState } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import { ALL } from "./sidebyside.ts";
import { type Drawn, LinkedPictures } from "./linked.tsx";
import { type Axis, part } from "../preview/slices.ts";
import { Failure, Offer, Question, Waited } from "../shared/access.tsx";
import { Stepper } from "../shared/controls.tsx";
import { count, exact, grouped, moment, value } from "../shared/format.ts";
import { Sentence } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { ComparedChunk, ComparedSide } from "../shared/wire.ts";
import type { ChunkPictures } from "./comparison.ts";

export function ChunkInBoth({ session, chunk }: { session: ExplorerSession; chunk: string | null }) {
  const { comparing } = session;
  const { chunk: read, chunkError } = useStore(comparing);
  const shown = read !== null && read.answer.key === chunk ? read : null;
  if (chunk === null)
    return <p class="quiet hint">Select a chunk, on the map or in the table, to compare its values.</p>;
  const asks = shown && [shown.answer.before, shown.answer.after].find(({ state }) => state === "ask");
  const start = (grant?: string) => void comparing.read(chunk, grant);
  return (
    <section class="both" aria-label="The chunk in both sets">
      <h3>Values of {chunk}</h3>
      <Waited waiting={comparing.reading} />
      {shown === null && <Offer text="Read this chunk in both sets" main act={() => start()} />}
      {chunkError !== null && <Failure sentence={chunkError} />}
      {asks && <Question sentence={asks.message} grant={asks.grant!} allow={start} />}
      {shown !== null && !asks && <p class="caption">{said(shown.answer)}</p>}
      {shown !== null && !asks && shown.values === null && (
        <div class="sides">
          <Head side={shown.answer.before} title="Before" />
          <Head side={shown.answer.after} title="After" />
        </div>
      )}
      {shown?.values && !asks && <Pictures key={chunk} read={shown} values={shown.values} />}
    </section>
  );
}

/** What came of the comparison, in a sentence. */
function said({ difference, array, slices, step, units }: ComparedChunk): string {
  const where = `${array || "/"}[${slices.join(", ")}]`;
  const thinned = step.some((each) => each > 1)
    ? ` Every ${step.map(count).join(", ")}th value along the dimensions is drawn; all of them were compared.`
    : "";
  if (difference === null) return `${where}: no chunk was fetched on both sides, so no values were compared.`;
  const { compared, different, low, high } = difference;
  if (Number(different) === 0)
    return `${where}: all ${count(compared)} values that both sets have are the same.${thinned}`;
  const span = low === null || high === null ? "" : `, by ${value(low)} to ${value(high)}${units ? ` ${units}` : ""}`;
  return `${where}: ${count(different)} of ${count(compared)} values differ${span}.${thinned}`;
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

type Values = NonNullable<ChunkPictures["values"]>;

function Pictures({ read: { answer, integers }, values }: { read: ChunkPictures; values: Values }) {
  const axes: Axis[] = answer.shape.map((size, dimension) => ({
    dimension,
    name: answer.dimensions[dimension]!,
    size,
    at: null,
    first: Number.parseInt(answer.slices[dimension]!, 10) || 0,
    step: answer.step[dimension]!,
    times: false,
  }));
  const drawn = axes.filter(({ size }) => size > 1).slice(-2);
  const [at, setAt] = useState<number[]>(() => answer.shape.map(() => 0));
  const [window, setWindow] = useState(ALL);
  const cut = <T extends Parameters<typeof part>[0]>(all: T) => part(all, answer.shape, drawn, at) as T;
  const { before, after, low, high, difference, times } = answer;
  const unit = answer.units && !times ? ` ${answer.units}` : "";
  const domain: [number, number] =
    low === null || high === null ? [0, 1] : low === high ? [low - 1, high + 1] : [low, high];
  const most = Math.max(Math.abs(difference?.low ?? 0), Math.abs(difference?.high ?? 0)) || 1;
  const picture = (title: string, all: Float64Array, isThere: boolean, text: (number: number, i: number) => string) => {
    const own = cut(all);
    const none = own.every(Number.isNaN) ? ": none" : "";
    return {
      title,
      label: `${title}, values of ${answer.array || "/"}${none}`,
      axes: drawn,
      values: isThere ? own : null,
      text: (i: number) => (Number.isNaN(own[i]!) ? "none" : text(own[i]!, i)),
    };
  };
  const sides = [before, after].map((side, which): Drawn => {
    const digits = integers[which] && cut(integers[which]);
    const text = (number: number, i: number) =>
      times && !digits ? moment(number) : `${grouped(exact(number, side.value_type ?? "float64", digits?.[i]))}${unit}`;
    const title = which === 0 ? "Before" : "After";
    return {
      ...picture(title, values[which]!, side.state === "fetched", text),
      domain,
      scheme: "viridis",
      times: answer.times,
    };
  });
  const gap: Drawn = {
    ...picture("Difference", values[2], difference !== null, (number) =>
      times ? `${value(number / 1000)} s` : `${value(number)}${unit}`,
    ),
    domain: [-most, most],
    scheme: "rdbu",
    times: false,
  };
  return (
    <>
      {axes.map(
        ({ dimension, name, size, step }) =>
          size > 1 &&
          !drawn.some((axis) => axis.dimension === dimension) && (
            <Stepper
              key={dimension}
              label={name}
              max={size - 1}
              value={at[dimension]!}
              text={count(at[dimension]! * step)}
              move={(to) => setAt(at.with(dimension, to))}
            />
          ),
      )}
      <LinkedPictures
        drawn={[...sides, gap]}
        window={window}
        setWindow={setWindow}
        least={220}
        hint="Axes are indices. Point at a pixel to see its value in both sets."
        head={({ title }) =>
          title === "Difference" ? (
            <div class="side-head">
              <b>{title}</b> <span class="quiet">after minus before</span>
            </div>
          ) : (
            <Head side={title === "Before" ? before : after} title={title} />
          )
        }
        absent={({ title }) =>
          title === "Difference" && (
            <p class="quiet">No chunk was fetched on both sides, so there are no values to compare.</p>
          )
        }
      />
    </>
  );
}
