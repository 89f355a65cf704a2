/** What the colours of chunks stand for. */

import { useLayoutEffect, useRef } from "preact/hooks";

import { bytes, count, fileName, KIND_NAMES } from "../shared/format.ts";
import type { Kind } from "../shared/wire.ts";
import { type By, FAILED, targetName } from "./cells.ts";
import { domainOf, ramp } from "./chunkboard.tsx";
import { useAppearance } from "./board.tsx";
import type { GridPicture, Span } from "./maps.ts";
import { cross, fill, hatching, type Ink, inksOf, kindInk, series } from "../shared/palette.ts";
import { changeInk, changesShown } from "./changecells.ts";
import type { ChangePicture } from "../compare/comparison.ts";

const SWATCH = 14;

/** A colour with its pattern; also those of nothing and of a chunk that failed. */
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
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a canvas gets the focus only with a tabIndex, which this one does not have
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

export function absence(grid: GridPicture): LegendEntry[] {
  const failed = Number(grid.counts[grid.states.indexOf(FAILED)]) > 0;
  return [
    ...(Number(grid.counts[0]) > 0 ? [{ name: "no reference", mark: "nothing" as const }] : []),
    ...(failed ? [{ name: "rejected or failed", mark: "failed" as const }] : []),
  ];
}

export function Legend({ grid, by }: { grid: GridPicture; by: By }) {
  const absent = absence(grid);
  if (by === "size" || by === "offset") {
    return (
      <>
        <Ramp domain={domainOf(grid, by)} label={by === "size" ? "size" : "offset"} />
        <Entries label="Legend" entries={[...without(grid, by), ...absent]} />
      </>
    );
  }
  const entries = by === "kind" ? kinds(grid) : [...grid.targets.map(targetEntry), ...inlineEntries(grid)];
  return <Entries label="Legend" entries={[...entries, ...absent]} />;
}

/** Chunks that have a reference but not what is shown of it. */
function without({ states, counts }: GridPicture, by: By): LegendEntry[] {
  const lacking = by === "size" ? /^url$/ : /^(inline|base64|url)$/;
  const some = states.some((state, i) => lacking.test(state) && Number(counts[i]) > 0);
  return some ? [{ name: by === "size" ? "size not known" : "no offset", mark: series(-1) }] : [];
}

function kinds({ states, counts }: GridPicture): LegendEntry[] {
  return states.flatMap((state, i) => {
    if (state === "absent" || state === FAILED || Number(counts[i]) === 0) return [];
    const name = `${state[0]!.toUpperCase()} ${KIND_NAMES[state as Kind]}`;
    return [{ name, mark: kindInk(state as Kind) }];
  });
}

export function targetEntry({ url, number }: GridPicture["targets"][number]): LegendEntry {
  return { name: url === null ? targetName(url) : fileName(url), title: targetName(url), mark: series(number) };
}

/** What has its bytes in the set, and no file. */
export function inlineEntries({ states, counts }: GridPicture): LegendEntry[] {
  const some = states.some((state, i) => /inline|base64/.test(state) && Number(counts[i]) > 0);
  return some ? [{ name: "in the set itself", mark: series(-1) }] : [];
}

function Ramp({ domain, label }: { domain: Span | null; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    box.current!.replaceChildren(...(domain ? [ramp(domain, label)] : []));
  }, [domain?.join(), label]);
  const words = domain ? `Colours from ${bytes(domain[0])} to ${bytes(domain[1])}` : "Not known for any chunk";
  return <div class="legend" ref={box} role="img" aria-label={words} />;
}

export function ChangeLegend({ changes }: { changes: ChangePicture }) {
  const entries: LegendEntry[] = changesShown(changes).map(({ name, mark, words, chunks }) => ({
    name: `${mark} ${words}: ${count(chunks)}`,
    mark: changeInk(name),
  }));
  const chunks = changes.window.reduce((product, [start, stop]) => product * (Number(stop) - Number(start)), 1);
  const compared = changes.perChange.reduce((sum, n) => sum + n, 0);
  const neither =
    compared < chunks ? [{ name: `in neither set: ${count(chunks - compared)}`, mark: "nothing" as const }] : [];
  return <Entries label="Legend" entries={[...entries, ...neither]} />;
}
