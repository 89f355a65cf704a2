/** What Python works on for longer than a moment: how far it is, and a way to stop it. */

import type { Off } from "./host.ts";
import { Store } from "./store.ts";
import type { ExplorerOperations, ExplorerWire, JobProgress, Reply, Table, Wire } from "./wire.ts";

/** Milliseconds before there is anything to see. */
const MOMENT = 700;

/** Something that is read from a target: it may ask, wait, fail. */
export interface Asked<T> {
  id: string | null;
  progress: JobProgress | null;
  answer: T | null;
  error: string | null;
}

export interface WaitingState {
  /** Null while nothing is worked on, or only for a moment yet. */
  progress: JobProgress | null;
}

const BEGUN: JobProgress = { ev: "progress", id: "", done: null, of: null, label: "Waiting for an answer …" };

/** The attributes of `<progress>`; without a value it shows that work is running, not how much is done. */
export function measured(progress: JobProgress | null): { max?: number; value?: number } {
  if (progress === null || progress.of === null || progress.done === null) return {};
  return { max: progress.of, value: progress.done };
}

/** What a view knows of a set, and what it waits for: it is forgotten with the set, and closed with the explorer. */
export class ViewStore<S extends object> extends Store<S> {
  protected readonly wire: ExplorerWire;
  private readonly start: S;
  private readonly held: { close(): void }[] = [];

  constructor(wire: ExplorerWire, start: S) {
    super(start);
    this.wire = wire;
    this.start = start;
  }

  /** A long task. */
  protected waiting(): Waiting {
    return this.closing(new Waiting(this.wire));
  }

  /** Something that is done on request. */
  protected work<K extends keyof ExplorerOperations, A = ExplorerOperations[K]["reply"]>(
    op: K,
    read?: Work<ExplorerOperations, K, A>["read"],
  ): Work<ExplorerOperations, K, A> {
    return this.closing(new Work<ExplorerOperations, K, A>(this.wire, op, read));
  }

  /** Closes something with the view. */
  protected closing<C extends { close(): void }>(made: C): C {
    this.held.push(made);
    return made;
  }

  /** Lets a place be read from, if one is named. */
  protected async allowing(grant: string | null): Promise<void> {
    if (grant !== null) await this.wire.request("allow", { grant });
  }

  close(): void {
    for (const each of this.held) each.close();
  }

  /** The set is another one. */
  forget(): void {
    this.set(this.start);
  }
}

/** The class of a `ViewStore` that begins with a state. */
export function viewStore<S extends object>(start: S) {
  return class extends ViewStore<S> {
    constructor(wire: ExplorerWire) {
      super(wire, start);
    }
  };
}

/** One piece of work at a time; a new one replaces the one before. */
export class Waiting extends Store<WaitingState> {
  private readonly wire: ExplorerWire;
  private readonly off: Off;
  private id: string | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private latest = BEGUN;
  private seen = false;

  constructor(wire: ExplorerWire) {
    super({ progress: null });
    this.wire = wire;
    this.off = wire.on("progress", (message) => this.heard(message));
  }

  close(): void {
    clearTimeout(this.timer);
    this.off();
  }

  async ask<K extends keyof ExplorerOperations>(
    op: K,
    fields: ExplorerOperations[K]["asks"],
  ): Promise<Reply<ExplorerOperations[K]["reply"]>> {
    const { id, reply } = this.wire.job(op, fields, true);
    this.begin(id);
    try {
      return await reply;
    } finally {
      if (this.id === id) this.end();
    }
  }

  cancel(): void {
    if (this.id !== null) this.wire.cancel(this.id);
  }

  /** Stops waiting: nothing is left that could respond. */
  drop(): void {
    this.end();
  }

  private begin(id: string): void {
    this.end();
    this.id = id;
    this.timer = setTimeout(() => {
      this.seen = true;
      this.set({ progress: this.latest });
    }, MOMENT);
  }

  private end(): void {
    clearTimeout(this.timer);
    this.id = null;
    this.latest = BEGUN;
    this.seen = false;
    if (this.state.progress !== null) this.set({ progress: null });
  }

  private heard(message: JobProgress): void {
    if (this.id === null || message.id !== this.id) return;
    this.latest = message;
    if (this.seen) this.set({ progress: this.latest });
  }
}

const IDLE = { id: null, progress: null, answer: null, error: null };

type Told = { progress: JobProgress };

/** Something that is done on request and may take long: how far it is, what came last, why it failed. */
export class Work<O extends Table<O>, K extends keyof O & string, A = O[K]["reply"]> extends Store<Asked<A>> {
  private readonly wire: Wire<O, Told>;
  private readonly op: K;
  private readonly read: (message: O[K]["reply"], buffers: ArrayBuffer[]) => A;
  private readonly off: Off;

  constructor(wire: Wire<O, Told>, op: K, read: Work<O, K, A>["read"] = (message) => message as unknown as A) {
    super(IDLE);
    this.wire = wire;
    this.op = op;
    this.read = read;
    this.off = wire.on("progress", (message) => message.id === this.state.id && this.set({ progress: message }));
  }

  /** Whether nothing was asked for yet. */
  get isIdle(): boolean {
    return Object.values(this.state).every((each) => each === null);
  }

  close(): void {
    this.off();
  }

  /** The set is another one. */
  forget(): void {
    this.set(IDLE);
  }

  /** Starts; files of `grant` may be read from now on. What came before stays in sight until the next comes. */
  async start(fields: O[K]["asks"], grant: string | null = null): Promise<void> {
    this.set({ error: null });
    let id: string | null = null;
    const work = async () => {
      if (grant !== null) await this.wire.job("allow" as K, { grant }).reply;
      const job = this.wire.job(this.op, fields, true);
      id = job.id;
      this.set({ id, progress: null });
      const { message, buffers } = await job.reply;
      return { ...IDLE, answer: this.read(message, buffers) };
    };
    await this.attempt("error", work, {
      otherwise: { id: null, progress: null },
      isWanted: () => this.state.id === id,
    });
  }

  stop(): void {
    if (this.state.id !== null) this.wire.cancel(this.state.id);
  }

  /** Stops, and forgets what was asked. */
  drop(): void {
    this.stop();
    this.forget();
  }
}

/**
 * Runs one at a time; of those that came meanwhile, the last one is run next and the rest never.
 * A failure is thrown to the first caller, unless a newer request followed; then that one counts.
 */
export class Newest<A> {
  private readonly run: (asked: A) => Promise<void>;
  private busy = false;
  private next: { asked: A } | null = null;

  constructor(run: (asked: A) => Promise<void>) {
    this.run = run;
  }

  get isBusy(): boolean {
    return this.busy;
  }

  async ask(asked: A): Promise<void> {
    this.next = { asked };
    if (this.busy) return;
    this.busy = true;
    let failure: { error: unknown } | null = null;
    while (this.next !== null) {
      const { asked: newest }: { asked: A } = this.next;
      this.next = null;
      failure = await this.run(newest).then(
        () => null,
        (error: unknown) => ({ error }),
      );
    }
    this.busy = false;
    if (failure !== null) throw failure.error;
  }
}
