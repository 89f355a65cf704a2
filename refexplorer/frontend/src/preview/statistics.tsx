/** The values of a slice, and of all that was read, in figures. */

import { useLayoutEffect, useRef } from "preact/hooks";

import { count, moment, value } from "../shared/format.ts";
import type { ReadingModel } from "../shared/wire.ts";
import { histogram } from "./plot.ts";
import { figures } from "./slices.ts";
import { useWidth } from "../shared/width.ts";

interface Props {
  reading: ReadingModel;
  /** Of the slice, and of everything that came. */
  values: Float64Array;
  all: Float64Array;
}

export function Statistics({ reading, values, all }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  useLayoutEffect(() => {
    if (width > 0) box.current!.replaceChildren(histogram(values, width, reading.times));
  }, [values, width]);
  const columns = all.length === values.length ? [values] : [values, all];
  const found = columns.map(figures);
  const say = reading.times ? moment : value;
  const line = (name: string, text: (each: ReturnType<typeof figures>) => string) => (
    <tr key={name}>
      <th scope="row">{name}</th>
      {found.map((each, i) => <td key={i} class="number">{text(each)}</td>)}
    </tr>
  );
  return (
    <>
      <table class="kinds statistics">
        <thead>
          <tr>
            <th scope="col">{reading.units && !reading.times ? reading.units : ""}</th>
            <th scope="col" class="number">this slice</th>
            {columns.length > 1 && <th scope="col" class="number">all that was read</th>}
          </tr>
        </thead>
        <tbody>
          {line("values", (each) => count(each.count))}
          {line("missing", (each) => count(each.missing))}
          {line("lowest", (each) => say(each.low))}
          {line("mean", (each) => say(each.mean))}
          {line("median", (each) => say(each.median))}
          {line("highest", (each) => say(each.high))}
          {!reading.times && line("deviation", (each) => value(each.deviation))}
        </tbody>
      </table>
      <div class="figure" ref={box} />
    </>
  );
}
