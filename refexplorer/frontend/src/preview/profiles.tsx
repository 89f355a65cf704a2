/** The values through points of a picture, along each dimension that was read: several in one plot. */

import { useLayoutEffect, useRef } from "preact/hooks";

import { Entries } from "../maps/legend.tsx";
import { Button } from "../shared/parts.tsx";
import { counted } from "../shared/format.ts";
import { useWidth } from "../shared/pointing.ts";
import { lineColours, lines, type Look } from "./plot.ts";
import { type Axis, placeOf } from "./slices.ts";
import { type Kept, type Line, linesAcross, linesAlong, MOST_KEPT, type Profile } from "./profiles.ts";

interface Props {
  axes: [Axis, Axis];
  profiles: Profile[];
  values: Float64Array;
  /** The dimensions of which the picture shows one place each, that place, and all that was read. */
  stepped: Axis[];
  steps: number[];
  all: Float64Array;
  shape: number[];
  look: Look;
  keep(): void;
  /** Lets a point go; null all of them. */
  remove(kept: Kept | null): void;
}

const HEIGHT = 130;

export function Profiles({ axes, profiles, values, stepped, steps, all, shape, look, keep, remove }: Props) {
  const kept = profiles.flatMap((each) => (each.kept === null ? [] : [each.kept]));
  const isNew = profiles.length > kept.length;
  return (
    <>
      <div class="profiles">
        {([1, 0] as const).map((side) => (
          <Along
            key={axes[side].dimension}
            axis={axes[side]}
            at={profiles.length === 1 ? placeIn(axes, 1 - side, profiles[0]!) : null}
            lines={linesAlong(side, profiles, axes, values)}
            of={[values]}
            look={look}
          />
        ))}
        {stepped.map((axis) => (
          <Along
            key={axis.dimension}
            axis={axis}
            at={null}
            lines={linesAcross(axis, profiles, axes, all, shape, steps)}
            of={[all, steps.join()]}
            look={look}
          />
        ))}
      </div>
      <ul class="flags" aria-label="Profiles">
        {profiles.map(({ name, colour, kept: own }) => (
          <li key={name}>
            <span class="swatch" style={{ background: colour }} /> {name}{" "}
            {own !== null && (
              <Button text="remove" link aria-label={`Remove the profile at ${name}`} onClick={() => remove(own)} />
            )}
          </li>
        ))}
      </ul>
      <p class="pages">
        {isNew && (
          <Button
            text="Keep this profile"
            disabled={kept.length >= MOST_KEPT}
            title={
              kept.length >= MOST_KEPT
                ? `${MOST_KEPT} profiles are kept; there are no more distinct colours`
                : "Compare it with others, in this slice and the next ones (p)"
            }
            onClick={keep}
          />
        )}
        {kept.length > 1 && <Button text="Remove all" onClick={() => remove(null)} />}
        <span class="quiet" role="status">
          {kept.length > 0 && `${counted(kept.length, "profile")} kept, drawn for the current slice`}
        </span>
      </p>
    </>
  );
}

interface AlongProps extends Pick<Props, "look"> {
  axis: Axis;
  /** Where the only point is outside this axis; null for several. */
  at: string | null;
  lines: Line[];
  /** What the lines are taken from: they are drawn again when it is another. */
  of: unknown[];
}

function Along({ axis, at, lines: found, of, look }: AlongProps) {
  const box = useDrawnLines(found, axis, { ...look, height: HEIGHT }, of);
  const through = at ?? `through ${counted(found.length, "point")}`;
  return (
    <figure aria-label={`Along ${axis.name} ${through}: ${numbersOf(found)}`}>
      <figcaption class="caption">
        along {axis.name} {through}
      </figcaption>
      <div class="figure" ref={box} />
    </figure>
  );
}

/** The element that holds a plot of lines, drawn again with what they are taken from. */
function useDrawnLines(drawn: Line[], axis: Axis, look: Look, of: unknown[]) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const names = drawn.map(({ name, colour }) => `${name} ${colour}`).join();
  useLayoutEffect(() => {
    if (width > 0) box.current!.replaceChildren(lines(drawn, axis, { ...look, width }));
  }, [...of, width, look.domain.join(), axis.name, axis.first, axis.size, names]);
  return box;
}

function placeIn(axes: [Axis, Axis], side: number, { at }: Profile): string {
  return `at ${axes[side]!.name} ${placeOf(axes[side]!, at[side]!)}`;
}

function numbersOf(found: Line[]): string {
  return `${found.reduce((sum, { values }) => sum + values.filter((value) => !Number.isNaN(value)).length, 0)} values`;
}

interface LinesProps {
  lines: Line[];
  axis: Axis;
  look: Look;
  /** A description of the plot, for screen readers. */
  label: string;
}

export function Lines({ lines: drawn, axis, look, label }: LinesProps) {
  const box = useDrawnLines(drawn, axis, look, [drawn, axis]);
  const entries = lineColours(drawn.length).map((colour, i) => ({
    name: drawn[i]!.name,
    mark: { colour, pattern: 0 },
  }));
  return (
    <figure class="lines" aria-label={label}>
      <div class="figure" ref={box} />
      <Entries label="Lines" entries={entries} />
    </figure>
  );
}
