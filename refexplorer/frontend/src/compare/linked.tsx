/** Pictures that zoom and move together, with one readout of all of them. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { placing, pixelsOf, tableOf, type Scheme } from "../preview/colours.ts";
import { cellsOf, heatmap, legend, line, type Figure, type Look } from "../preview/plot.ts";
import { placeOf, type Axis, moved, zoomed, type Window } from "../preview/slices.ts";
import { ARROWS, stepped, useDrag, useWidth, ZOOM, ZOOMS } from "../shared/pointing.ts";
import { ALL, type Shares } from "./sidebyside.ts";

/** What is between two pictures, px. */
export const GAP = 12;

export interface Drawn {
  title: string;
  /** A description of the contents, for screen readers. */
  label: string;
  axes: Axis[];
  /** Null where there is nothing to draw. */
  values: Float64Array | null;
  /** The value at a place, in words. */
  text(at: number): string;
  domain: [number, number];
  scheme: Scheme;
  times: boolean;
}

interface PicturesProps {
  drawn: Drawn[];
  /** Those that have a place of their own; of the others only the values are read out. */
  apart?: Drawn[];
  window: Shares;
  setWindow(window: Shares): void;
  /** The least width of a picture, px; without room they stand below each other. */
  least: number;
  /** What is said while nothing is pointed at. */
  hint: string;
  head(picture: Drawn): ComponentChildren;
  /** In place of a picture of which there is nothing to draw. */
  absent?(picture: Drawn): ComponentChildren;
  /** Above the pictures, which may draw some of them in its own way. */
  children?(draw: (picture: Drawn, width: number) => ComponentChildren, width: number): ComponentChildren;
}

export function LinkedPictures({ drawn, apart = drawn, least, window, setWindow, hint, ...props }: PicturesProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const [cursor, setCursor] = useState<number[] | null>(null);
  const columns = Math.max(1, Math.min(drawn.length, Math.floor((width + GAP) / (least + GAP))));
  const each = Math.floor((width - GAP * (columns - 1)) / columns);
  const draw = (picture: Drawn, wide: number) =>
    picture.axes.length === 0 ? (
      <p class="mono">{picture.text(0)}</p>
    ) : (
      <Linked picture={picture} width={wide} window={window} setWindow={setWindow} point={setCursor} />
    );
  return (
    <div ref={box}>
      {props.children?.(draw, width)}
      <div
        class="beside-pictures"
        style={{ gap: `${GAP}px`, gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))` }}
      >
        {width > 0 &&
          apart.map((picture) => (
            <div key={picture.title}>
              {props.head(picture)}
              {picture.values === null ? props.absent?.(picture) : draw(picture, each)}
            </div>
          ))}
      </div>
      {drawn.some(({ axes }) => axes.length > 0) && (
        <p class="readout" role="status">
          {cursor === null ? hint : readout(drawn, cursor)}
        </p>
      )}
    </div>
  );
}

interface LinkedProps extends Pick<PicturesProps, "window" | "setWindow"> {
  picture: Drawn;
  width: number;
  /** Takes where the cursor is, as shares of the rows and columns. */
  point(at: number[] | null): void;
}

function Linked({ picture, width, window, setWindow, point }: LinkedProps) {
  const { axes, domain, scheme, times, title, label } = picture;
  const values = picture.values!;
  const box = useRef<HTMLDivElement>(null);
  const bar = useRef<HTMLDivElement>(null);
  const figure = useRef<Figure | null>(null);
  const [at, setAt] = useState<number[] | null>(null);
  const pair = axes.length === 2 ? (axes as [Axis, Axis]) : null;
  const cells = useMemo(
    () => pair && cellsOf(pixelsOf(values, pair[1].size, pair[0].size, tableOf(scheme), placing("linear", domain))),
    [values, scheme, domain.join()],
  );
  const height = Math.round(Math.min(340, Math.max(190, width * 0.7)));
  const look: Look = { width, height, label: title, domain, scheme, scale: "linear", times, marked: [] };
  useLayoutEffect(() => {
    if (width <= 0) return;
    figure.current = pair ? heatmap(cells!, pair, look, windowOf(window, pair)) : line(values, axes[0]!, look);
    figure.current.element.setAttribute("aria-hidden", "true");
    box.current!.replaceChildren(figure.current.element);
    if (pair) bar.current?.replaceChildren(legend("", Math.min(220, width), look));
  }, [cells, values, width, window, domain.join()]);
  const go = (next: number[] | null) => {
    setAt(next);
    point(next?.map((cell, i) => (cell + 0.5) / axes[i]!.size) ?? null);
  };
  const drag = useDrag<Shares>(box, {
    begin: () => (figure.current?.share ? window : null),
    move(from, start, now) {
      const [before, after] = [figure.current!.share!(...start), figure.current!.share!(...now)];
      setWindow(moved(from, [before[0] - after[0], before[1] - after[1]]) as Shares);
    },
    hover: (to) => go(to && (figure.current?.locate(...to) ?? null)),
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const move = event.shiftKey && pair ? ARROWS[event.key] : undefined;
    const next = stepped(at, event.key, axes);
    const by = ZOOMS[event.key];
    if (move) setWindow(moved(window, [move[0] / 4, move[1] / 4]) as Shares);
    else if (next) go(next);
    else if (pair && by) setWindow(zoomed(window, ZOOM ** by, [0.5, 0.5]) as Shares);
    else if (pair && event.key === "0") setWindow(ALL);
    else return;
    event.preventDefault();
  };
  return (
    <>
      {pair && <div class="legend" ref={bar} aria-hidden="true" />}
      <div
        class="figure"
        ref={box}
        role="application"
        tabIndex={0}
        aria-label={`${label}; arrow keys read single values${pair ? "; plus and minus zoom all pictures, Shift and arrow keys move them" : ""}`}
        {...drag}
        onKeyDown={onKeyDown}
      />
    </>
  );
}

/** The window in the cells of a picture. */
function windowOf(shares: Shares, axes: [Axis, Axis]): Window {
  return shares.map(([from, to], i) => [from * axes[i]!.size, to * axes[i]!.size]) as Window;
}

/** The value of each picture at a place. */
function readout(drawn: Drawn[], shares: number[]): string {
  let before = "";
  const parts = drawn.map(({ axes, title, text, values }) => {
    if (axes.length !== shares.length || values === null) return `${title.toLowerCase()} none`;
    const places = shares.map((share, i) => Math.min(axes[i]!.size - 1, Math.floor(share * axes[i]!.size)));
    const flat = axes.length === 2 ? places[0]! * axes[1]!.size + places[1]! : places[0]!;
    const where = axes.map((axis, i) => `${axis.name} ${placeOf(axis, places[i]!)}`).join(", ");
    const said = `${where === before ? "" : `${where}: `}${title.toLowerCase()} ${text(flat)}`;
    before = where;
    return said;
  });
  return parts.join(" · ");
}
