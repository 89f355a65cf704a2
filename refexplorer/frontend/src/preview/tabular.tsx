/** Values as a table: numbers of the drawn slice, or texts. */

import { useState } from "preact/hooks";

import { count, moment, value } from "../shared/format.ts";
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
  const [top, setTop] = useState(0);
  const [left, setLeft] = useState(0);
  const say = reading.times ? moment : value;
  const across = columns?.size ?? 1;
  const shown = { rows: span(top, ROWS, rows.size), columns: span(left, COLUMNS, across) };
  return (
    <>
      <Pages name="rows" start={top} step={ROWS} size={rows.size} move={setTop} />
      <Pages name="columns" start={left} step={COLUMNS} size={across} move={setLeft} />
      <div class="scrolled" tabIndex={0} role="region" aria-label="Values">
        <table class="texts numbers">
          <thead>
            <tr>
              <th scope="col">{columns ? `${rows.name} \\ ${columns.name}` : rows.name}</th>
              {columns === null
                ? <th scope="col" class="number">Value</th>
                : shown.columns.map((at) => <th key={at} scope="col" class="number">{placeOf(columns, at)}</th>)}
            </tr>
          </thead>
          <tbody>
            {shown.rows.map((row) => (
              <tr key={row}>
                <th scope="row">{placeOf(rows, row)}</th>
                {shown.columns.map((column) => {
                  const number = values[row * across + column]!;
                  return <td key={column} class={Number.isNaN(number) ? "number absent" : "number"}>{say(number)}</td>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
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

interface PagesProps {
  name: string;
  start: number;
  step: number;
  size: number;
  move(start: number): void;
}

/** Which of many rows or columns are shown, and the way to the others. */
function Pages({ name, start, step, size, move }: PagesProps) {
  if (size <= step) return null;
  const last = Math.min(size, start + step);
  return (
    <p class="pages quiet" role="group" aria-label={`Page of ${name}`}>
      <button type="button" class="button" aria-label={`Previous ${name}`} disabled={start === 0} onClick={() => move(Math.max(0, start - step))}>‹</button>
      <button type="button" class="button" aria-label={`Next ${name}`} disabled={last === size} onClick={() => move(start + step)}>›</button>
      <span role="status">{name} {count(start + 1)} to {count(last)} of {count(size)}</span>
    </p>
  );
}

/** Indices of a page; of the first one where another array has no such page. */
function span(start: number, step: number, size: number): number[] {
  const from = start < size ? start : 0;
  return Array.from({ length: Math.min(step, size - from) }, (_, at) => from + at);
}
