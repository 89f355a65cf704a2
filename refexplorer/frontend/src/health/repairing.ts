/** Repairing the set: what was found, and what was written. */

import { Store } from "../shared/store.ts";
import type { ExplorerWire, JobProgress, RepairShown, RepairWritten } from "../shared/wire.ts";

interface RepairingState {
  /** Of what runs. */
  id: string | null;
  progress: JobProgress | null;
  found: RepairShown | null;
  written: RepairWritten | null;
  error: string | null;
}

const BLANK: RepairingState = { id: null, progress: null, found: null, written: null, error: null };

export class Repairing extends Store<RepairingState> {
  private readonly wire: ExplorerWire;
  private readonly off: () => void;

  constructor(wire: ExplorerWire) {
    super(BLANK);
    this.wire = wire;
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

  /** Finds what can be repaired; files of `grant` may be read from now on. */
  async plan(grant: string | null = null): Promise<void> {
    this.set(BLANK);
    try {
      if (grant !== null) await this.wire.request("allow", { grant });
      const { id, reply } = this.wire.job("repair.plan", {}, true);
      this.set({ id });
      this.set({ id: null, found: (await reply).message });
    } catch (error) {
      this.set({ id: null, error: (error as Error).message });
    }
  }

  async write(output: string): Promise<void> {
    try {
      const { id, reply } = this.wire.job("repair.write", { output }, true);
      this.set({ id, progress: null, error: null });
      this.set({ id: null, written: (await reply).message });
    } catch (error) {
      this.set({ id: null, error: (error as Error).message });
    }
  }

  stop(): void {
    if (this.state.id !== null) this.wire.cancel(this.state.id);
  }
}
