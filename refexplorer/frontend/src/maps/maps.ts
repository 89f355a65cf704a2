/** What the maps of chunks and of targets know and ask for. */

import { Newest, ViewStore } from "../shared/waiting.ts";
import { chunkOf, indexOf, type Axis } from "../preview/slices.ts";
import { RowWindow } from "../shared/rows/window.ts";
import type {
  Count,
  ExplorerWire,
  Grid,
  Layout,
  ReadingModel,
  TargetDates,
  TargetQuery,
  TargetRow,
  TargetsSummary,
} from "../shared/wire.ts";

export type Span = [number, number];

/** A picture of chunks with its numbers; those that came as text are the nearest number. */
export interface GridPicture extends Omit<Grid, "window" | "steps"> {
  window: Span[];
  steps: number[];
  /** Chunks of each state: states × rows × columns. */
  perState: Float64Array;
  /** Of each cell: place in `targets`, least offset, bytes; -1 for none. */
  target: Float64Array;
  offset: Float64Array;
  size: Float64Array;
  /** How many targets each cell has. */
  distinct: Float64Array;
}

/** A target with its numbers, likewise. */
export interface Strip extends Omit<Layout, "start" | "stop" | "end"> {
  start: number;
  stop: number;
  end: number;
  edges: Float64Array;
  covered: Float64Array;
  sharedBytes: Float64Array;
  begins: Float64Array;
  most: Float64Array;
}

export interface GridWish {
  array: string | null;
  axes: number[] | null;
  window: Span[] | null;
}

interface StripWish {
  /** Left out: the first target. */
  url?: string | null;
  window: Span | null;
}

/** What of the targets is listed; what is left out is as it is at first. */
export type Query = Partial<TargetQuery>;

const BLANK = {
  /** Undefined until it was asked for; null if the set has no arrays. */
  grid: undefined as GridPicture | null | undefined,
  gridError: null as string | null,
  /** The chunks that colour the picture of an array, and the wish that they answer. */
  painted: null as { picture: GridPicture; wish: string } | null,
  strip: undefined as Strip | null | undefined,
  stripError: null as string | null,
  /** Null until it was asked for. */
  files: null as TargetsSummary | null,
  /** Which targets are listed, and in which order. */
  query: {} as Query,
  /** How many targets the query has; null until it was asked. */
  found: null as Count | null,
  /** Null until it was asked for. */
  dates: null as TargetDates | null,
  filesError: null as string | null,
};
export type MapsState = typeof BLANK;

export class Maps extends ViewStore<MapsState> {
  readonly rows: RowWindow<TargetRow>;
  /** The counting of chunks, and the sorting of ranges. */
  readonly counting = this.waiting();
  readonly sorting = this.waiting();
  readonly summing = this.waiting();
  readonly checking = this.work("targets.check");
  private readonly grids = new Newest<GridWish>((wish) =>
    this.attempt("gridError", async () => ({ grid: await this.gridOf(wish) })),
  );
  private readonly strips = new Newest<StripWish>((wish) => this.drawStrip(wish));
  private readonly paints = new Newest<GridWish>((wish) =>
    this.attempt("gridError", async () => {
      const picture = await this.gridOf(wish);
      return { painted: picture && { picture, wish: JSON.stringify(wish) } };
    }),
  );

  constructor(wire: ExplorerWire) {
    super(wire, BLANK);
    this.rows = new RowWindow(
      async (start, n) => {
        const { query } = this.state;
        const page = await wire.request("targets.rows", { start, n, query });
        if (this.state.query === query) this.state.found = page.targets;
        return page;
      },
      () => this.set({}),
    );
  }

  override forget(): void {
    this.rows.reset(0);
    this.isAsked = false;
    this.checking.forget();
    super.forget();
  }

  /** Asks all targets for their size; those of `grant` may be asked from now on. */
  async checkTargets(grant: string | null): Promise<void> {
    await this.checking.start({}, grant);
    this.rows.reset(this.rows.total, true);
  }

  /** Asks where the targets are, and what is known of them by now. */
  async sumTargets(): Promise<void> {
    await this.attempt("filesError", async () => ({
      files: (await this.summing.ask("targets.summary", {})).message,
    }));
  }

  /** Whether a map was asked for that need not be that of the selected key. */
  isAsked = false;

  /** Draws the chunks of an array, or of any, again if they are shown. */
  refresh(array: string | null = null): void {
    const { grid, painted } = this.state;
    if (painted && (array ?? painted.picture.array) === painted.picture.array) this.set({ painted: null });
    if (grid && (array ?? grid.array) === grid.array) this.showGrid(grid.array, grid.axes, grid.window);
  }

  /** Shows the chunks of an array; null is the one of most chunks. */
  showGrid(array: string | null, axes: number[] | null = null, window: Span[] | null = null): void {
    void this.grids.ask({ array, axes, window });
  }

  /** Shows the chunks of an array, whatever is selected. */
  openGrid(array: string, axes: number[] | null = null, window: Span[] | null = null): void {
    this.isAsked = true;
    this.showGrid(array, axes, window);
  }

  /** Colours the picture of an array by its chunks. */
  paint(wish: GridWish): void {
    if (this.state.painted?.wish !== JSON.stringify(wish)) void this.paints.ask(wish);
  }

  /** Lists other targets, or the same in another way. */
  narrowTargets(change: Query): void {
    const query = tidy({ ...this.state.query, ...change });
    if (JSON.stringify(query) === JSON.stringify(this.state.query)) return;
    this.set({ query, found: null });
    this.rows.reset(1);
    if (["array", "slices", "find", "state"].some((name) => name in change)) void this.dateTargets();
  }

  /** Asks which dates the targets have; those of a period alone are shown among all of the query. */
  async dateTargets(): Promise<void> {
    const { since: _, until: __, ...query } = this.state.query;
    try {
      this.set({ dates: await this.wire.request("targets.dates", { query }) });
    } catch {
      this.set({ dates: null }); // the table says why
    }
  }

  /** All targets that are listed, as text. */
  async listTargets(form: "text" | "csv"): Promise<{ name: string; text: string; left: number }> {
    const { fold: _, open: __, ...query } = this.state.query;
    const { message, buffers } = await this.wire.job("targets.list", { query, form }).reply;
    const left = Number(message.total) - Number(message.targets);
    return { name: message.name, text: new TextDecoder().decode(buffers[0]), left };
  }

  showTarget(wish: StripWish): void {
    if (this.rows.total === 0) {
      this.rows.reset(1);
      void this.dateTargets();
    }
    void this.strips.ask(wish);
  }

  /** Whether a target is on its way. */
  get isSorting(): boolean {
    return this.strips.isBusy;
  }

  private async gridOf(wish: GridWish): Promise<GridPicture | null> {
    const { message, buffers } = await this.counting.ask("grid.show", wish);
    return message.map && pictured(message.map, buffers);
  }

  private async drawStrip(wish: StripWish): Promise<void> {
    await this.attempt("stripError", async () => {
      const { message, buffers } = await this.sorting.ask("target.show", wish);
      const { layout } = message;
      if (layout === null) return { strip: null };
      const [edges, covered, sharedBytes, begins, most] = arraysOf(buffers);
      // Numbers that came as text are drawn as the nearest number.
      const [start, stop, end] = [layout.start, layout.stop, layout.end].map(Number) as [number, number, number];
      return { strip: { ...layout, start, stop, end, edges, covered, sharedBytes, begins, most } };
    });
  }
}

/** The chunks of what a picture shows of an array: along the axes that are drawn all, of the others those at the steps. */
export function chunksOf(reading: ReadingModel, [rows, columns]: [Axis, Axis], steps: number[]) {
  const axes = [rows.dimension, columns.dimension];
  const ends = [0, 1].map((end) => {
    const places = reading.shape.map((size, axis) => (axes.includes(axis) ? end * (size - 1) : (steps[axis] ?? 0)));
    return chunkOf(reading, indexOf(reading, places)).index;
  });
  const window = ends[0]!.map((from, axis): Span => {
    const to = ends[1]![axis]!;
    return [Math.min(from, to), Math.max(from, to) + 1];
  });
  return { array: reading.array, axes, window } satisfies GridWish;
}

/** Without what is as it is at first. */
function tidy(query: Query): Query {
  const plain: unknown[] = [null, undefined, "", false, "none", "set"];
  const isPlain = (value: unknown) => plain.includes(value) || (Array.isArray(value) && value.length === 0);
  return Object.fromEntries(
    Object.entries(query).filter(([name, value]) => (name === "array" ? value != null : !isPlain(value))),
  );
}

/** Whether a part of a grid is drawn alone. */
export function isNarrowed({ grid, window }: GridPicture): boolean {
  return window.some(([start, stop], axis) => stop - start !== Number(grid[axis]));
}

/** A grid with the numbers from its buffer. */
export function pictured(map: Grid, buffers: ArrayBuffer[]): GridPicture {
  const [perState, target, offset, size, distinct] = arraysOf(buffers);
  const window = map.window.map(([start, stop]): Span => [Number(start), Number(stop)]);
  return { ...map, window, steps: map.steps.map(Number), perState, target, offset, size, distinct };
}

function arraysOf(buffers: ArrayBuffer[]) {
  type Numbers = Float64Array;
  return buffers.map((buffer) => new Float64Array(buffer)) as [Numbers, Numbers, Numbers, Numbers, Numbers];
}

/** A window of another size around a place, kept inside `[0, end)`. */
export function zoomed([start, stop]: [number, number], by: number, at: number, end: number): [number, number] {
  const size = Math.max(1, Math.min(end, Math.round((stop - start) * by)));
  const share = (at - start) / (stop - start);
  const from = Math.max(0, Math.min(end - size, Math.round(at - share * size)));
  return [from, from + size];
}

export function gridText(grid: GridPicture | null | undefined): string {
  return grid && isNarrowed(grid) ? `${grid.axes.join(",")};${spansText(grid.window)};${grid.array}` : "";
}

export function filesText({ open, slices, ...others }: Query): string {
  const texts = Object.entries(others).map(([name, value]) => [name, String(value)]);
  const lists = Object.entries({ slices: slices ?? [], open: open ?? [] });
  return `${new URLSearchParams([...texts, ...lists.flatMap(([name, list]) => list.map((text) => [name, text]))])}`;
}

const SORTS = ["name", "ranges", "bytes", "share", "size", "state", "date"];

/** What `filesText` wrote; what is no such thing is left out. */
export function filesQuery(text: string): Query {
  const found = new URLSearchParams(text);
  const one = (name: string, allowed: string[]) => (allowed.includes(found.get(name) ?? "") ? found.get(name) : null);
  const number = (name: string) => (/^-?\d+(\.\d+)?$/.test(found.get(name) ?? "") ? Number(found.get(name)) : null);
  return {
    array: found.get("array"),
    slices: found.has("slices") ? found.getAll("slices") : null,
    find: found.get("find") ?? "",
    since: number("since"),
    until: number("until"),
    sort: (one("sort", SORTS) ?? "set") as Query["sort"] & string,
    descending: found.get("descending") === "true",
    fold: (one("fold", ["folder", "host"]) ?? "none") as Query["fold"] & string,
    open: found.getAll("open"),
  };
}

export function spansText(window: Span[]): string {
  return window.map((span) => span.join("-")).join(",");
}

/** What `spansText` wrote; null for what is no such thing. */
export function readSpans(text: string | null): Span[] | null {
  const spans = text?.split(",").map((span) => span.split("-").map(Number)) ?? [];
  return spans.length > 0 && spans.every((span) => span.length === 2 && span.every(Number.isInteger))
    ? (spans as Span[])
    : null;
}

/** Whole numbers, none if one is not. */
export function indices(text: string): number[] {
  const found = text === "" ? [] : text.split(",").map(Number);
  return found.every((at) => Number.isInteger(at) && at >= 0) ? found : [];
}
