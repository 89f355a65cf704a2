/** Values as a table: numbers of the drawn slice, or texts. */

import { count, counted, moment, value } from "../shared/format.ts";
import type { ReadingModel } from "../shared/wire.ts";
import { placeOf, type Axis } from "./slices.ts";

const ROWS = 200;
const COLUMNS = 40;

interface NumbersProps {
  reading: ReadingModel;
  axes: Axis[];
  /** Of the axes, C order. */
  values: Float64Array;
}

export function NumberTable({ reading, axes, values }: NumbersProps) {
  const [rows, columns] = axes.length === 2 ? [axes[0]!, axes[1]!] : [axes[0]!, null];
  const height = Math.min(ROWS, rows.size);
  const width = Math.min(COLUMNS, columns?.size ?? 1);
  const say = reading.times ? moment : value;
  const cut = height < rows.size || width < (columns?.size ?? 1);
  return (
    <>
      <div class="scrolled" tabIndex={0} role="region" aria-label="Values">
        <table class="texts numbers">
          <thead>
            <tr>
              <th scope="col">{columns ? `${rows.name} \\ ${columns.name}` : rows.name}</th>
              {columns === null
                ? <th scope="col" class="number">Value</th>
                : range(width).map((at) => <th key={at} scope="col" class="number">{placeOf(columns, at)}</th>)}
            </tr>
          </thead>
          <tbody>
            {range(height).map((row) => (
              <tr key={row}>
                <th scope="row">{placeOf(rows, row)}</th>
                {range(width).map((column) => {
                  const number = values[row * (columns?.size ?? 1) + column]!;
                  return <td key={column} class={Number.isNaN(number) ? "number absent" : "number"}>{say(number)}</td>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {cut && <p class="quiet">The first {count(height)} × {count(width)} of {counted(values.length, "value")}.</p>}
    </>
  );
}

export function TextTable({ reading }: { reading: ReadingModel }) {
  const texts = reading.texts ?? [];
  const total = reading.shape.reduce((product, size) => product * size, 1);
  return (
    <>
      <table class="texts">
        <thead><tr><th scope="col">Index</th><th scope="col">Value</th></tr></thead>
        <tbody>
          {texts.map((text, index) => (
            <tr key={index}><td class="number">{count(index)}</td><td>{text}</td></tr>
          ))}
        </tbody>
      </table>
      {texts.length < total && <p class="quiet">The first {count(texts.length)} of {count(total)} values.</p>}
    </>
  );
}

function range(size: number): number[] {
  return Array.from({ length: size }, (_, at) => at);
}
