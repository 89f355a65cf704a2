/** The map as it is drawn, with its cursor: d3-geo draws the outlines, a raster the cells. */

import { geoGraticule10, geoPath } from "d3-geo";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { Earth } from "./earth.ts";
import type { ExplorerSession } from "../explorer/session.ts";
import { useAppearance } from "../maps/board.tsx";
import { FAILED } from "../maps/cells.ts";
import { Entries, inlineEntries, type LegendEntry, targetEntry } from "../maps/legend.tsx";
import { Choice, Zoom } from "../shared/controls.tsx";
import type { GridPicture } from "../maps/maps.ts";
import { Button } from "../shared/parts.tsx";
import { inksOf, series } from "../shared/palette.ts";
import { axesOf, type ChunkAxis, cellWords, shownText } from "../preview/slices.ts";
import { signsOf } from "../preview/colours.ts";
import { Infinite, placed as placedIn, usePointed } from "../preview/drawing.tsx";
import { count, counted, moment, value } from "../shared/format.ts";
import { ARROWS, useDrag, useWheel, useWidth, ZOOM, ZOOMS } from "../shared/pointing.ts";
import { useStore } from "../shared/store.ts";
import type { EarthMap, ReadingModel } from "../shared/wire.ts";
import {
  chunkNumber,
  gridCell,
  imageOf,
  isSeveral,
  placeAmong,
  stateOfCell,
  type Footprints,
  indexAt,
  type EarthValues,
} from "./colouring.ts";
import {
  dragged,
  fitted,
  isRound,
  placed,
  PROJECTIONS,
  projectionOf,
  zoomedBy,
  type EarthView,
  type ProjectionName,
  type Size,
} from "./projecting.ts";
import { cellAt, inView, rasterOf, type EarthMesh } from "./raster.ts";

const TALLEST = 460;
/** Finer coastlines are worth their bytes from here on. */
const NEAR = 3;
/** How far an arrow key moves the cursor and, with Shift, the map; px. */
const [STEP, PAN] = [8, 60];

export interface ShownProps {
  session: ExplorerSession;
  earth: EarthMap;
  mesh: EarthMesh;
}

interface PictureProps extends ShownProps {
  drawn: EarthValues | null;
  reading: ReadingModel | null;
  grid: GridPicture | null;
  by: Footprints;
}

export function EarthPicture({ session, earth, mesh, drawn, reading, grid, by }: PictureProps) {
  const store = session.of(Earth);
  const { view: chosen, land, found } = useStore(store);
  const { item, steps } = useStore(session);
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(box);
  const appearance = useAppearance(box);
  const [cursor, setCursor] = useState<[number, number] | null>(null);
  const signs = useMemo(() => (drawn ? signsOf(drawn.values) : []), [drawn?.values]);
  const start = useMemo(() => fitted(null, mesh.longitude, mesh.latitude), [mesh]);
  const view = chosen ?? start;
  const size: Size = { width, height: Math.round(Math.min(TALLEST, Math.max(220, width * 0.5))) };
  const ratio = Math.min(1.5, globalThis.devicePixelRatio || 1);
  const sides = useMemo(
    () =>
      axesOf(
        earth.chunks!.map(([, chunk]) => chunk),
        earth.chunk_runs,
      ) as [ChunkAxis, ChunkAxis],
    [earth],
  );
  const raster = useMemo(
    () => (width === 0 ? null : rasterOf(mesh, placed(mesh.longitude, mesh.latitude, view, size), size, ratio)),
    [mesh, view, width, size.height],
  );
  const projection = useMemo(() => (width === 0 ? null : projectionOf(view, size)), [view, width, size.height]);
  const inks = useMemo(() => (box.current && width > 0 ? inksOf(box.current) : null), [appearance, width]);
  const image = useMemo(
    () => (raster && inks ? imageOf(raster, drawn, { by, sides, grid }, inks) : null),
    [raster, drawn, by, grid, inks],
  );
  const selected = item?.chunk?.array === earth.array ? item.chunk.index.map(Number) : null;
  const selectedSides = selected && (earth.axes!.map((axis) => selected[axis]!) as [number, number]);

  useEffect(() => void store.drawLand("110m"), []);
  useEffect(() => {
    if (view.zoom > NEAR) void store.drawLand("50m");
  }, [view.zoom > NEAR]);

  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || !image || !projection || !inks || !raster) return;
    const dense = globalThis.devicePixelRatio || 1;
    canvas.current!.width = Math.round(size.width * dense);
    canvas.current!.height = Math.round(size.height * dense);
    context.setTransform(dense, 0, 0, dense, 0, 0);
    const path = geoPath(projection, context);
    const outline = (draw: () => void, stroke: string, thick: number, alpha = 1) => {
      context.beginPath();
      draw();
      context.strokeStyle = stroke;
      context.lineWidth = thick;
      context.globalAlpha = alpha;
      context.stroke();
      context.globalAlpha = 1;
    };
    context.save();
    context.beginPath();
    path({ type: "Sphere" });
    context.fillStyle = inks.of("--bg2");
    context.fill();
    context.clip();
    const cells = document.createElement("canvas");
    cells.width = image.width;
    cells.height = image.height;
    cells.getContext("2d")!.putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(cells, 0, 0, size.width, size.height);
    outline(() => path(geoGraticule10()), inks.hatch, 0.5, 0.5);
    if (land) {
      // A light line under a dark one is seen on whatever colour is there.
      outline(() => path(land), inks.paper, 2.2, 0.7);
      outline(() => path(land), inks.ink, 0.9);
    }
    context.restore();
    outline(() => path({ type: "Sphere" }), inks.hatch, 1);
    if (selectedSides) markChunk(context, raster, selectedSides, sides, ratio, inks.accent);
    if (found?.longitude != null && found.latitude !== null && found.index !== null) {
      const point: [number, number] = [found.longitude, found.latitude];
      const at = seen(view, point) ? projection(point) : null;
      if (at) outline(() => context.arc(at[0], at[1], 6, 0, 2 * Math.PI), inks.accent, 2.5);
    }
  }, [image, projection, land, inks, selectedSides?.join(), found]);

  const look = (next: EarthView) => store.look(next);
  const cell = cursor && cellAt(raster, cursor, ratio);
  const point = cursor && projection ? pointAt(projection, cursor, size) : null;
  const indexOfCell = (at: [number, number]) => {
    const index = indexAt(earth, reading, steps, selected);
    const all = earth.axes!.reduce((long, axis) => Math.max(long, axis + 1), index.length);
    const dimensions = grid?.grid.length ?? all;
    const whole = Array.from({ length: dimensions }, (_, axis) => index[axis] ?? 0);
    earth.axes!.forEach((axis, side) => {
      whole[axis] = at[side]!;
    });
    return whole;
  };
  const index = cell && indexOfCell(cell);
  const { place, own } = usePointed(session.preview, earth.array, index, null, drawn && reading);

  const wantView = () => {
    const { plan } = session.preview.state;
    const spans = raster && inView(raster);
    if (!spans || plan?.array !== earth.array) return;
    const written = plan.slices.map((text, axis) => {
      const side = earth.axes!.indexOf(axis);
      return side < 0 ? text : `${spans[side]![0]}:${spans[side]![1]}`;
    });
    session.preview.want(earth.array, written);
  };
  const pick = async (at: [number, number] | null) => {
    const picked = at && cellAt(raster, at, ratio);
    if (!picked) return;
    await session.pick((await session.preview.placeOf(earth.array, indexOfCell(picked))).key);
  };
  useWheel(box, (factor) => look(zoomedBy(view, factor)));
  const drag = useDrag<EarthView>(box, {
    begin: () => view,
    move: (from, start, now) => look(dragged(from, [now[0] - start[0], now[1] - start[1]], size)),
    hover: setCursor,
    click: (at) => session.run(pick(at)),
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const move = ARROWS[event.key];
    if (move && event.shiftKey) look(dragged(view, [-move[1] * PAN, -move[0] * PAN], size));
    else if (move) {
      const from = cursor ?? [size.width / 2, size.height / 2];
      setCursor([
        Math.max(0, Math.min(size.width - 1, from[0] + move[1] * STEP)),
        Math.max(0, Math.min(size.height - 1, from[1] + move[0] * STEP)),
      ]);
    } else if (ZOOMS[event.key]) look(zoomedBy(view, ZOOM ** ZOOMS[event.key]!));
    else if (event.key === "0") store.look(null);
    else if (event.key === "Enter" || event.key === " ") session.run(pick(cursor));
    else return;
    event.preventDefault();
  };
  const legend =
    by !== "state" && by !== "file" ? (reading ? lostEntries(reading.chunks) : []) : grid ? entriesOf(grid, by) : [];
  return (
    <>
      <div class="controls">
        <Choice
          label="Projection"
          value={view.projection}
          options={Object.entries(PROJECTIONS)}
          choose={(name) => look(reprojected(view, name as ProjectionName, start))}
        />
        <Zoom
          label="Map"
          whole="Whole array"
          keys="the map"
          zoom={(by) => look(zoomedBy(view, ZOOM ** by))}
          reset={() => store.look(null)}
        >
          <Button text="Values in view" title="Read the values in view at full resolution" onClick={wantView} />
        </Zoom>
        {drawn && by !== "state" && by !== "file" && <Bar drawn={drawn} times={reading?.times ?? false} />}
        {drawn && by !== "state" && by !== "file" && <Infinite signs={signs} />}
      </div>
      <div
        class="figure earth-map"
        ref={box}
        role="application"
        tabIndex={0}
        aria-label={`Map of ${earth.array || "/"}: ${PROJECTIONS[view.projection]}, middle ${degrees(view.latitude, view.longitude)}; ${counted((grid?.rows ?? 0) * (grid?.columns ?? 0), "footprint")}. Arrow keys move the cursor, Enter selects the chunk below it; plus and minus zoom, Shift and arrow keys move the map.`}
        style={{ height: `${size.height}px` }}
        {...drag}
        onKeyDown={onKeyDown}
      >
        <canvas ref={canvas} style={{ width: `${size.width}px`, height: `${size.height}px` }} />
        {cursor && <span class="earth-cursor" style={{ left: `${cursor[0]}px`, top: `${cursor[1]}px` }} />}
      </div>
      <p class="readout" role="status">
        {readout()}
      </p>
      {legend.length > 0 && <Entries label="Legend" entries={legend} />}
      {selected && (
        <p class="links">
          <span>
            Selected: <code>{item!.path}</code>
          </span>
          <Button text="Inspect its bytes" link onClick={() => session.showDetails()} />
          <Button text="Show the grid of chunks" link onClick={() => session.show("chunks")} />
        </p>
      )}
    </>
  );

  function readout(): string {
    if (cursor === null || point === null) return "Point at the map to read a place; click to select the chunk there.";
    const where = degrees(point[1], point[0]);
    if (cell === null || index === null) return `${where}: outside the array`;
    const lost = drawn?.lost.get(chunkNumber(sides[0].at(cell[0]), sides[1].at(cell[1])));
    const at = drawn && placeAmong(drawn, ...cell);
    const units = reading?.units && !reading.times ? ` ${reading.units}` : "";
    const amount = (text: string) =>
      text === "NaN" || text === "NaT" ? "missing" : `${shownText(reading!, text)}${units}`;
    const words = reading && (cellWords(reading, cellOf(reading, index)) || (reading.is_complex ? "magnitude" : ""));
    const number = at === null ? NaN : drawn!.values[at]!;
    const ofCell =
      at === null
        ? ""
        : words && reading!.reduced === "mean" && Number.isFinite(number)
          ? `${value(number)}${units}`
          : amount(drawn!.text(at));
    const exactly = words && own !== null ? `; at the index: ${amount(own)}` : "";
    const text = lost
      ? { fill: "no reference, reads as the fill value", failed: "its chunk failed" }[lost]
      : ofCell && `${words ? `${words}: ` : ""}${ofCell}${exactly}`;
    const chunk: [number, number] = [sides[0].at(cell[0]), sides[1].at(cell[1])];
    const inGrid = grid && gridCell(grid, chunk);
    const state = grid && inGrid !== null ? stateWords(grid, inGrid) : "";
    const parts = [
      `${where}${text && `: ${text}`}`,
      `index ${index.join(", ")}`,
      place?.key,
      state,
      place && placedIn(place),
    ];
    return parts.filter(Boolean).join(" · ");
  }
}

function Bar({ drawn, times }: { drawn: EarthValues; times: boolean }) {
  const [low, high] = drawn.domain.map((at) => (times ? moment(at) : value(at)));
  const stops = Array.from({ length: 9 }, (_, i) => {
    const at = 3 * Math.round((i / 8) * (drawn.table.length / 3 - 1));
    return `rgb(${drawn.table[at]},${drawn.table[at + 1]},${drawn.table[at + 2]})`;
  });
  return (
    <span class="earth-bar" role="img" aria-label={`Colours of ${drawn.label} from ${low} to ${high}`}>
      <span>{drawn.label}</span> <span class="mono">{low}</span>
      <span class="earth-ramp" style={{ background: `linear-gradient(to right, ${stops.join(",")})` }} />
      <span class="mono">{high}</span>
    </span>
  );
}

/** The cell of a reading that an index of the array is in. */
function cellOf({ region }: ReadingModel, index: number[]): number[] {
  return region.map(([first, , step], dimension) => Math.floor((index[dimension]! - Number(first)) / Number(step)));
}

function stateWords(grid: GridPicture, cell: number): string {
  const state = stateOfCell(grid, cell);
  return state === "partly" ? "some chunks have no reference" : state === "referenced" ? "" : state;
}

/** "52.5°N 13.4°E" */
export function degrees(latitude: number, longitude: number): string {
  const one = (at: number, [plus, minus]: [string, string]) => `${Math.abs(at).toFixed(2)}°${at < 0 ? minus : plus}`;
  return `${one(latitude, ["N", "S"])} ${one(longitude, ["E", "W"])}`;
}

/** The position of a pixel; null outside the earth. */
function pointAt(
  projection: ReturnType<typeof projectionOf>,
  at: [number, number],
  size: Size,
): [number, number] | null {
  const found = projection.invert?.(at);
  if (!found?.every(Number.isFinite) || Math.abs(found[1]) > 90) return null;
  const back = projection(found);
  const isSame = back && Math.hypot(back[0] - at[0], back[1] - at[1]) < 1 + size.width / 1000;
  return isSame ? found : null;
}

/** Whether a place is on the side of the earth that a round map shows. */
function seen(view: EarthView, [longitude, latitude]: [number, number]): boolean {
  if (!isRound(view.projection)) return true;
  const one = placed(Float64Array.of(longitude), Float64Array.of(latitude), view, { width: 100, height: 100 });
  return !one.disk?.hidden[0];
}

function reprojected(view: EarthView, projection: ProjectionName, start: EarthView): EarthView {
  if (projection !== "polar") return { ...view, projection };
  return { projection, longitude: 0, latitude: (view.latitude || start.latitude) < 0 ? -90 : 90, zoom: 1 };
}

/** Draws around the pixels of a chunk. */
function markChunk(
  context: CanvasRenderingContext2D,
  { row, column, width, height }: { row: Int32Array; column: Int32Array; width: number; height: number },
  [down, across]: [number, number],
  [rows, columns]: [ChunkAxis, ChunkAxis],
  ratio: number,
  colour: string,
): void {
  context.fillStyle = colour;
  const is = (pixel: number) =>
    row[pixel]! >= 0 && rows.at(row[pixel]!) === down && columns.at(column[pixel]!) === across;
  for (let line = 0; line < height; line++) {
    for (let at = 0; at < width; at++) {
      const pixel = line * width + at;
      if (!is(pixel)) continue;
      const inner =
        at > 0 &&
        at + 1 < width &&
        line > 0 &&
        line + 1 < height &&
        is(pixel - 1) &&
        is(pixel + 1) &&
        is(pixel - width) &&
        is(pixel + width);
      if (!inner) context.fillRect(at / ratio - 1, line / ratio - 1, 2.5, 2.5);
    }
  }
}

/** The chunks of a reading that were not fetched. */
function lostEntries({ fill, failed }: Pick<ReadingModel["chunks"], "fill" | "failed">): LegendEntry[] {
  return [
    ...(fill > 0 ? [{ name: `no reference: ${count(fill)}`, mark: "nothing" as const }] : []),
    ...(failed > 0 ? [{ name: `failed: ${count(failed)}`, mark: "failed" as const }] : []),
  ];
}

function entriesOf(grid: GridPicture, by: Footprints): LegendEntry[] {
  const [fill, failed] = [grid.counts[0]!, grid.counts[grid.states.indexOf(FAILED)]!].map(Number) as [number, number];
  const absent = lostEntries({ fill, failed });
  if (by === "file") {
    const single = new Set(grid.target.filter((_, cell) => !isSeveral(grid, cell)));
    const files = grid.targets.flatMap((target, at) => (single.has(at) ? [targetEntry(target)] : []));
    const isMany = grid.distinct.some((_, cell) => isSeveral(grid, cell));
    const several = isMany ? [{ name: "several files", mark: { ...series(-1), pattern: 2 } }] : [];
    return [...files, ...several, ...inlineEntries(grid), ...absent];
  }
  const present = grid.states.reduce(
    (sum, state, i) => (state === "absent" || state === FAILED ? sum : sum + Number(grid.counts[i])),
    0,
  );
  return [...(present > 0 ? [{ name: `referenced: ${count(present)}`, mark: series(0) }] : []), ...absent];
}
