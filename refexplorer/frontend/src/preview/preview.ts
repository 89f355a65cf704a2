/** What the preview knows and does: the part of an array that is wanted, its cost, its values. */

import type { Off } from "../shared/host.ts";
import { keep, kept } from "../explorer/layout.ts";
import { Newest } from "../shared/waiting.ts";
import { Store } from "../shared/store.ts";
import { frameOf, Frames, type Integers } from "./time/frames.ts";
import type { Plan, JobProgress, ReadingModel, Reply, ExplorerWire, ValueTraced, ValuePlace } from "../shared/wire.ts";

/** What is being read or was read. */
export interface Job {
  array: string;
  slices: string[];
  id: string | null;
  progress: JobProgress | null;
  /** What came last; while another part of the array is read, it may be of the part before. */
  reading: ReadingModel | null;
  values: Float64Array | null;
  /** The same as integers, or ticks of times, where float64 does not have them all exactly. */
  integers: Integers | null;
  error: string | null;
  /** Whether it was stopped before all was there. */
  isStopped?: boolean;
}

export interface PreviewState {
  /** The part that is wanted; null until its cost is known. */
  plan: Plan | null;
  planError: string | null;
  /** The part that was asked for last; null where it is that of a first look. */
  wanted: string[] | null;
  /** Up to so many bytes another part is read without being asked for, once one was read. */
  bound: number;
  /** Bytes of the first picture of an array; null for that of the set. */
  budget: number | null;
  /** Whether the part was asked for, and is not that of a first look. */
  isChosen: boolean;
  job: Job | null;
  /** Whether scale, offset and missing values are applied, and times read as such. */
  scale: boolean;
  times: boolean;
  /** Of structured values; null for the first that has numbers, empty for all as text. */
  field: string | null;
}

function blankOf({ shape }: ReadingModel): Float64Array {
  return new Float64Array(shape.reduce((product, size) => product * size, 1)).fill(NaN);
}

/** Puts the values of boxes, one after the other, where they are among the cells. */
export function put(cells: Float64Array, shape: number[], boxes: [number, number][][], values: Float64Array): void {
  let from = 0;
  for (const box of boxes) {
    const [start, stop] = box.at(-1) ?? [0, 1];
    const width = stop - start;
    const outer = box.slice(0, -1);
    const rows = outer.reduce((product, [low, high]) => product * (high - low), 1);
    for (let row = 0; row < rows; row++) {
      let [left, offset, stride] = [row, start, shape.at(-1) ?? 1];
      for (let axis = outer.length - 1; axis >= 0; axis--) {
        const [low, high] = outer[axis]!;
        offset += (low + (left % (high - low))) * stride;
        left = Math.floor(left / (high - low));
        stride *= shape[axis]!;
      }
      cells.set(values.subarray(from, from + width), offset);
      from += width;
    }
  }
}

/** Milliseconds after a picture in which no other is asked for, before its cost is asked again. */
const RESTING = 200;

interface Wish {
  array: string;
  /** Of which turn it is: an answer that comes in a later one is of no use any more. */
  turn: number;
  /** Of a chunk; null with null slices: what a first look shows. */
  index: number[] | null;
  slices: string[] | null;
  /** Only the cost is asked again. */
  again?: boolean;
  /** It is on screen, and was here: its code is to be made. */
  shown?: boolean;
}

interface FirstReading {
  id: string;
  reply: Promise<Reply<{ reading: ReadingModel }>>;
  /** Which array it is of, and how it is decoded. */
  how: string;
}

export class Preview extends Store<PreviewState> {
  private readonly wire: ExplorerWire;
  private readonly done: () => void;
  private readonly plans: Newest<Wish>;
  private readonly offs: Off[];
  private readonly frames = new Frames();
  /** The array that was looked at last, whose plan may not be here yet. */
  array: string | null = null;
  /** Counts what makes answers that are on their way outdated: another array, chunk or set, a picture that was here. */
  private turn = 0;
  private resting: ReturnType<typeof setTimeout> | undefined;

  /** `done` is called when chunks were read. */
  constructor(wire: ExplorerWire, done: () => void) {
    super({
      plan: null,
      planError: null,
      wanted: null,
      bound: kept().bound,
      budget: kept().budget,
      isChosen: false,
      job: null,
      scale: true,
      times: true,
      field: null,
    });
    this.wire = wire;
    this.done = done;
    this.plans = new Newest((wish) => this.ask(wish));
    this.offs = [
      wire.on("progress", (message) => this.progress(message)),
      wire.on("cells", ({ job, reading, boxes }, [buffer]) => {
        const { job: mine } = this.state;
        if (mine?.id !== job || buffer === undefined) return;
        const isFirst =
          mine.reading?.slices !== reading.slices && mine.reading?.slices.join() !== reading.slices.join();
        const values = isFirst || mine.values === null ? blankOf(reading) : mine.values;
        put(values, reading.shape, boxes, new Float64Array(buffer));
        this.set({ job: { ...mine, reading, values, integers: null } });
      }),
    ];
  }

  close(): void {
    for (const off of this.offs) off();
    clearTimeout(this.resting);
  }

  /** The set is another one. */
  forget(): void {
    this.frames.clear();
    this.turnTo(null);
    this.set({ plan: null, planError: null, wanted: null, job: null });
  }

  /** Looks at an array, or at one chunk of it. */
  look(array: string, index: number[] | null): void {
    const { plan, job } = this.state;
    this.turnTo(array);
    // Until this array is selected, that of the one before stays in sight.
    const own = plan?.array === array ? { plan: null } : {};
    this.set({ ...own, planError: null, wanted: null, ...(job?.array !== array ? { field: null } : {}) });
    this.plan({ array, index, slices: null });
  }

  private turnTo(array: string | null): void {
    this.array = array;
    this.turn += 1;
  }

  private plan(wish: Omit<Wish, "turn">): void {
    clearTimeout(this.resting);
    void this.plans.ask({ ...wish, turn: this.turn });
  }

  /** Selects another part of the array; a part that needs no request is shown at once. */
  want(array: string, slices: string[]): void {
    if (array !== this.array) this.turnTo(array);
    if (this.show(array, slices)) return;
    this.set({ wanted: slices });
    this.plan({ array, index: null, slices });
  }

  /** Shows a part that is here; says whether it is. */
  private show(array: string, slices: string[]): boolean {
    const { plan, job } = this.state;
    const frame = plan?.array === array ? this.frames.get(this.nameOf(array, slices)) : null;
    if (!plan || !frame) return false;
    this.turn += 1;
    const estimate = {
      ...plan.estimate,
      bytes: 0,
      requests: 0,
      targets: [],
      label: "Show what was read before",
      chunks: 0,
    };
    this.set({
      plan: { ...plan, slices, estimate },
      planError: null,
      wanted: slices,
      isChosen: true,
      job: { array, slices, id: null, progress: null, ...frame, error: null },
    });
    if (job?.id) this.wire.cancel(job.id);
    this.askAgain(array, slices, true);
    return true;
  }

  private nameOf(array: string, slices: string[]): string {
    return JSON.stringify([array, slices, this.state.scale, this.state.times, this.state.field]);
  }

  /** Has the cost of what is shown asked again, once nothing else is asked for. */
  private askAgain(array: string, slices: string[], shown = false): void {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.plan({ array, index: null, slices, again: true, shown }), RESTING);
  }

  /** Reads what the plan is of, once its place is allowed. */
  async allowAndRead(grant: string): Promise<void> {
    try {
      await this.wire.request("allow", { grant });
      const { plan } = this.state;
      if (plan !== null) this.set({ plan: { ...plan, grant: null } });
      await this.read();
    } catch (error) {
      this.set({ planError: (error as Error).message });
    }
  }

  /** @param first - The request for these values, where they were asked for together with the plan. */
  async read(first?: Omit<FirstReading, "how">): Promise<void> {
    const { plan, scale, times, field } = this.state;
    if (plan === null) return;
    const { array, slices } = plan;
    const name = this.nameOf(array, slices);
    const asked = first ?? this.wire.job("chunk.read", { array, slices, scale, times, field }, true);
    const before = this.state.job?.array === array && this.state.job.reading?.state !== "ask" ? this.state.job : null;
    const [reading, values, integers] = [before?.reading ?? null, before?.values ?? null, before?.integers ?? null];
    this.set({ job: { array, slices, id: asked.id, progress: null, reading, values, integers, error: null } });
    try {
      const { message, buffers } = await asked.reply;
      const frame = frameOf(message.reading, buffers);
      this.frames.keep(name, frame);
      const isMine = this.state.job?.id === asked.id;
      this.finish(asked.id, frame);
      this.done();
      if (message.reading.state === "ask" || !isMine || array !== this.array) return;
      const { wanted, plan } = this.state;
      // Another chunk may have been looked at since: what was read must not take its place.
      if ((wanted ?? plan?.slices)?.join() === slices.join()) this.askAgain(array, slices);
      else if (wanted !== null) this.plan({ array, index: null, slices: wanted });
    } catch (error) {
      this.finish(asked.id, { error: (error as Error).message });
    }
  }

  /** Reads again with other decoding; the chunks are here already. */
  decode(change: { scale?: boolean; times?: boolean; field?: string }): void {
    this.set(change);
    if (this.state.job?.reading) void this.read();
  }

  /** Grants the access that a reading asked for, then reads again. */
  async allow(job: Job): Promise<void> {
    try {
      const grant = job.reading?.grant;
      if (grant) await this.wire.request("allow", { grant });
      await this.read();
    } catch (error) {
      this.set({ job: { ...job, reading: null, error: (error as Error).message } });
    }
  }

  /** Asks why a value is what it is; its chunk is read, or is here already. */
  async why(array: string, index: number[]): Promise<ValueTraced> {
    return (await this.wire.job("value.why", { array, index }, true).reply).message;
  }

  /** Has parts read that will be asked for next, and their pictures sent; what fails is said when they are. */
  async readAhead(array: string, parts: string[][]): Promise<void> {
    const { bound, scale, times, field } = this.state;
    const missing = parts.filter((slices) => !this.frames.has(this.nameOf(array, slices)));
    if (missing.length === 0) return;
    try {
      const { message } = await this.wire.job("chunk.ahead", { array, parts: missing, budget: bound }, true).reply;
      for (const slices of missing.slice(0, message.parts)) {
        const name = this.nameOf(array, slices);
        if (this.frames.has(name)) continue;
        const {
          message: { reading },
          buffers,
        } = await this.wire.job("chunk.read", { array, slices, scale, times, field, ahead: true }, true).reply;
        if (name === this.nameOf(array, slices)) this.frames.keep(name, frameOf(reading, buffers));
      }
    } catch {
      // It is asked for again when it is wanted, and says then what failed.
    }
  }

  /** Every value of a part as a file; of CSV and npy `axes` are the sides. */
  async save(
    array: string,
    slices: string[],
    form: "netcdf" | "csv" | "npy",
    axes: number[],
  ): Promise<{ file: string; bytes: ArrayBuffer }> {
    const { scale, times, field } = this.state;
    const { message, buffers } = await this.wire.job(
      "slice.save",
      { array, slices, form, axes, scale, times, field },
      true,
    ).reply;
    return { file: message.name, bytes: buffers[0]! };
  }

  /** One value with every digit; null if its chunk is no longer here. */
  async valueAt(array: string, index: number[]): Promise<string | null> {
    const { scale, times, field } = this.state;
    return (await this.wire.job("value.read", { array, index, scale, times, field }, true).reply).message.text;
  }

  /** Where the bytes of a value are. */
  async placeOf(array: string, index: number[]): Promise<ValuePlace> {
    return this.wire.request("value.place", { array, index });
  }

  cancel(): void {
    const { job } = this.state;
    const isOld = job?.reading?.slices.join() !== job?.slices.join();
    this.set({ job: job?.reading && !isOld ? { ...job, id: null, progress: null, isStopped: true } : null });
    if (job?.id) this.wire.cancel(job.id);
  }

  /** Asks for the values of a first look; Python reads none that need consent or are too many. */
  private readFirst({ array, index }: Wish): FirstReading {
    const { scale, times, budget } = this.state;
    const asked = this.wire.job("chunk.read", { array, index, scale, times, first: true, budget }, true);
    asked.reply.catch(() => undefined); // nobody waits for it where the plan says otherwise
    return { ...asked, how: this.nameOf(array, []) };
  }

  private async ask(wish: Wish): Promise<void> {
    let first: FirstReading | null = null;
    try {
      if (wish.turn !== this.turn) return;
      const { array, index, slices, shown = false } = wish;
      const planned = this.wire.request("slice.plan", { array, index, slices, shown, budget: this.state.budget });
      // With the plan: a round trip takes as long as the reading of what is near.
      if (slices === null && this.state.job?.array !== array) first = this.readFirst(wish);
      const { plan } = await planned;
      if (wish.turn !== this.turn) return;
      const asked = wish.slices !== null && this.state.wanted?.join() === wish.slices.join();
      this.set({
        plan,
        planError: null,
        // As the plan writes it, unless another part was asked for since: -1 is the last place.
        wanted: asked ? plan.slices : this.state.wanted,
        isChosen: wish.slices !== null && (this.state.isChosen || !wish.again),
      });
      const { job } = this.state;
      const seen = job?.array === plan.array && job.reading !== null && job.reading.state !== "ask";
      const other = job?.array !== plan.array || job.slices.join() !== plan.slices.join();
      // One at a time: when it is here, what was wanted meanwhile is looked at again.
      if (seen && other && job.id === null && this.isCheap(plan)) void this.read();
      else if (!wish.again && !seen && other && this.isFirst(plan)) {
        // Unless they are to be decoded in another way since.
        const isThis = first?.how === this.nameOf(array, []);
        void this.read(isThis ? first! : undefined);
        if (isThis) first = null;
      }
    } catch (error) {
      if (wish.turn === this.turn) this.set({ planError: (error as Error).message });
    } finally {
      if (first !== null) this.wire.cancel(first.id);
    }
  }

  /** Whether a part may be read without a word: one of the array was, so it is allowed. */
  private isCheap({ estimate }: Plan): boolean {
    return estimate.requests === 0 || (estimate.bytes !== null && Number(estimate.bytes) <= this.state.bound);
  }

  /** Whether the first picture of an array is drawn without a question. */
  private isFirst({ estimate, grant, budget }: Plan): boolean {
    const most = this.state.budget ?? budget;
    return grant === null && estimate.bytes !== null && Number(estimate.bytes) <= Number(most);
  }

  setBound(bound: number): void {
    this.set({ bound });
    keep({ bound });
    const { plan } = this.state;
    if (plan) this.plan({ array: plan.array, index: null, slices: plan.slices, again: true });
  }

  /** Sets the number of bytes for first pictures, and shows the array again. */
  setBudget(array: string, budget: number): void {
    this.set({ budget });
    keep({ budget });
    this.look(array, null);
  }

  private progress(message: JobProgress): void {
    const { job } = this.state;
    if (job && job.id === message.id) {
      this.set({ job: { ...job, progress: message } });
    }
  }

  private finish(id: string, part: Partial<Job>): void {
    const { job } = this.state;
    if (job?.id === id) this.set({ job: { ...job, ...part, id: null, progress: null } });
  }
}
