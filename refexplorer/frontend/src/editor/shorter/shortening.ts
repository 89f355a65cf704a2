/** The search for a shorter text: running, found, put into the editor, or put back. */

import type { Host, Off } from "../../shared/host.ts";
import { Store } from "../../shared/store.ts";
import type { EditorWire, JobProgress, Shorter } from "../../shared/wire.ts";

export interface ShorteningState {
  /** The id of the search while it runs. */
  job: string | null;
  progress: JobProgress | null;
  shorter: Shorter | null;
  /** Whether the shorter text is in the editor. */
  taken: boolean;
  trouble: string | null;
}

const START: ShorteningState = { job: null, progress: null, shorter: null, taken: false, trouble: null };

export class Shortening extends Store<ShorteningState> {
  private readonly wire: EditorWire;
  private readonly host: Host;
  private readonly off: Off;

  constructor(wire: EditorWire, host: Host) {
    super(START);
    this.wire = wire;
    this.host = host;
    this.off = wire.on("progress", (message) => this.progress(message));
  }

  close(): void {
    this.off();
  }

  async find(): Promise<void> {
    const asked = this.wire.job("shorten", {}, true);
    this.set({ ...START, job: asked.id });
    try {
      const { shorter } = (await asked.reply).message;
      if (this.state.job === asked.id) this.set({ shorter, job: null });
    } catch (error) {
      if (this.state.job === asked.id) this.set({ trouble: (error as Error).message, job: null });
    }
  }

  /** Stops the search; what it found until now is of no use. */
  cancel(): void {
    const { job } = this.state;
    if (job !== null) this.wire.cancel(job);
  }

  /** Puts the shorter text into the editor, or the one that was there before it; returns it. */
  async put(taken: boolean): Promise<string | null> {
    try {
      const { document } = await this.wire.request("shorten.put", { back: !taken });
      // Python holds it already; a notebook has it in a trait.
      this.host.set("document", document);
      this.set({ taken, trouble: null });
      return document;
    } catch (error) {
      this.set({ trouble: (error as Error).message });
      return null;
    }
  }

  private progress(message: JobProgress): void {
    if (message.id === this.state.job) this.set({ progress: message });
  }
}
