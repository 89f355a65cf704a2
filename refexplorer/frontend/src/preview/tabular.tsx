/** Values as a table: numbers of the drawn slice, or texts. */

import { useId, useMemo, useState } from "preact/hooks";

import { count, counted, value } from "../shared/format.ts";
import { DataTable } from "../shared/controls.tsx";
import { toClipboard } from "../shared/browser.ts";
import { Button } from "../shared/parts.tsx";
import type { ReadingModel } from "../shared/wire.ts";
import { csvOf } from "./saving.ts";
import { cellWords, layout, placeOf, shownText, titleOf, type Axis } from "./slices.ts";
import { cut, holds, spansOf, stepped, type Range } from "./cellrange.ts";
import { useSaid } from "../shared/store.ts";

const ROWS = 200;
const COLUMNS = 40;

interface NumbersProps {
  reading: ReadingModel;
  axes: Axis[];
  /** Of the axes, C order. */
  values: Float64Array;
  /** A value with every digit. */
  text(index: number): string;
}

export function NumberTable({ reading, axes, values, text }: NumbersProps) {
  const [rows, columns] = axes.length === 2 ? [axes[0]!, axes[1]!] : [axes[0]!, null];
  const [top, setTop] = useState(0);
  const [left, setLeft] = useState(0);
  const isMean = reading.reduced === "mean";
  const say = useMemo(() => (at: number) => (isMean ? value(values[at]!) : shownText(reading, text(at))), [text]);
  const copied = (at: number) => (Number.isNaN(values[at]!) ? "" : text(at));
  const across = columns?.size ?? 1;
  const shown = { rows: span(top, ROWS, rows.size), columns: span(left, COLUMNS, across) };
  const [range, setRange] = useState<Range | null>(null);
  const [said, tell] = useState("");
  const table = useId();
  const isIn =
    range !== null &&
    holds({ from: [shown.rows[0]!, shown.columns[0]!], to: [shown.rows.at(-1)!, shown.columns.at(-1)!] }, ...range.to);
  const choose = (next: Range | null) => {
    setRange(next);
    tell("");
  };
  const copy = async (sort: "csv" | "tabs") => {
    if (range === null) return;
    const part = cut(range, axes);
    const cells = part.places.map(copied);
    const csv = csvOf(reading, part.axes, cells);
    const [height, width] = spansOf(range).map(([from, to]) => to - from + 1) as [number, number];
    const lines = Array.from({ length: height }, (_, row) => cells.slice(row * width, (row + 1) * width).join("\t"));
    const isDone = await toClipboard(sort === "csv" ? csv : lines.join("\n"));
    tell(isDone ? `${counted(height * width, "cell")} copied` : "The browser refused to copy them");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "c" && range !== null) void copy("tabs");
    else if (event.key === "Escape" && range !== null) choose(null);
    else {
      const next = stepped(
        isIn ? range : null,
        event.key,
        event.shiftKey,
        [shown.rows[0]!, shown.columns[0]!],
        [shown.rows.at(-1)!, shown.columns.at(-1)!],
      );
      if (next === null) return;
      choose(next);
      (event.currentTarget as HTMLElement)
        .querySelector(`[id="${cellId(table, next.to)}"]`)
        ?.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    event.preventDefault();
  };
  const cellUnder = (event: Event): [number, number] | null => {
    const place = (event.target as HTMLElement).closest<HTMLElement>("td")?.dataset["cell"]?.split(" ").map(Number);
    return place ? [place[0]!, place[1]!] : null;
  };
  return (
    <>
      {cellWords(reading) && (
        <p class="caption" role="note">
          Each cell is the {cellWords(reading)} values, not one value: choose a smaller part to see each.
        </p>
      )}
      {reading.is_complex && (
        <p class="caption" role="note">
          Each cell is the magnitude of a complex value.
        </p>
      )}
      <Pages name="rows" start={top} step={ROWS} size={rows.size} move={setTop} />
      <Pages name="columns" start={left} step={COLUMNS} size={across} move={setLeft} />
      <CopyCells
        head={[
          columns ? `${rows.name} \\ ${columns.name}` : rows.name,
          ...(columns === null ? ["Value"] : shown.columns.map((at) => placeOf(columns, at))),
        ]}
        rows={() =>
          shown.rows.map((row) => [placeOf(rows, row), ...shown.columns.map((column) => copied(row * across + column))])
        }
      />
      <RangeCopied range={range} axes={axes} said={said} copy={(sort) => void copy(sort)} clear={() => choose(null)} />
      <div class="scrolled" role="region" aria-label="Table">
        <table
          class="texts numbers"
          role="grid"
          tabIndex={0}
          aria-label={`Values of ${reading.name}: arrow keys move to a cell, Shift and arrow keys draw a range, Control and C copy it`}
          aria-multiselectable
          aria-activedescendant={range && isIn ? cellId(table, range.to) : undefined}
          onKeyDown={onKeyDown}
          onPointerDown={(event) => {
            const at = event.button === 0 ? cellUnder(event) : null;
            if (at === null) return;
            choose({ from: event.shiftKey && range ? range.from : at, to: at });
            event.currentTarget.focus({ preventScroll: true });
            event.preventDefault(); // which would mark the text
          }}
          onPointerMove={(event) => {
            const at = event.buttons === 1 && range ? cellUnder(event) : null;
            if (at !== null && at.join() !== range!.to.join()) choose({ from: range!.from, to: at });
          }}
        >
          <thead>
            <tr>
              <th scope="col">{columns ? `${titleOf(rows)} \\ ${titleOf(columns)}` : titleOf(rows)}</th>
              {columns === null ? (
                <th scope="col" class="number">
                  Value
                </th>
              ) : (
                shown.columns.map((at) => (
                  <th key={at} scope="col" class="number">
                    {placeOf(columns, at)}
                  </th>
                ))
              )}
            </tr>
          </thead>
          <tbody>
            {shown.rows.map((row) => (
              <NumberRow
                key={row}
                table={table}
                row={row}
                place={placeOf(rows, row)}
                columns={shown.columns}
                values={values}
                across={across}
                say={say}
                chosen={chosenOf(range, row)}
              />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

interface NumberRowProps {
  /** Id of the table. */
  table: string;
  row: number;
  place: string;
  columns: number[];
  values: Float64Array;
  /** Columns of `values`. */
  across: number;
  say(at: number): string;
  /** The first and the last column that is chosen in this row. */
  chosen: [number, number] | null;
}

/** A row; it is drawn again only if its own cells change, since a drag passes many of 8,000 cells. */
function NumberRow({ table, row, place, columns, values, across, say, chosen }: NumberRowProps) {
  const [first, last] = chosen ?? [-1, -1];
  return useMemo(
    () => (
      <tr>
        <th scope="row">{place}</th>
        {columns.map((column) => {
          const at = row * across + column;
          const number = values[at]!;
          const isChosen = column >= first && column <= last;
          return (
            <td
              key={column}
              role="gridcell"
              id={cellId(table, [row, column])}
              data-cell={`${row} ${column}`}
              aria-selected={isChosen}
              class={["number", Number.isNaN(number) ? "absent" : "", isChosen ? "chosen" : ""].join(" ")}
            >
              {say(at)}
            </td>
          );
        })}
      </tr>
    ),
    [table, row, place, columns[0], columns.length, values, across, say, first, last],
  );
}

function chosenOf(range: Range | null, row: number): [number, number] | null {
  if (range === null) return null;
  const [[top, bottom], columns] = spansOf(range);
  return row >= top && row <= bottom ? columns : null;
}

function cellId(table: string, [row, column]: [number, number]): string {
  return `${table}-${row}-${column}`;
}

interface RangeProps {
  range: Range | null;
  axes: Axis[];
  said: string;
  copy(sort: "csv" | "tabs"): void;
  clear(): void;
}

/** Which cells are chosen, and the ways to take them. */
function RangeCopied({ range, axes, said, copy, clear }: RangeProps) {
  if (range === null)
    return <p class="pages quiet">Drag over cells, or hold Shift with the arrow keys, to choose a range to copy.</p>;
  const spans = spansOf(range);
  const size = spans
    .map(([from, to]) => count(to - from + 1))
    .slice(0, axes.length)
    .join(" × ");
  const where = axes
    .map(
      (axis, side) =>
        `${axis.name} ${placeOf(axis, spans[side]![0])}${spans[side]![0] === spans[side]![1] ? "" : ` to ${placeOf(axis, spans[side]![1])}`}`,
    )
    .join(", ");
  return (
    <p class="pages quiet" role="group" aria-label="Chosen cells">
      <span>
        {size} cells: {where}
      </span>
      <Button text="Copy as CSV" title="With coordinates and a header row" onClick={() => copy("csv")} />
      <Button text="Copy the values" title="Only the values, separated by tabs (Ctrl+C)" onClick={() => copy("tabs")} />
      <Button text="Clear" onClick={clear} />
      <span role="status">{said}</span>
    </p>
  );
}

/** Copies the rows and columns that are shown, in a form for spreadsheets. */
function CopyCells({ head, rows }: { head: string[]; rows(): string[][] }) {
  const [said, run] = useSaid();
  const copy = async () => {
    const copied = rows();
    const text = [head, ...copied].map((cells) => cells.join("\t")).join("\n");
    return (await toClipboard(text)) ? `${counted(copied.length, "row")} copied` : "The browser refused to copy them";
  };
  return (
    <p class="pages quiet">
      <Button text="Copy these cells" title="With coordinates, separated by tabs" onClick={() => void run(copy)} />
      <span role="status">{said}</span>
    </p>
  );
}

export function TextTable({ reading }: { reading: ReadingModel }) {
  const texts = reading.texts ?? [];
  const total = reading.shape.reduce((product, size) => product * size, 1);
  const axes = layout(reading, []);
  const named = [...axes.stepped, ...axes.drawn].sort((a, b) => a.dimension - b.dimension);
  return (
    <>
      <DataTable
        class="texts"
        rows={texts.map((_, index) => ({ index }))}
        of={({ index }) => String(index)}
        columns={[
          ...named.map(({ name }, i) => ({
            head: name,
            class: "number",
            cell: ({ index }: { index: number }) => placesIn(named, index)[i],
          })),
          { head: "Value", cell: ({ index }: { index: number }) => texts[index] },
        ]}
      />
      {texts.length < total && (
        <p class="quiet">
          The first {count(texts.length)} of {count(total)} values.
        </p>
      )}
    </>
  );
}

/** Where a value of C order is along each dimension. */
function placesIn(axes: Axis[], index: number): string[] {
  let left = index;
  return axes
    .toReversed()
    .map((axis) => {
      const at = left % axis.size;
      left = Math.floor(left / axis.size);
      return placeOf(axis, at);
    })
    .reverse();
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
      <Button
        text="‹"
        aria-label={`Previous ${name}`}
        disabled={start === 0}
        onClick={() => move(Math.max(0, start - step))}
      />
      <Button text="›" aria-label={`Next ${name}`} disabled={last === size} onClick={() => move(start + step)} />
      <span role="status">
        {name} {count(start + 1)} to {count(last)} of {count(size)}
      </span>
    </p>
  );
}

/** Indices of a page; of the first one where another array has no such page. */
function span(start: number, step: number, size: number): number[] {
  const from = start < size ? start : 0;
  return Array.from({ length: Math.min(step, size - from) }, (_, at) => from + at);
}
