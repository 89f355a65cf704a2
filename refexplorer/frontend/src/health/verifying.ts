/** The comparison of a set with what its files say of themselves. */

import { Store } from "../shared/store.ts";
import type { ExplorerWire, JobProgress, SetVerified } from "../shared/wire.ts";

export interface VerifyingState {
  /** Of the comparison that runs. */
  id: string | null;
  progress: JobProgress | null;
  found: SetVerified | null;
  error: string | null;
  /** Whether values of some chunks are compared, too. */
  values: boolean;
}

const BLANK: VerifyingState = { id: null, progress: null, found: null, error: null, values: false };

export class Verifying extends Store<VerifyingState> {
  private readonly wire: ExplorerWire;
  private readonly off: () => void;
  private readonly changed: () => void;

  /** `changed` is called when something was found. */
  constructor(wire: ExplorerWire, changed: () => void) {
    super(BLANK);
    this.wire = wire;
    this.changed = changed;
    this.off = wire.on("progress", (message) => this.progress(message));
  }

  close(): void {
    this.off();
  }

  /** The set is another one. */
  forget(): void {
    this.set({ ...BLANK, values: this.state.values });
  }

  /** Shows what was found before, maybe by Python. */
  async look(): Promise<void> {
    const { found } = await this.wire.request("verify.last", {});
    if (found !== null && this.state.id === null) this.set({ found });
  }

  /** Compares the set with its files; those of `grant` may be read from now on. */
  async start(grant: string | null): Promise<void> {
    try {
      if (grant !== null) await this.wire.request("allow", { grant });
      const asked = this.wire.job("verify", { values: this.state.values }, true);
      this.set({ id: asked.id, progress: null, error: null });
      this.set({ id: null, found: (await asked.reply).message });
      this.changed();
    } catch (error) {
      this.set({ id: null, error: (error as Error).message });
    }
  }

  stop(): void {
    if (this.state.id !== null) this.wire.cancel(this.state.id);
  }

  private progress(message: JobProgress): void {
    if (message.id === this.state.id) this.set({ progress: message });
  }
}
