/** Several lines in one plot: the rows of a picture, or profiles that were kept. */

import { useLayoutEffect, useRef } from "preact/hooks";

import { useWidth } from "../../shared/width.ts";
import { lineColours, lines, type Look } from "../plot.ts";
import type { Axis } from "../slices.ts";
import type { Line } from "./rows.ts";

interface Props {
  lines: Line[];
  axis: Axis;
  look: Look;
  /** What the plot is of, for who does not see it. */
  label: string;
}

export function Lines({ lines: drawn, axis, look, label }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  useLayoutEffect(() => {
    if (width > 0) box.current!.replaceChildren(lines(drawn, axis, { ...look, width }));
  }, [drawn, width, look.domain.join(), axis]);
  const colours = lineColours(drawn.length);
  return (
    <figure class="lines" aria-label={label}>
      <div class="figure" ref={box} />
      <ul class="flags" aria-label="Lines">
        {drawn.map(({ name }, i) => (
          <li key={name}>
            <span class="swatch" style={{ background: colours[i] }} /> {name}
          </li>
        ))}
      </ul>
    </figure>
  );
}
