/** One piece of work that a person starts: running, answered, or failed. */

import { Store } from "./store.ts";
import type { ExplorerOperations, ExplorerWire, JobProgress } from "./wire.ts";

export interface WorkState<A> {
  /** Of what runs. */
  id: string | null;
  progress: JobProgress | null;
  /** What came last. */
  found: A | null;
  error: string | null;
}

const BLANK = { id: null, progress: null, found: null, error: null };

export class Work<K extends keyof ExplorerOperations> extends Store<WorkState<ExplorerOperations[K]["reply"]>> {
  private readonly wire: ExplorerWire;
  private readonly op: K;
  private readonly off: () => void;

  constructor(wire: ExplorerWire, op: K) {
    super(BLANK);
    this.wire = wire;
    this.op = op;
    this.off = wire.on("progress", (message) => {
      if (message.id === this.state.id) this.set({ progress: message });
    });
  }

  close(): void {
    this.off();
  }

  /** The set is another one. */
  forget(): void {
    this.set(BLANK);
  }

  /** Starts; files of `grant` may be read from now on. */
  async start(fields: ExplorerOperations[K]["asks"], grant: string | null = null): Promise<void> {
    this.set({ error: null });
    await this.attempt(
      "error",
      async () => {
        if (grant !== null) await this.wire.request("allow", { grant });
        const { id, reply } = this.wire.job(this.op, fields, true);
        this.set({ id, progress: null });
        return { id: null, found: (await reply).message };
      },
      { otherwise: { id: null } },
    );
  }

  stop(): void {
    if (this.state.id !== null) this.wire.cancel(this.state.id);
  }
}
