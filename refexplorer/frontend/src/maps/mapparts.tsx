/** Small pieces of the maps and the preview: choices, the entries of a legend, zooming. */

import { useLayoutEffect, useRef } from "preact/hooks";

import { useAppearance } from "./board.tsx";
import { Button } from "../shared/parts.tsx";
import { cross, fill, hatching, inksOf, type Ink } from "../shared/palette.ts";

const SWATCH = 14;

/** A colour with its pattern; what stands for nothing, or for a chunk that failed. */
type Mark = Ink | "nothing" | "failed";

function Swatch({ mark }: { mark: Mark }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const appearance = useAppearance(canvas);
  useLayoutEffect(() => {
    const context = canvas.current!.getContext("2d")!;
    const inks = inksOf(canvas.current!.parentElement!);
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    if (mark === "failed") return cross(context, inks, [0, 0, SWATCH, SWATCH]);
    context.fillStyle = mark === "nothing" ? hatching(context, inks) : fill(context, mark, inks);
    context.fillRect(0, 0, SWATCH, SWATCH);
  }, [appearance, JSON.stringify(mark)]);
  const side = SWATCH * devicePixelRatio;
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a canvas takes the focus only with a tabIndex, which this has not
  return <canvas class="swatch" ref={canvas} width={side} height={side} aria-hidden="true" />;
}

export interface LegendEntry {
  name: string;
  /** Longer than the name, where the name is cut. */
  title?: string;
  mark: Mark;
}

const NAMED = 21;

export function Entries({ label, entries }: { label: string; entries: LegendEntry[] }) {
  return (
    <ul class="entries" aria-label={label}>
      {entries.slice(0, NAMED).map(({ name, title, mark }) => (
        <li key={name} title={title ?? name}>
          <Swatch mark={mark} /> <span>{name}</span>
        </li>
      ))}
      {entries.length > NAMED && <li class="quiet">and {entries.length - NAMED} more</li>}
    </ul>
  );
}

interface ZoomProps {
  whole: string;
  zoom(by: number): void;
  reset(): void;
  deepest: boolean;
  widest: boolean;
}

export function Zoom({ whole, zoom, reset, deepest, widest }: ZoomProps) {
  return (
    <span class="zoom" role="group" aria-label="Zoom">
      <Button text="+" aria-label="Zoom in" disabled={deepest} onClick={() => zoom(0.5)} />
      <Button text="−" aria-label="Zoom out" disabled={widest} onClick={() => zoom(2)} />
      <Button text={whole} disabled={widest} onClick={reset} />
    </span>
  );
}

/** A window of another size around a place, kept inside `[0, end)`. */
export function zoomed([start, stop]: [number, number], by: number, at: number, end: number): [number, number] {
  const size = Math.max(1, Math.min(end, Math.round((stop - start) * by)));
  const share = (at - start) / (stop - start);
  const from = Math.max(0, Math.min(end - size, Math.round(at - share * size)));
  return [from, from + size];
}

interface ChoiceProps {
  label: string;
  value: string;
  /** Values with their names, or alone where they are their names. */
  options: readonly (string | readonly [string, string])[];
  choose(value: string): void;
}

export function Choice({ label, value, options, choose }: ChoiceProps) {
  return (
    <label class="choice">
      <span>{label}</span>
      <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {options.map((each) => {
          const [option, name] = typeof each === "string" ? [each, each] : each;
          return (
            <option key={option} value={option}>
              {name}
            </option>
          );
        })}
      </select>
    </label>
  );
}
