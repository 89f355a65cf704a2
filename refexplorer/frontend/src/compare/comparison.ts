/** Comparison with another set: what differs, how the chunks of a map changed, one chunk in both. */

import { Newest, ViewStore } from "../shared/waiting.ts";
import { RowWindow } from "../shared/rows/window.ts";
import type { ChangeRow, Changes, ComparedChunk, ComparisonSummary, ExplorerWire } from "../shared/wire.ts";
import { type GridPicture, pictured, type Span } from "../maps/maps.ts";
import { type Integers, integersOf } from "../preview/time/frames.ts";
import { keep, keptTexts } from "../shared/browser.ts";

export interface ChangePicture extends Changes {
  /** The picture that it belongs to. */
  of: GridPicture;
  /** Chunks of each change: kinds × rows × columns. */
  perChange: Float64Array;
}

/** The values of a chunk before, after, and after less before. */
export interface ChunkPictures {
  answer: ComparedChunk;
  values: [Float64Array, Float64Array, Float64Array] | null;
  /** Those before and after as integers, where float64 does not have them all exactly. */
  integers: [Integers | null, Integers | null];
}

/** Which of the keys that differ are listed. */
export interface Listed {
  change: string | null;
  /** Those below it alone; empty: all. */
  folder: string;
}

const ALL: Listed = { change: null, folder: "" };
const BLANK = {
  /** Null until it was asked for. */
  compared: null as ComparisonSummary | null,
  /** What an address calls the other set; empty for none, and for one that Python handed over. */
  source: "",
  /** Null if there is nothing to compare with. */
  changes: null as ChangePicture | null,
  listed: ALL as Listed,
  /** The chunk that was read in both sets last. */
  chunk: null as ChunkPictures | null,
  /** The map of an array that is no longer there, where one is looked at. */
  gone: null as GridPicture | null,
  /** The chunk of it that was chosen: the tree does not have it. */
  goneChunk: null as string | null,
  chunkError: null as string | null,
  error: null as string | null,
};
export type ComparingState = typeof BLANK;

export class Comparing extends ViewStore<ComparingState> {
  readonly rows: RowWindow<ChangeRow>;
  readonly comparing = this.waiting();
  readonly drawing = this.waiting();
  readonly reading = this.waiting();
  private readonly pictures = new Newest<GridPicture>((grid) => this.draw(grid));
  /** Whether another set is being opened. */
  private isNaming = false;
  /** The removed array that was asked for last; null once something else is looked at. */
  private goneWish: object | null = null;

  /** @param changed - Called when the marks of the tree may be others, and with whether to show what differs. */
  constructor(wire: ExplorerWire, changed: (isShown: boolean) => void) {
    super(wire, BLANK);
    this.rows = new RowWindow(
      (start, n) => wire.request("compare.rows", { start, n, ...this.state.listed }),
      () => this.set({}),
    );
    const close = wire.on("compared", ({ is_shown }) => {
      this.set({ ...BLANK, listed: this.state.listed, compared: this.state.compared, source: this.state.source });
      void this.load().then(() => changed(is_shown));
    });
    this.closing({ close });
  }

  /** Another set is shown: the comparison is requested again. */
  override forget(): void {
    this.goneWish = null;
    super.forget();
    this.rows.reset(0);
  }

  /** Whether there is another set. */
  get isOn(): boolean {
    return this.state.compared?.sets != null;
  }

  /** Asks what the set is compared with, and what differs. */
  async load(): Promise<void> {
    await this.attempt("error", async () => {
      const { message } = await this.comparing.ask("compare.summary", {});
      this.set({ compared: message, ...(this.isNaming ? {} : { source: message.sets?.source ?? "" }) });
      this.rows.reset(message.sets ? 1 : 0);
    });
  }

  /** Compares with the set at a path or URL; with none if it is empty. */
  async compare(source: string, isTyped = false): Promise<void> {
    this.isNaming = true;
    this.set({ error: null, source });
    await this.attempt("error", async () => {
      await this.comparing.ask("compare.with", { source, is_typed: isTyped });
      if (source !== "") remember(source);
      return source === "" ? { listed: ALL } : {};
    });
    this.isNaming = false;
  }

  /** What may be chosen by its name: what the host offers, and what was compared with before. */
  get choices(): { title: string; source: string }[] {
    const offered = this.state.compared?.offered ?? [];
    const named = new Set(offered.map(({ source }) => source));
    return [
      ...offered,
      ...recent()
        .filter((source) => !named.has(source))
        .map((source) => ({ title: source, source })),
    ];
  }

  list(listed: Partial<Listed>): void {
    this.set({ listed: { ...this.state.listed, ...listed } });
    if (this.isOn) this.rows.reset(1);
  }

  show(grid: GridPicture): void {
    if (this.isOn && this.state.changes?.of !== grid) void this.pictures.ask(grid);
  }

  /** Draws the chunks of an array that is no longer there, and chooses one of them; without a word the one of before. */
  async showGone(
    array: string,
    axes: number[] | null = null,
    window: Span[] | null = null,
    chunk: string | null = this.goneChunkOf(array),
  ): Promise<void> {
    const wish = {};
    this.goneWish = wish;
    const draw = async () => {
      const { message, buffers } = await this.drawing.ask("grid.show", { array, axes, window, before: true });
      const gone = message.map && pictured(message.map, buffers);
      return { gone, goneChunk: gone && chunk !== null && isChunkOf(gone, chunk) ? chunk : null };
    };
    await this.attempt("error", draw, { isWanted: () => this.goneWish === wish });
  }

  /** Looks at what is there again. */
  leaveGone(): void {
    this.goneWish = null;
    if (this.state.gone !== null) this.set({ gone: null, goneChunk: null });
  }

  /** Whether an array that is no longer there is looked at, or will be when its map has come. */
  get isAtGone(): boolean {
    return this.goneWish !== null;
  }

  private goneChunkOf(array: string): string | null {
    return this.state.gone?.array === array ? this.state.goneChunk : null;
  }

  /** Reads a chunk in both sets. */
  async read(key: string, grant: string | null = null): Promise<void> {
    this.set({ chunkError: null });
    const read = async () => {
      await this.allowing(grant);
      const { message, buffers } = await this.reading.ask("compare.values", { key });
      const [before, after, gap] = buffers.slice(0, 3).map((buffer) => new Float64Array(buffer));
      const integers: ChunkPictures["integers"] = [
        integersOf(buffers[3], message.before.value_type),
        integersOf(buffers[4], message.after.value_type),
      ];
      const values: ChunkPictures["values"] = gap ? [before!, after!, gap] : null;
      return { chunk: { answer: message, values, integers } };
    };
    await this.attempt("chunkError", read, { otherwise: { chunk: null } });
  }

  private async draw(grid: GridPicture): Promise<void> {
    const { array, axes, window, steps } = grid;
    await this.attempt("error", async () => {
      const { message, buffers } = await this.drawing.ask("changes.show", { array, axes, window, steps });
      const { changes } = message;
      return { changes: changes && { ...changes, of: grid, perChange: new Float64Array(buffers[0]!) } };
    });
  }
}

/** The place of a chunk in the grid, by its key. */
export function indexOf({ grid, key_start: start, separator }: GridPicture, key: string): number[] {
  return grid.length === 0 ? [] : key.slice(start.length).split(separator).map(Number);
}

function isChunkOf(picture: GridPicture, key: string): boolean {
  const { grid, key_start: start, separator } = picture;
  const index = indexOf(picture, key);
  return (
    key === start + index.join(separator) &&
    index.length === grid.length &&
    index.every((at, axis) => at >= 0 && at < Number(grid[axis]))
  );
}

const NAME = "refexplorer.compared";
const MOST = 8;

export function recent(): string[] {
  return keptTexts(NAME).slice(0, MOST);
}

/** Puts a set before the others; one whose address may carry a password is not kept. */
export function remember(source: string): void {
  if (/^[a-z0-9+]+:\/\/[^/]*@|^[a-z0-9+]+:\/\/.*\?/i.test(source)) return;
  keep(NAME, [source, ...recent().filter((each) => each !== source)].slice(0, MOST));
}
