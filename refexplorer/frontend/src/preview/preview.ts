/** What the preview knows and does: the part of an array that is wanted, its cost, its values. */

import type { Off } from "../shared/host.ts";
import { Newest } from "../shared/newest.ts";
import { Store } from "../shared/store.ts";
import type { Plan, JobProgress, ReadingModel, ExplorerWire, ValueExplained } from "../shared/wire.ts";

/** What is being read or was read. */
export interface Job {
  array: string;
  slices: string[];
  id: string | null;
  progress: JobProgress | null;
  reading: ReadingModel | null;
  values: Float64Array | null;
  error: string | null;
}

export interface PreviewState {
  /** The part that is wanted; null until its cost is known. */
  plan: Plan | null;
  planError: string | null;
  job: Job | null;
  /** Whether scale, offset and missing values are applied, and times read as such. */
  scale: boolean;
  times: boolean;
}

interface Wish {
  array: string;
  /** Of a chunk; null with null slices: what a first look shows. */
  index: number[] | null;
  slices: string[] | null;
}

export class Preview extends Store<PreviewState> {
  private readonly wire: ExplorerWire;
  private readonly plans: Newest<Wish>;
  private readonly off: Off;

  constructor(wire: ExplorerWire) {
    super({ plan: null, planError: null, job: null, scale: true, times: true });
    this.wire = wire;
    this.plans = new Newest((wish) => this.ask(wish));
    this.off = wire.on("progress", (message) => this.progress(message));
  }

  close(): void {
    this.off();
  }

  /** The set is another one. */
  forget(): void {
    this.set({ plan: null, planError: null, job: null });
  }

  /** Looks at an array, or at one chunk of it. */
  look(array: string, index: number[] | null): void {
    this.set({ plan: null, planError: null });
    void this.plans.ask({ array, index, slices: null });
  }

  /** Wants another part of the array; what takes no request is shown at once. */
  want(array: string, slices: string[]): void {
    void this.plans.ask({ array, index: null, slices });
  }

  async read(): Promise<void> {
    const { plan, scale, times } = this.state;
    if (plan === null) return;
    const { array, slices } = plan;
    const asked = this.wire.job("chunk.read", { array, slices, scale, times }, true);
    this.set({ job: { array, slices, id: asked.id, progress: null, reading: null, values: null, error: null } });
    try {
      const { message, buffers } = await asked.reply;
      const values = buffers[0] ? new Float64Array(buffers[0]) : null;
      this.finish(asked.id, { reading: message.reading, values });
      if (message.reading.state !== "ask") void this.plans.ask({ array, index: null, slices });
    } catch (error) {
      this.finish(asked.id, { error: (error as Error).message });
    }
  }

  /** Reads anew with other decoding; the chunks are here already. */
  decode(change: { scale?: boolean; times?: boolean }): void {
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
  async why(array: string, index: number[]): Promise<ValueExplained> {
    return (await this.wire.job("value.why", { array, index }, true).reply).message;
  }

  cancel(): void {
    const { job } = this.state;
    this.set({ job: null });
    if (job?.id) this.wire.cancel(job.id);
  }

  private async ask(wish: Wish): Promise<void> {
    try {
      const { plan } = await this.wire.request("slice.plan", wish);
      this.set({ plan, planError: null });
      const { job } = this.state;
      const seen = job?.array === plan.array && job.reading !== null && job.reading.state !== "ask";
      const other = job?.slices.join() !== plan.slices.join();
      if (wish.slices !== null && seen && other && plan.estimate.requests === 0) void this.read();
    } catch (error) {
      this.set({ planError: (error as Error).message });
    }
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
