/** A map: Plot draws frame and axes, a canvas over them the many cells; one stop for the keyboard. */

import * as Plot from "@observablehq/plot";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { inksOf, type Inks } from "../shared/palette.ts";
import { pointIn, useWidth } from "../shared/pointing.ts";

/** From values to pixels of the figure. */
export interface Frame {
  x(value: number): number;
  y(value: number): number;
  inks: Inks;
}

interface Props {
  label: string;
  /** Of the figure, for the width that there is. */
  options(width: number): Plot.PlotOptions;
  paint(context: CanvasRenderingContext2D, frame: Frame): void;
  /** Where the pointer is, in values of the axes; null when it leaves. */
  point(at: [number, number] | null): void;
  pick(): void;
  onKeyDown(event: KeyboardEvent): void;
  readout: ComponentChildren;
}

type Plotted = SVGSVGElement & Plot.Plot;

export function Board({ label, options, paint, point, pick, onKeyDown, readout }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<Plotted | null>(null);
  const width = useWidth(box);
  const appearance = useAppearance(box);

  useLayoutEffect(() => {
    if (width === 0) return;
    plot.current = Plot.plot(options(width)) as Plotted;
    const canvas = document.createElement("canvas");
    draw(canvas, plot.current, box.current!, paint);
    // What they show is said below the picture, cell by cell.
    for (const part of [plot.current, canvas]) part.setAttribute("aria-hidden", "true");
    box.current!.replaceChildren(plot.current, canvas);
  }, [width, appearance, options, paint]);

  return (
    <div class="board">
      <div
        class="figure map"
        ref={box}
        role="application"
        tabIndex={0}
        aria-label={label}
        onPointerMove={(event) => point(valueAt(plot.current, ...pointIn(box, event)))}
        onPointerLeave={() => point(null)}
        onClick={pick}
        onKeyDown={onKeyDown}
      />
      <p class="readout" role="status">
        {readout}
      </p>
    </div>
  );
}

function draw(canvas: HTMLCanvasElement, plot: Plotted, box: HTMLElement, paint: Props["paint"]): void {
  const [width, height] = [Number(plot.getAttribute("width")), Number(plot.getAttribute("height"))];
  canvas.width = width * devicePixelRatio;
  canvas.height = height * devicePixelRatio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d")!;
  context.scale(devicePixelRatio, devicePixelRatio);
  const scale = (name: "x" | "y") => (value: number) => Number(plot.scale(name)!.apply(value));
  paint(context, { x: scale("x"), y: scale("y"), inks: inksOf(box) });
}

function valueAt(plot: Plotted | null, x: number, y: number): [number, number] | null {
  if (plot === null) return null;
  return [Number(plot.scale("x")!.invert!(x)), Number(plot.scale("y")!.invert!(y))];
}

/** Changes with everything that a canvas depends on: the theme, its contrast, whether colours are few. */
export function useAppearance(element: { current: Element | null }): string {
  const [appearance, setAppearance] = useState("");
  useEffect(() => {
    const view = element.current!.closest<HTMLElement>(".rx")!;
    const tell = () => setAppearance(LOOKS.map((name) => view.getAttribute(name) ?? "").join(" "));
    const observer = new MutationObserver(tell);
    observer.observe(view, { attributes: true, attributeFilter: LOOKS });
    tell();
    return () => observer.disconnect();
  }, []);
  return appearance;
}

const LOOKS = ["data-theme", "data-contrast", "data-colours"];
