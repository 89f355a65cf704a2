/** The chunks of an array as a map: what each refers to, how far, and what is missing. */

import { useEffect, useRef } from "preact/hooks";

import { count, counted } from "../shared/format.ts";
import { Blank } from "../shared/parts.tsx";
import { Pending, Waited } from "../shared/access.tsx";
import { arrayOptions, Choice, Stepper, Toggles, Zoom } from "../shared/controls.tsx";
import { useStore } from "../shared/store.ts";
import { fitting } from "./changecells.ts";
import { ChangeLegend, Legend } from "./legend.tsx";
import { LOOKS, placeOf, TELLING, type By } from "./cells.ts";
import { ChunkBoard } from "./chunkboard.tsx";
import { gridText, indices, isNarrowed, readSpans, zoomed, type GridPicture, type Span } from "./maps.ts";
import { WHOLE } from "../explorer/state.ts";
import { Data } from "../preview/data.tsx";
import type { ExplorerSession } from "../explorer/session.ts";
import type { ExplorerView } from "../explorer/view.ts";

export const VIEW: ExplorerView = {
  name: "chunks",
  Shown: Chunks,
  address: {
    map: {
      text: ({ maps }) => gridText(maps.state.grid),
      show(session, text) {
        const [axes, window, ...array] = text.split(";");
        const spans = readSpans(window ?? null);
        if (spans === null) return;
        session.set({ asGrid: true });
        session.maps.openGrid(array.join(";"), indices(axes ?? ""), spans);
      },
    },
  },
};

/** The picture of the array in the colours of its chunks, where it is drawn; else the grid of chunks. */
function Chunks({ session }: { session: ExplorerSession }) {
  const { asGrid: chosen, by } = useStore(session);
  useStore(session.preview);
  const n = session.chunksInPicture();
  const asGrid = chosen ?? n < TELLING;
  return (
    <>
      {n > 0 && (
        <div class="controls">
          <Toggles
            label="Show chunks"
            options={[
              [false, "On the picture"],
              [true, "As a grid"],
            ]}
            value={asGrid}
            choose={(next) => session.set({ asGrid: next })}
          />
          {!asGrid && (
            <Choice
              label="Colour by"
              value={by === null || by === "change" ? "target" : by}
              options={Object.entries(LOOKS).filter(([look]) => look !== "change")}
              choose={(look) => session.set({ by: look as By })}
            />
          )}
        </div>
      )}
      {n > 0 && !asGrid ? <Data session={session} /> : <ChunkGrid session={session} />}
    </>
  );
}

function ChunkGrid({ session }: { session: ExplorerSession }) {
  const { item, focus, by: chosen } = useStore(session);
  const { grid, gridError } = useStore(session.maps);
  const { changes, compared } = useStore(session.comparing);
  const looks = Object.entries(LOOKS).filter(([look]) => look !== "change" || changes !== null);
  const by = looks.some(([look]) => look === chosen) ? chosen! : changes ? "change" : "target";
  const wanted = item?.array?.path ?? null;
  // The window that an address asked for stays, whether or not the selected chunk is in it.
  const isLed = useRef(session.maps.isAsked);
  useEffect(() => {
    if (grid === undefined && session.maps.isAsked) return;
    if (grid === undefined || (wanted !== null && wanted !== grid?.array)) session.maps.showGrid(wanted);
    else if (grid && item?.chunk && !isLed.current && placeOf(grid, item.chunk.index.map(Number)) === null)
      session.maps.showGrid(grid.array, grid.axes);
    if (item !== null) isLed.current = false;
  }, [item]);
  useEffect(() => {
    if (grid) session.comparing.show(grid);
  }, [grid, changes === null, compared]);
  if (gridError !== null || grid === undefined) {
    const retry = () => session.maps.showGrid(wanted);
    return <Pending error={gridError} retry={retry} sentence="Counting the chunks …" waiting={session.maps.counting} />;
  }
  if (grid === null) return <Blank sentence="This set has no arrays, so there are no chunks to map." />;
  const { array, axes, window } = grid;
  const redraw = (spans: Span[] | null, drawn = axes) => session.maps.showGrid(array, drawn, spans);
  const selected = item?.chunk?.array === array ? item.chunk.index.map(Number) : null;
  return (
    <>
      <Waited waiting={session.maps.counting} />
      <Waited waiting={session.comparing.drawing} />
      <Heading grid={grid} alone={session.part !== WHOLE || grid.array !== wanted} />
      <Controls session={session} grid={grid} by={by} looks={looks} />
      {grid.rows * grid.columns === 0 ? (
        <Blank sentence={`${array || "/"} has a dimension of length 0, so it has no chunks.`} />
      ) : (
        <>
          <Others grid={grid} redraw={redraw} />
          <ChunkBoard
            key={array}
            picture={grid}
            by={by}
            changes={changes && fitting(changes, grid)}
            selected={selected}
            only={focus?.by === "state" && [null, array].includes(focus.array) ? focus.state : null}
            select={(key) => session.run(session.reveal(key))}
            zoomTo={(spans) => redraw(deeper(grid, spans, window))}
          />
          {by === "change" ? changes && <ChangeLegend changes={changes} /> : <Legend grid={grid} by={by} />}
        </>
      )}
    </>
  );
}

/** The window of a cell, widened to a hundred chunks or so: a single one says too little. */
function deeper({ axes, grid }: GridPicture, spans: Span[], window: Span[]): Span[] {
  return window.map((span, dimension) => {
    if (!axes.includes(dimension)) return spans[dimension]!;
    const [start, stop] = spans[dimension]!;
    const size = Math.min(span[1] - span[0], Math.max(stop - start, 60));
    return zoomed([start, stop], size / (stop - start), (start + stop) / 2, Number(grid[dimension]));
  });
}

function Heading({ grid, alone }: { grid: GridPicture; alone: boolean }) {
  const total = grid.window.reduce((product, [start, stop]) => product * (stop - start), 1);
  const absent = Number(grid.counts[0]);
  const size = grid.grid.map((n, i) => (named(grid, i) ? `${grid.dimensions[i]} ` : "") + count(n)).join(" × ");
  const part = isNarrowed(grid);
  const parts = [
    size === "" ? "a single chunk" : `${size} chunks`,
    part ? `${count(total)} of them in view` : "",
    grid.sampled ? "one chunk of each cell was examined" : "",
    !grid.sampled && total > 0 && absent === total ? "none of them has a reference" : "",
    !grid.sampled && absent > 0 && absent < total ? `${count(absent)} without a reference` : "",
    Number(grid.outside) > 0 ? `${counted(grid.outside, "reference")} outside the grid` : "",
  ];
  return (
    <div>
      {alone && <h2 class="data-title">{grid.array || "/"}</h2>}
      <p class="caption">{parts.filter(Boolean).join(" · ")}</p>
    </div>
  );
}

function named({ dimensions }: GridPicture, axis: number): boolean {
  return dimensions[axis] !== `axis ${axis}`;
}

interface ControlsProps {
  session: ExplorerSession;
  grid: GridPicture;
  by: By;
  looks: [string, string][];
}

function Controls({ session, grid, by, looks }: ControlsProps) {
  const { array, arrays, axes, dimensions, window } = grid;
  const show: typeof session.maps.showGrid = (...wish) => session.maps.showGrid(...wish);
  const isAlong = (test: (length: number, axis: number) => boolean) =>
    axes.every((axis) => test(window[axis]![1] - window[axis]![0], axis));
  const zoom = (by: 1 | -1) => {
    const narrow = (span: Span, axis: number) =>
      axes.includes(axis) ? zoomed(span, 0.5 ** by, (span[0] + span[1]) / 2, Number(grid.grid[axis])) : span;
    show(array, axes, window.map(narrow));
  };
  const draw = (place: number, axis: number) => {
    const swapped = axes.map((old, i) => (i === place ? axis : old === axis ? axes[place]! : old));
    show(array, swapped, window);
  };
  return (
    <div class="controls">
      {arrays.length > 1 && (
        <Choice label="Array" value={array} options={arrayOptions(arrays, array)} choose={(path) => show(path)} />
      )}
      <Choice label="Colour by" value={by} options={looks} choose={(look) => session.set({ by: look as By })} />
      {axes.length === 2 &&
        ["Down", "Across"].map((label, place) => (
          <Choice
            key={label}
            label={label}
            value={String(axes[place])}
            options={dimensions.map((name, axis) => [String(axis), name])}
            choose={(axis) => draw(place, Number(axis))}
          />
        ))}
      <span class="space" />
      <Zoom
        whole="Whole grid"
        zoom={zoom}
        reset={() => show(array, axes)}
        deepest={grid.rows * grid.columns === 0 || isAlong((length) => length <= 2)}
        widest={isAlong((length, axis) => length === Number(grid.grid[axis]))}
      />
    </div>
  );
}

/** The dimensions that are not drawn: all chunks along them together, or those of one place. */
function Others({ grid, redraw }: { grid: GridPicture; redraw(spans: Span[]): void }) {
  const others = grid.grid.flatMap((size, axis) => (Number(size) > 1 && !grid.axes.includes(axis) ? [axis] : []));
  return (
    <>
      {others.map((axis) => {
        const size = Number(grid.grid[axis]);
        const [start, stop] = grid.window[axis]!;
        const all = stop - start === size;
        const move = (to: number) =>
          redraw(grid.window.map((span, i) => (i !== axis ? span : to < 0 ? [0, size] : [to, to + 1])));
        const text = all ? `all ${count(size)} together` : `${count(start)} (${count(start + 1)} of ${count(size)})`;
        return (
          <Stepper
            key={axis}
            label={grid.dimensions[axis]!}
            min={-1}
            max={size - 1}
            value={all ? -1 : start}
            text={text}
            move={move}
          />
        );
      })}
    </>
  );
}
