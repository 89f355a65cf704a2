/** What Python works on for longer than a moment: how far it is, and a way to stop it. */

import type { Off } from "./host.ts";
import { Store } from "./store.ts";
import type { ExplorerOperations, ExplorerWire, JobProgress, Reply } from "./wire.ts";

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

/** What `<progress>` takes; without a value it shows that something goes on, not how far it is. */
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

  /** Something that takes long. */
  protected waiting(): Waiting {
    return this.closing(new Waiting(this.wire));
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

/** One piece of work at a time; a new one takes the place of what was asked before. */
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

  /** Waits no more: what was asked has nobody left who would answer. */
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
