/** What reading costs from a place: the numbers of the set, and times that follow two sliders. */

import { Newest, viewStore } from "../shared/waiting.ts";
import type { GridWish } from "../maps/maps.ts";
import type { AccessCost, ChunkTouches, Connection, MergeRules, ReaderCost, ReadingCosts } from "../shared/wire.ts";

/** Cells of a map of chunks, by how often they are read. */
export interface TouchedChunks extends ChunkTouches {
  cells: Float64Array;
  /** The part of a picture that it is of; empty for all chunks. */
  wish: string;
}

const TEXTS = ["array", "place", "given", "reader", "access"] as const;
const NUMBERS = ["latency", "bandwidth"] as const;
export const GIVEN = "as given";
const START = {
  cost: null as ReadingCosts | null,
  error: null as string | null,
  /** Null: the one of most chunks. */
  array: null as string | null,
  place: "object-store",
  /** Where the sliders stand; null: as the place has it. */
  latency: null as number | null,
  bandwidth: null as number | null,
  /** A part, as it was last asked for. */
  given: "",
  reader: "zarr",
  /** The access whose chunks are shaded, as it was chosen. */
  access: "",
  touched: null as TouchedChunks | null,
  touchedError: null as string | null,
};
export type CostsState = typeof START;

export class Costs extends viewStore(START) {
  readonly counting = this.waiting();
  private readonly shading = this.waiting();
  private readonly asking = new Newest<void>(() => this.ask());
  /** Whether anything was asked for: an address that is read before counts nothing. */
  private begun = false;
  private wish: GridWish | null = null;
  private readonly drawing = new Newest<void>(() => this.draw());

  override forget(): void {
    this.begun = false;
    this.wish = null;
    super.forget();
  }

  /** Asks for what the state says; of changes that follow each other, for the last. */
  change(part: Partial<CostsState>): void {
    this.begun = true;
    this.set(part);
    void this.asking.ask();
    if ("array" in part || "access" in part || "given" in part) void this.drawing.ask();
  }

  /** What an address says of it; what is as it is at first is left out. */
  get text(): string {
    const found = new URLSearchParams();
    for (const name of TEXTS) {
      const value = this.state[name];
      if (value !== START[name] && value !== null) found.set(name, String(value));
    }
    for (const name of NUMBERS) {
      const value = this.state[name];
      if (value !== null) found.set(name, String(Number(value.toPrecision(6))));
    }
    return `${found}`;
  }

  /** Goes where a text says; what cannot be read of it is as it is at first. */
  restore(text: string): void {
    const asked = new URLSearchParams(text);
    const part: Partial<CostsState> = {};
    for (const name of TEXTS) Object.assign(part, { [name]: asked.get(name) ?? START[name] });
    for (const name of NUMBERS) {
      const value = Number(asked.get(name) ?? "");
      Object.assign(part, { [name]: asked.get(name) && Number.isFinite(value) && value >= 0 ? value : null });
    }
    if (this.begun) this.change(part);
    else this.set(part);
  }

  /** Shades the chunks by another access. */
  shade(access: string): void {
    this.set({ access });
    void this.drawing.ask();
  }

  /** Shades the chunks of a picture; null for all chunks of the array. */
  paint(wish: GridWish | null): void {
    if (JSON.stringify(wish) === JSON.stringify(this.wish) && this.state.touched !== null) return;
    this.wish = wish;
    void this.drawing.ask();
  }

  private async ask(): Promise<void> {
    const { array, place, latency, bandwidth, given, cost: before } = this.state;
    await this.attempt("error", async () => ({
      cost: (await this.counting.ask("cost.show", { array, place, latency, bandwidth, given })).message,
    }));
    if (before?.array !== this.state.cost?.array) void this.drawing.ask();
  }

  private async draw(): Promise<void> {
    const { cost, given } = this.state;
    const array = this.state.array ?? cost?.array ?? null;
    const access = shaded(this.state);
    if (array === null || access === null) return;
    const wish = this.wish?.array === array ? this.wish : null;
    const part = wish === null ? {} : { axes: wish.axes, window: wish.window };
    const draw = async () => {
      const { message, buffers } = await this.shading.ask("cost.touches", { array, access, given, ...part });
      return { touched: { ...message, cells: new Float64Array(buffers[0]!), wish: wish ? JSON.stringify(wish) : "" } };
    };
    await this.attempt("touchedError", draw, { otherwise: { touched: null } });
  }
}

/** The names of what is asked of an array, in the order of the bars. */
export function accesses(cost: ReadingCosts | null, array: string | null): string[] {
  return (cost?.bars ?? []).filter((bar) => bar.name !== "open" && bar.path === array).map((bar) => bar.name);
}

/** The access whose chunks are shaded: the one that was chosen, else along the first dimension; null until the accesses are known. */
export function shaded({ cost, array, access, given }: CostsState): string | null {
  const names = accesses(cost, array ?? cost?.array ?? null);
  if (names.includes(access) || (access === GIVEN && given !== "")) return access;
  return names[names.length > 2 ? 1 : 0] ?? null;
}

/** A place with the numbers of the sliders; one request is as much faster as all together. */
export function placed(state: CostsState): Connection | null {
  const { cost, latency, bandwidth } = state;
  const place = cost?.places.find((each) => each.name === state.place);
  if (!place) return null;
  const all = bandwidth ?? place.bandwidth;
  return {
    ...place,
    latency: latency ?? place.latency,
    bandwidth: all,
    stream: place.stream * (all / place.bandwidth),
  };
}

/** Seconds of a reader from a place, as `Connection.seconds` of Python computes them. */
export function secondsOf(cost: ReaderCost, readers: MergeRules[], place: Connection): number | null {
  if (cost.reads === null) return cost.seconds;
  const most = Number(readers.find(({ name }) => name === cost.reader)?.at_once ?? 1);
  const atOnce = Math.min(most, Number(place.concurrency ?? most));
  return cost.reads.reduce((total, read) => {
    const [requests, size, largest] = read.map(Number) as [number, number, number];
    const lines = Math.min(Math.min(requests, atOnce) * place.stream, place.bandwidth);
    const sending = Math.max(largest / place.stream, size / Math.max(lines, 1));
    return total + Math.ceil(requests / atOnce) * place.latency + sending;
  }, 0);
}

/** 0.0312 → "31 ms", 4.2 → "4.2 s", 7200 → "2 h". */
export function duration(seconds: number): string {
  if (seconds === 0) return "0 s";
  if (seconds < 0.9995) return `${Number((seconds * 1000).toPrecision(2))} ms`;
  if (seconds < 99.5) return `${Number(seconds.toPrecision(2))} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600).toLocaleString("en")} h`;
}

/** Bytes that are fetched for those that are used, as far as both are known. */
export function wasteOf(bar: AccessCost): number | null {
  if (bar.used === null || bar.decoded === null || Number(bar.decoded) === 0) return null;
  return 1 - Number(bar.used) / Number(bar.decoded);
}
