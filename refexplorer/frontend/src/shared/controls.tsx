/** Controls that several views have: choices, fields, forms, zooming. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { Button, Sentence } from "./parts.tsx";

/** Values with their names, or alone where they are their names; some below a heading. */
export type Options = readonly Option[];
type Option = string | readonly [value: string, name: string] | { label: string; options: Options };

interface SelectProps {
  class?: string;
  title?: string;
  "aria-label"?: string;
  value?: string;
  options: Options;
  choose(value: string): void;
  /** What a list shows whose entries are actions. */
  first?: string;
}

export function Select({ value = "", options, choose, first, ...others }: SelectProps) {
  return (
    <select
      {...others}
      value={value}
      onChange={(event) => {
        const chosen = event.currentTarget.value;
        if (first !== undefined) event.currentTarget.value = "";
        choose(chosen);
      }}
    >
      {first !== undefined && (
        <option value="" disabled>
          {first}
        </option>
      )}
      {options.map(optionOf)}
    </select>
  );
}

function optionOf(option: Option) {
  if (typeof option === "object" && "label" in option)
    return (
      <optgroup key={option.label} label={option.label}>
        {option.options.map(optionOf)}
      </optgroup>
    );
  const [value, name] = typeof option === "string" ? [option, option] : option;
  return (
    <option key={value} value={value}>
      {name}
    </option>
  );
}

export function Choice({ label, ...others }: SelectProps & { label: string }) {
  return (
    <label class="choice">
      <span>{label}</span>
      <Select {...others} />
    </label>
  );
}

/** Paths of arrays, with the one that is chosen, as they are listed. */
export function arrayOptions(paths: string[], chosen = paths[0] ?? ""): Options {
  return (paths.includes(chosen) ? paths : [chosen, ...paths]).map((path) => [path, path || "/"]);
}

interface TogglesProps<V> {
  label: string;
  options: readonly (readonly [value: V, name: string, title?: string])[];
  value: V;
  choose(value: V): void;
  class?: string;
}

/** Buttons of which one is pressed. */
export function Toggles<V extends string | boolean>({ label, options, value, choose, ...others }: TogglesProps<V>) {
  return (
    <span class={`zoom ${others.class ?? ""}`} role="group" aria-label={label}>
      {options.map(([each, text, title]) => (
        <Button
          key={text}
          text={text}
          {...(title ? { title } : {})}
          aria-pressed={each === value}
          onClick={() => choose(each)}
        />
      ))}
    </span>
  );
}

interface ZoomProps {
  label?: string;
  /** What is seen without zooming. */
  whole: string;
  /** Where the keys zoom as well: what the wheel zooms when it has the focus. */
  keys?: string;
  /** 1 for larger, -1 for smaller. */
  zoom(by: 1 | -1): void;
  reset(): void;
  deepest?: boolean;
  widest?: boolean;
  children?: ComponentChildren;
}

export function Zoom({
  label = "Zoom",
  whole,
  keys,
  zoom,
  reset,
  deepest = false,
  widest = false,
  children,
}: ZoomProps) {
  const [larger, smaller, all] = [
    `Zoom in (+${keys && `, or the wheel when ${keys} has the focus`})`,
    "Zoom out (-)",
    `${whole} (0)`,
  ];
  const title = (text: string) => (keys === undefined ? {} : { title: text });
  return (
    <span class="zoom" role="group" aria-label={label}>
      <Button text="+" aria-label="Zoom in" {...title(larger)} disabled={deepest} onClick={() => zoom(1)} />
      <Button text="−" aria-label="Zoom out" {...title(smaller)} disabled={widest} onClick={() => zoom(-1)} />
      <Button text={whole} {...title(all)} disabled={widest} onClick={reset} />
      {children}
    </span>
  );
}

interface FieldProps {
  class?: string;
  title?: string;
  placeholder?: string;
  inputMode?: "decimal";
  "aria-label"?: string;
}

/** A field whose text counts once it is done; it keeps what is being written until another text is set. */
export function DraftField({ text, set, least, ...others }: FieldProps & DraftProps) {
  const [draft, setDraft] = useState(text);
  useEffect(() => setDraft(text), [text]);
  const style = least === undefined ? {} : { style: { width: `${Math.max(least, draft.length) + 2}ch` } };
  return (
    <input
      type="text"
      spellcheck={false}
      {...style}
      {...others}
      value={draft}
      onInput={(event) => setDraft(event.currentTarget.value)}
      onChange={() => set(draft)}
    />
  );
}

interface DraftProps {
  text: string;
  set(text: string): void;
  /** Characters of the narrowest one; it grows with what is typed in. */
  least?: number;
}

interface AskProps extends FieldProps {
  /** Of the form. */
  box: string;
  /** A visible name of the field. */
  label?: string;
  /** What the field begins with. */
  start?: string;
  button?: string;
  /** Whether the button is the main one. */
  main?: boolean;
  /** Whether what was sent before is not done yet; left out, the main button waits for a text. */
  busy?: boolean;
  /** Whether an empty text is an answer, too. */
  isOptional?: boolean;
  go(text: string): void;
  typed?(): void;
  type?: "search" | "text";
  children?: ComponentChildren;
}

/** A field with a button: what is typed counts once it is sent. */
export function AskForm({
  box,
  label,
  start = "",
  button,
  main = false,
  busy,
  isOptional = false,
  go,
  typed,
  children,
  ...others
}: AskProps) {
  const [text, setText] = useState(start);
  useEffect(() => {
    if (start !== "" || isOptional) setText(start);
  }, [start]);
  const field = (
    <input
      class="field"
      spellcheck={false}
      {...(others as object)}
      value={text}
      onInput={(event) => {
        setText(event.currentTarget.value);
        typed?.();
      }}
    />
  );
  return (
    <form
      class={box}
      onSubmit={(event) => {
        event.preventDefault();
        if (isOptional || text.trim() !== "") go(text.trim());
      }}
    >
      {label === undefined ? (
        field
      ) : (
        // biome-ignore lint/a11y/noLabelWithoutControl: the field is the control
        <label>
          <span>{label}</span> {field}
        </label>
      )}
      {button !== undefined && (
        <Button main={main} type="submit" text={button} disabled={busy ?? (main && text.trim() === "")} />
      )}
      {children}
    </form>
  );
}

interface FileProps {
  label: string;
  disabled?: boolean;
  choose(file: File): void;
}

interface StepperProps {
  label: string;
  /** Where it is, among so many places from the first on. */
  value: number;
  min?: number;
  max: number;
  text: string;
  move(to: number): void;
}

/** A slider with its name, and where it is in words. */
export function Stepper({ label, value, min = 0, max, text, move }: StepperProps) {
  return (
    <label class="stepper">
      <span>{label}</span>
      <input
        type="range"
        min={min}
        max={max}
        value={value}
        aria-valuetext={text}
        onInput={(event) => move(Number(event.currentTarget.value))}
      />
      <output>{text}</output>
    </label>
  );
}

/** A button that lets a person choose a file, also by the keyboard. */
export function FileButton({ label, disabled, choose }: FileProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button text="Choose a file" disabled={disabled} onClick={() => input.current!.click()} />
      <input
        ref={input}
        type="file"
        hidden
        aria-label={label}
        onChange={({ currentTarget }) => {
          const file = currentTarget.files?.[0];
          if (file) choose(file);
          currentTarget.value = "";
        }}
      />
    </>
  );
}

/** Sentences one below the other. */
export function Sentences({ of, class: look, label }: { of: readonly string[]; class?: string; label?: string }) {
  if (of.length === 0) return null;
  return (
    <ul class={look} aria-label={label}>
      {of.map((text) => (
        <li key={text}>
          <Sentence text={text} />
        </li>
      ))}
    </ul>
  );
}

interface Column<R> {
  /** A text, or a control that sorts by it. */
  head: ComponentChildren;
  cell(row: R): ComponentChildren;
  class?: string | undefined;
  sorted?: "ascending" | "descending" | undefined;
}

interface TableProps<R> {
  label?: string;
  class?: string;
  /** The first one names the row. */
  columns: Column<R>[];
  rows: readonly R[];
  of(row: R): string;
}

export function DataTable<R>({ label, class: look, columns, rows, of }: TableProps<R>) {
  return (
    <table class={look} aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ head, class: own, sorted }, i) => (
            <th key={i} scope="col" class={own} aria-sort={sorted}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={of(row)}>
            {columns.map(({ cell, class: own }, i) =>
              i === 0 ? (
                <th key={i} scope="row" class={own}>
                  {cell(row)}
                </th>
              ) : (
                <td key={i} class={own}>
                  {cell(row)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Which way rows are sorted, for the reader and in a sign; null where they are not sorted by this. */
export function Order({ descends }: { descends: boolean | null }) {
  return descends === null ? null : <span aria-hidden="true"> {descends ? "▾" : "▴"}</span>;
}
