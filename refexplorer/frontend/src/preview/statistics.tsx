/** The values of a slice, and of all that was read, in figures. */

import { useLayoutEffect, useRef } from "preact/hooks";

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
  const say = reading.times ? moment : value;
  const line = (name: string, text: (each: (typeof found)[number]) => string) => (
    <tr key={name}>
      <th scope="row">{name}</th>
      {found.map((each, i) => (
        <td key={i} class="number">
          {text(each)}
        </td>
      ))}
    </tr>
  );
  return (
    <>
      {cellWords(reading) && (
        <p class="caption" role="note">
          Of the cells, each the {cellWords(reading)} values; the values themselves are from{" "}
          {reading.extremes?.map((text) => shownText(reading, text)).join(" to ") ?? "none"}.
        </p>
      )}
      <table class="kinds statistics">
        <thead>
          <tr>
            <th scope="col">{reading.units && !reading.times ? reading.units : ""}</th>
            <th scope="col" class="number">
              this slice
            </th>
            {parts.length > 1 && (
              <th scope="col" class="number">
                all values read
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {line("values", (each) => count(each.count))}
          {line("missing", (each) => (isPart ? NOT_KNOWN : count(each.missing)))}
          {found.some((each) => each.infinite > 0) && line("infinite", (each) => count(each.infinite))}
          {line("lowest", (each) => each.low)}
          {line("mean", (each) => say(each.mean))}
          {line("median", (each) => say(each.median))}
          {line("highest", (each) => each.high)}
          {!reading.times && line("deviation", (each) => value(each.deviation))}
        </tbody>
      </table>
      <div class="figure" ref={box} />
    </>
  );
}
