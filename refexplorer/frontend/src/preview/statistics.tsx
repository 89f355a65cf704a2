/** The values of a slice, and of all that was read, in figures. */

import { useLayoutEffect, useRef } from "preact/hooks";

import { DataTable } from "../shared/controls.tsx";
import { count, moment, NOT_KNOWN, value } from "../shared/format.ts";
import type { ReadingModel } from "../shared/wire.ts";
import { histogram } from "./plot.ts";
import { cellWords, figures, shownText, textsOf } from "./slices.ts";
import type { Integers } from "./time/frames.ts";
import { useWidth } from "../shared/pointing.ts";

interface Props {
  reading: ReadingModel;
  /** Values of the slice, and of everything that came where it is more. */
  parts: [Float64Array, Integers | null][];
  /** Whether more values are on their way: those are not missing. */
  isPart: boolean;
}

export function Statistics({ reading, parts, isPart }: Props) {
  const values = parts[0]![0];
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  useLayoutEffect(() => {
    if (width > 0) box.current!.replaceChildren(histogram(values, width, reading.times));
  }, [values, width]);
  const found = parts.map(([own, integers]) => {
    const text = textsOf(reading, own, integers);
    const known = figures(own, integers);
    const say = (at: number) =>
      at < 0 ? "NaN" : reading.reduced === "mean" ? value(own[at]!) : shownText(reading, text(at));
    return { ...known, low: say(known.low), high: say(known.high) };
  });
  type Figures = (typeof found)[number];
  const say = reading.times ? moment : value;
  const lines: [name: string, text: (each: Figures) => string][] = [
    ["values", (each) => count(each.count)],
    ["missing", (each) => (isPart ? NOT_KNOWN : count(each.missing))],
    ["infinite", (each) => count(each.infinite)],
    ["lowest", (each) => each.low],
    ["mean", (each) => say(each.mean)],
    ["median", (each) => say(each.median)],
    ["highest", (each) => each.high],
    ["standard deviation", (each) => value(each.deviation)],
  ];
  const hidden = [found.some((each) => each.infinite > 0) ? "" : "infinite", reading.times ? "standard deviation" : ""];
  return (
    <>
      {cellWords(reading) && (
        <p class="caption" role="note">
          Of the cells, each the {cellWords(reading)} values; the values themselves are from{" "}
          {reading.extremes?.map((text) => shownText(reading, text)).join(" to ") ?? "none"}.
        </p>
      )}
      <DataTable
        class="kinds statistics"
        rows={lines.filter(([name]) => !hidden.includes(name))}
        of={([name]) => name}
        columns={[
          { head: reading.units && !reading.times ? reading.units : "", cell: ([name]) => name },
          ...found.map((each, i) => ({
            head: i === 0 ? "this slice" : "all values read",
            class: "number",
            cell: ([, text]: (typeof lines)[number]) => text(each),
          })),
        ]}
      />
      <div class="figure" ref={box} />
    </>
  );
}
