/** The line or the heatmap of a slice, with a cursor that shows each value and its chunk. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { Zoom } from "../shared/controls.tsx";
import { count, exact, value } from "../shared/format.ts";
import { useStore } from "../shared/store.ts";
import type { Flag, ReadingModel, ValuePlace } from "../shared/wire.ts";
import {
  placing,
  type ScaleName,
  blended,
  FLAG_COLOURS,
  flagPlacing,
  flagTable,
  INFINITE,
  signsOf,
  pixelsOf,
  tableOf,
  type Scheme,
} from "./colours.ts";
import { Entries, Legend, type LegendEntry } from "../maps/legend.tsx";
import { chunksOf } from "../maps/maps.ts";
import { paintedBy } from "../maps/chunkboard.tsx";
import { inksOf } from "../shared/palette.ts";
import { longitudeOf, cellsOf, heatmap, line, type Figure, type Look, type Marked } from "./plot.ts";
import { ARROWS, type Point, stepped, useDrag, useRoom, useWheel, useWidth, ZOOM, ZOOMS } from "../shared/pointing.ts";
import { Earth } from "../geo/earth.ts";
import type { ExplorerSession } from "../explorer/session.ts";
import {
  cellWords,
  chunkOf,
  endsOf,
  indexOf,
  lostAt,
  placeOf,
  placesOf,
  shownText,
  type Axis,
  moved,
  slicesOf,
  wholeOf,
  zoomed,
  type Window,
} from "./slices.ts";
import { keptWith, profilesOf, type Kept } from "./profiles.ts";
import { Profiles } from "./profiles.tsx";
import { Take } from "./saveas.tsx";
import { sentences } from "./description.ts";
import { WHOLE } from "../explorer/state.ts";
import { WhyValue } from "./why.tsx";
import type { Preview } from "./preview.ts";

/** Height of the picture for its width, px. */
const heightOf = (width: number, tallest: number) => Math.min(tallest, Math.max(220, Math.round(width * 0.42)));

/** Of a picture whose cells are as wide as high along both axes, as long as it fits; else of any. */
function sizeOf(width: number, axes: Axis[], tallest: number): { width: number; height: number } {
  const height = heightOf(width, tallest);
  const [rows, columns] = axes;
  const isAlike = rows && columns && Math.abs(stepOf(rows) / stepOf(columns) - 1) < 0.01;
  if (!isAlike) return { width, height };
  const [room, most] = [width - FRAME[0], tallest - FRAME[1]];
  const cell = Math.min(room / columns.size, most / rows.size);
  const [across, down] = [cell * columns.size, cell * rows.size];
  if (Math.min(across, down) < LEAST) return { width, height };
  return { width: across + FRAME[0], height: down + FRAME[1] };
}

/** The distance of two positions along an axis; times are treated separately. */
function stepOf({ at, size, step, times }: Axis): number {
  if (times) return NaN;
  return at === null ? step : Math.abs((at[size - 1]! - at[0]!) / (size - 1));
}

/** The space at the sides of a picture; px. */
const FRAME = [70, 60] as const;
/** The height that a picture has at most where nothing around it has one of its own, and at least; px. */
const TALLEST = 440;
const SHORTEST = 220;
/** The space above and below a picture: title, readout, colour bar and one scrubber; px. */
const AROUND = 320;
/** What scrolls a picture, where the picture does not stand alone. */
const PANE = ".centre .pane";
const SCRUBBER = 90;
/** Of the colours: their height below a picture, and the width that they need beside one; px. */
const COLOURS = [110, 200] as const;
/** A picture of square cells that would be narrower is stretched. */
const LEAST = 120;

interface Props {
  session: ExplorerSession;
  reading: ReadingModel;
  axes: Axis[];
  /** Where along each dimension the slice is. */
  steps: number[];
  values: Float64Array;
  /** A value with every digit. */
  text(index: number): string;
  /** All that was read, and the dimensions of which the picture shows one place each. */
  all: Float64Array;
  sliders: Axis[];
  /** Red, green, blue, and perhaps opacity of the slice, where it is drawn in its own colours. */
  channels: Float64Array[] | null;
  domain: [number, number];
  scheme: Scheme;
  scale: ScaleName;
  /** How the values are shown: the controls to the left above the picture. */
  head: ComponentChildren;
  /** The bar of colours, where the picture has one. */
  bar: ComponentChildren;
  /** The scrubbers of the other dimensions. */
  below: ComponentChildren;
  /** Whether more values are on their way. */
  isPart: boolean;
  /** Points whose profiles are kept. */
  kept: Kept[];
  setKept(change: (before: Kept[]) => Kept[]): void;
}

/** Milliseconds without another move after which the values of a window are read. */
const SETTLED = 250;

export function Drawing({
  session,
  reading,
  axes,
  steps,
  values,
  text,
  all,
  sliders,
  channels,
  domain,
  scheme,
  scale,
  head,
  bar,
  below,
  isPart,
  kept,
  setKept,
}: Props) {
  const { item } = useStore(session);
  const { painted: chunks } = useStore(session.maps);
  const [first, second] = axes;
  const box = useRef<HTMLDivElement>(null);
  const told = useId();
  const figure = useRef<Figure | null>(null);
  const width = useWidth(box);
  // A widget of the picture alone grows with it, so that its height says nothing.
  const room = useRoom(box, PANE);
  const by = session.recolouring;
  // The table of files, or of accesses, is below the picture.
  const left = by !== null && session.state.look !== "chunks" ? room / 2 : room;
  const tallest = room === 0 ? TALLEST : Math.max(SHORTEST, left - AROUND + (sliders.length === 0 ? SCRUBBER : 0));
  // A picture that is not as wide as its panel is larger with its colours beside it.
  const [alone, beside] = [sizeOf(width, axes, tallest), sizeOf(width - COLOURS[1], axes, tallest + COLOURS[0])];
  const isBeside = second !== undefined && beside.width >= alone.width;
  const size = isBeside ? beside : alone;
  const [cursor, setCursor] = useState<number[] | null>(null);
  const [picked, setPicked] = useState<number[] | null>(null);
  const [point, setPoint] = useState<number[] | null>(null);
  const [view, setView] = useState<Window | null>(null);
  const pair: [Axis, Axis] | null = second ? [first!, second] : null;
  const window = pair && (view ?? wholeOf(pair));
  const chosen = item?.chunk?.array === reading.array ? item.chunk.index.map(Number) : null;
  const marked = pair ? marksOf(reading, pair, steps, chosen) : [];
  // The values of a coordinate are drawn over its own indices.
  const unplaced = axes.filter(({ at, name }) => at === null && name !== reading.array.split("/").at(-1));
  const profiles = pair ? profilesOf(kept, point, pair) : [];
  const dots = profiles.flatMap(({ at: [row, column], colour, kept: own }) =>
    own === null || row === null || column === null ? [] : [{ row, column, colour }],
  );
  const { land } = useStore(session.of(Earth));
  const longitude = pair && longitudeOf(reading, pair);
  useEffect(() => {
    if (longitude !== null) void session.of(Earth).drawLand("110m");
  }, [longitude]);
  const wish = pair && by ? chunksOf(reading, pair, steps) : null;
  const wished = JSON.stringify(wish);
  useEffect(() => {
    if (wish) session.maps.paint(wish);
  }, [wished, chunks === null]);
  const painter = session.painter;
  const paints = session.views.map(({ name, usePaint }) => usePaint?.(session, name === painter ? wish : null));
  const paint = paints.find(Boolean) ?? null;
  const grid = wish && chunks?.wish === wished && (painter === null || paint) ? chunks.picture : null;
  const painting = useMemo(() => {
    if (!grid || !by || !box.current) return null;
    const own = paint?.colours(grid) ?? null;
    return paintedBy(grid, by, reading, pair!, inksOf(box.current), own);
  }, [grid, by, width, paint]);
  const look: Look = {
    ...size,
    coast: land && longitude ? { land, longitude } : null,
    label: reading.name,
    domain,
    scheme,
    scale,
    times: reading.times,
    marked,
    edges: painting?.edges ?? null,
    dots,
  };
  const drawnOf = axes.map(({ dimension }) => dimension).join();
  const flags = flagsShown(reading);
  const isInfinite = reading.infinite?.some((n) => n > 0);
  const signs = useMemo(() => (isInfinite ? signsOf(values) : []), [values, isInfinite]);
  const place = useMemo(
    () => (flags ? flagPlacing(flags) : placing(scale, domain)),
    [reading.array, flags?.length, scale, domain.join()],
  );
  const cells = useMemo(() => {
    if (!pair) return null;
    if (painting) return painting.cells;
    const [height, width] = [pair[0].size, pair[1].size];
    if (channels) return cellsOf(blended(channels, width, height, domain));
    return cellsOf(pixelsOf(values, width, height, flags ? flagTable(flags.length) : tableOf(scheme), place));
  }, [reading, steps.join(), drawnOf, scheme, place, channels, painting]);
  const sizes =
    session.preview.state.plan?.array === reading.array ? session.preview.state.plan.sizes.map(Number) : null;

  // What was zoomed to is here.
  useLayoutEffect(() => {
    setView(null);
    setPoint(null);
  }, [reading.slices.join(), drawnOf]);

  // What the axes and marks are made of: while only the cells change, these are painted alone.
  const frame = [
    width,
    tallest,
    look.height,
    look.width,
    domain.join(),
    scheme,
    scale,
    JSON.stringify([marked, dots, painting?.edges]),
    look.coast !== null,
    view?.join(),
    ...axes.map(
      (axis) =>
        `${axis.name} ${axis.size} ${axis.at?.[0] ?? axis.first} ${axis.at?.[axis.size - 1] ?? axis.step} ${axis.times}`,
    ),
  ].join(";");
  const framed = useRef("");
  useLayoutEffect(() => {
    if (width === 0 || (room === 0 && box.current!.closest(PANE))) return;
    if (pair && figure.current?.repaint && framed.current === frame) return figure.current.repaint(cells!);
    framed.current = frame;
    figure.current = pair ? heatmap(cells!, pair, look, window!) : line(values, first!, look);
    // What it shows is read out value by value below; its parts mean nothing by themselves.
    figure.current.element.setAttribute("aria-hidden", "true");
    box.current!.replaceChildren(figure.current.element);
  }, [reading, steps.join(), drawnOf, cells, frame]);

  useEffect(() => {
    if (view === null || pair === null || sizes === null) return;
    const slices = slicesOf(reading, pair, view, sizes);
    const timer = setTimeout(() => {
      if (slices === null) setView(null);
      else session.preview.want(reading.array, slices);
    }, SETTLED);
    return () => clearTimeout(timer);
  }, [view]);

  const zoom = (factor: number, about: [number, number] = [0.5, 0.5]) =>
    window && setView(zoomed(window, factor, about));
  const whole = () => {
    if (pair === null) return;
    const slices = reading.slices.map((text, dimension) =>
      pair.some((axis) => axis.dimension === dimension) ? ":" : text,
    );
    if (slices.join() === reading.slices.join()) setView(null);
    else session.preview.want(reading.array, slices);
  };

  useWheel(box, (factor, at) => figure.current?.share && zoom(factor, figure.current.share(...at)));
  const locate = (at: Point) => figure.current?.locate(...at) ?? null;
  const drag = useDrag<Window>(box, {
    begin: () => (figure.current?.share ? window : null),
    move(from, start, now) {
      const [before, after] = [figure.current!.share!(...start), figure.current!.share!(...now)];
      setView(moved(from, [before[0] - after[0], before[1] - after[1]]));
    },
    hover: (at) => setCursor(at && locate(at)),
    click: (at) => pick(locate(at)),
  });
  const places = (cell: number[]) =>
    steps
      .with(axes[0]!.dimension, cell[0]!)
      .map((step, dimension) => (second?.dimension === dimension ? cell[1]! : step));
  const index = cursor && indexOf(reading, places(cursor));
  const key = index && chunkOf(reading, index).key;
  const { place: found, own } = usePointed(session.preview, reading.array, index, key, reading);

  const pick = (cell: number[] | null) => {
    if (cell === null) return;
    const index = indexOf(reading, places(cell));
    setPicked(index);
    setPoint(cell);
    const { key } = chunkOf(reading, index);
    const chosen = lostAt(reading, key) === "fill" ? null : session.pick(key);
    session.set({ pin: { array: reading.array, index, ...pinned(cell) } });
    if (chosen) session.run(chosen);
  };
  const where = sliders.map((axis) => `${axis.name} ${placeOf(axis, steps[axis.dimension]!)}`);
  const captionOf = () => ({
    title: labelOf(reading),
    subtitle: [reading.array || "/", ...where].join(", "),
    bar: box.current!.closest(".drawing")!.querySelector(".ruler"),
  });
  const pinned = (cell: number[]) => {
    const flat = second ? cell[0]! * second.size + cell[1]! : cell[0]!;
    const all = [...where, ...axes.map((axis, i) => `${axis.name} ${placeOf(axis, cell[i]!)}`)];
    return { where: all.join(", "), text: amount(reading, values[flat]!, text(flat)) };
  };
  const keep = (cell: number[] | null) => {
    if (cell === null || pair === null) return;
    setPoint(cell);
    setKept((before) => keptWith(before, indexOf(reading, places(cell))));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const pan = event.shiftKey ? ARROWS[event.key] : undefined;
    const next = stepped(cursor, event.key, axes);
    if (window && pan) setView(moved(window, [pan[0] / 4, pan[1] / 4]));
    else if (ZOOMS[event.key]) zoom(ZOOM ** ZOOMS[event.key]!);
    else if (event.key === "0" && pair) whole();
    else if (next !== null) setCursor(next);
    else if (event.key === "Enter" || event.key === " ") pick(cursor);
    else if (event.key === "p" && pair && !event.ctrlKey && !event.metaKey) keep(cursor ?? point);
    else return;
    event.preventDefault();
  };
  return (
    <div class={isBeside ? "drawing beside" : "drawing"}>
      <div class="picture-head">
        {head}
        <span class="space" />
        {pair && (
          <Zoom label="Window" whole="Whole slice" keys="the picture" zoom={(by) => zoom(ZOOM ** by)} reset={whole} />
        )}
        {width > 0 && (
          <Take
            session={session}
            reading={reading}
            axes={axes}
            steps={steps}
            figure={() => box.current!}
            caption={captionOf}
          />
        )}
      </div>
      <div
        class="figure"
        ref={box}
        role="application"
        tabIndex={0}
        aria-describedby={told}
        aria-label={`${reading.name}: ${second ? "heatmap" : "line"}; arrow keys read single values, Enter selects the chunk${second ? "; plus and minus zoom, Shift and arrow keys move the window, p keeps the profiles through a point" : ""}`}
        {...drag}
        onKeyDown={onKeyDown}
      />
      <PictureText id={told} values={values} axes={axes} reading={reading} isPart={isPart} />
      <p class="readout" role="status">
        {cursor
          ? `${said(reading, axes, cursor, places(cursor), { values, text, own })}${channels ? ` · colours ${channels.map((each) => value(each[cursor[0]! * axes[1]!.size + cursor[1]!]!)).join(", ")}` : ""}${found?.kind ? ` · ${placed(found)}` : ""}`
          : figure.current?.omitted || "Point at the picture to read a value; click to select its chunk."}
      </p>
      {pair && (
        <div class="colourbar" style={isBeside ? { width: `${width - size.width}px` } : {}}>
          {grid && by ? (
            (paint?.legend(grid) ?? <Legend grid={grid} by={by} />)
          ) : channels ? (
            <span class="quiet">
              {channels.length === 4 ? "Red, green, blue and opacity" : "Red, green and blue"} from {value(domain[0])}{" "}
              to {value(domain[1])}
            </span>
          ) : flags ? (
            <Entries label="Meanings of the values" entries={flags.map(flagEntry)} />
          ) : reading.minimum === null ? (
            <span class="quiet">No finite values</span>
          ) : (
            bar
          )}
        </div>
      )}
      <Infinite signs={channels ? [] : signs} />
      {below}
      {unplaced.length > 0 && (
        <p class="caption">
          {unplaced.map(({ name }) => name).join(" and ")} {unplaced.length === 1 ? "is" : "are"} drawn by index: there
          is no coordinate, or its values are missing or unevenly spaced.
        </p>
      )}
      {pair && profiles.length > 0 && (
        <Profiles
          axes={pair}
          profiles={profiles}
          values={values}
          stepped={sliders}
          steps={steps}
          all={all}
          shape={reading.shape}
          look={look}
          keep={() => keep(point)}
          remove={(one) => setKept((before) => (one === null ? [] : before.filter((each) => each !== one)))}
        />
      )}
      {picked && session.part !== WHOLE && (
        <WhyValue key={picked.join()} session={session} array={reading.array} index={picked} />
      )}
    </div>
  );
}

/** Milliseconds for which the cursor rests before anything is asked about its place. */
const RESTED = 100;

/**
 * Where the bytes below the cursor are, as far as that is known; the value at an index where its cell is not that
 * value. With the key of a chunk nothing is asked of one that is known.
 */
export function usePointed(
  preview: Preview,
  array: string,
  index: number[] | null,
  key: string | null,
  reading: ReadingModel | null,
): { place: ValuePlace | null; own: string | null } {
  const [found, setFound] = useState<{ of: string; place: ValuePlace | null } | null>(null);
  const [own, setOwn] = useState<{ at: string; text: string | null } | null>(null);
  const at = index?.join() ?? "";
  const of = key ?? at;
  useEffect(() => {
    if (index === null) return;
    const timer = setTimeout(() => {
      const set = (place: ValuePlace | null) => setFound({ of, place });
      if (found?.of !== of) preview.placeOf(array, index).then(set, () => set(null));
      if (!reading?.reduced && !reading?.is_complex) return;
      preview.valueAt(array, index).then(
        (text) => setOwn({ at, text }),
        () => setOwn(null),
      );
    }, RESTED);
    return () => clearTimeout(timer);
  }, [at, reading]);
  return { place: found?.of === of ? found.place : null, own: own?.at === at ? own.text : null };
}

/** The file and byte range of a chunk, in words. */
export function placed({ kind, url, offset, length }: ValuePlace): string {
  if (kind === null) return "";
  if (url === null) return "in the set";
  return `${url}${offset === null ? "" : `, bytes ${count(offset)} to ${count(Number(offset) + Number(length))}`}`;
}

/** The chunks to point out: the selected one, and those that failed in this slice. */
function marksOf(
  reading: ReadingModel,
  [rows, columns]: [Axis, Axis],
  steps: number[],
  chosen: number[] | null,
): Marked[] {
  const failed = reading.lost
    .filter(({ state }) => state === "failed")
    .map(({ index, count }) => ({ index: index.map(Number), count, as: "failed" as const }));
  const all = [...failed, ...(chosen ? [{ index: chosen, count: 1, as: "chosen" as const }] : [])];
  return all.flatMap(({ index, count, as }) => {
    const end = placesOf(
      reading,
      index.map((at, i) => (i === index.length - 1 ? at + count - 1 : at)),
    );
    const spans = placesOf(reading, index).map(([from], i): [number, number] => [from, end[i]![1]]);
    const drawn = (dimension: number) => dimension === rows.dimension || dimension === columns.dimension;
    const seen = spans.every(([from, to], i) => (drawn(i) ? from < to : steps[i]! >= from && steps[i]! < to));
    return seen ? [{ rows: spans[rows.dimension]!, columns: spans[columns.dimension]!, as }] : [];
  });
}

/** The flags, if there are enough distinguishable colours. */
function flagsShown({ flags }: ReadingModel): Flag[] | null {
  return flags && flags.length > 0 && flags.length <= FLAG_COLOURS.length ? flags : null;
}

const flagEntry = (flag: Flag, i: number): LegendEntry => ({
  name: `${value(flag.value)} ${flag.meaning}`,
  mark: { colour: FLAG_COLOURS[i]!, pattern: 0 },
});

/** The colours of infinite values, which the bar of colours does not have. */
export function Infinite({ signs }: { signs: (keyof typeof INFINITE)[] }) {
  const entries = signs.map((sign) => ({ name: sign, mark: { colour: INFINITE[sign], pattern: 0 } }));
  return entries.length > 0 && <Entries label="Infinite values" entries={entries} />;
}

export function labelOf({ name, units, times }: ReadingModel): string {
  return units && !times ? `${name} (${units})` : name;
}

interface Said {
  values: Float64Array;
  text(index: number): string;
  /** The value at the index; null where it is that of the cell, or not known. */
  own: string | null;
}

/** A value in words: where it is, what it is, its index and its chunk; of a block that it is one. */
function said(
  reading: ReadingModel,
  axes: Axis[],
  cursor: number[],
  places: number[],
  { values, text, own }: Said,
): string {
  const where = axes.map((axis, i) => `${axis.name} ${placeOf(axis, cursor[i]!)}`).join(", ");
  const flat = axes.length === 2 ? cursor[0]! * axes[1]!.size + cursor[1]! : cursor[0]!;
  const index = indexOf(reading, places);
  const { key } = chunkOf(reading, index);
  const lost = lostAt(reading, key);
  const state = lost ? { fill: "no reference, reads as the fill value", failed: "its chunk failed" }[lost] : null;
  const ends = index.map((at, dimension) => spanOf(reading, dimension, places[dimension]!, at)).join(", ");
  const words = cellWords(reading, places) || (reading.is_complex ? "magnitude" : "");
  if (!words) return `${where}: ${state ?? amount(reading, values[flat]!, text(flat))} · index ${ends} · ${key}`;
  const exactly =
    own === null ? "" : ` · at index ${index.join(", ")}: ${amount(reading, own === "NaN" ? NaN : 0, own)}`;
  const cell = `${words}: ${amount(reading, values[flat]!, text(flat), reading.reduced === "mean")}`;
  return `${where}: ${Number.isNaN(values[flat]!) && state ? state : cell} · index ${ends}${state ? "" : exactly} · ${key}`;
}

/** The indices that a cell has along a dimension: "2904 to 2909". */
function spanOf({ reduced, blocks, region }: ReadingModel, dimension: number, cell: number, at: number): string {
  const [first, stop, step] = region[dimension]!.map(Number) as [number, number, number];
  const last = reduced ? endsOf({ first, step, stop, block: blocks![dimension]! } as Axis, cell)[1] : at;
  return last === at ? String(at) : `${at} to ${last}`;
}

/** A value with its units or its meaning; a mean with no more digits than it has. */
function amount(reading: ReadingModel, number: number, text: string, isMean = false): string {
  const { units, times, flags } = reading;
  if (Number.isNaN(number)) return "missing";
  const flag = flags?.find((each) => exact(each.value, "float64") === text);
  const shown = isMean && !times ? value(number) : shownText(reading, text);
  return flag ? `${shown}, ${flag.meaning}` : `${shown}${units && !times ? ` ${units}` : ""}`;
}

/** Milliseconds without another picture: of a scrubbed one nobody wants to hear. */
const RESTING = 300;

/** The text equivalent of a picture, written when the picture stays. */
function PictureText({
  id,
  values,
  axes,
  reading,
  isPart,
}: Pick<Props, "values" | "axes" | "reading" | "isPart"> & { id: string }) {
  const [text, setText] = useState("");
  useEffect(() => {
    if (isPart) return;
    const timer = setTimeout(() => setText(sentences(values, axes, reading)), RESTING);
    return () => clearTimeout(timer);
  }, [values, axes, reading, isPart]);
  return (
    <p id={id} class="unseen">
      {text}
    </p>
  );
}
