/** The arrays of a set with their chunks by state, as far as they are known by now. */

import { Newest } from "../shared/newest.ts";
import { Store } from "../shared/store.ts";
import { Waiting } from "../shared/waiting.ts";
import type { ExplorerOperations, ExplorerWire, HealthCounts, HealthPage } from "../shared/wire.ts";

export type HealthSort = ExplorerOperations["health.rows"]["asks"]["sort"];
/** Those of which the chunks can be listed. */
export type ChunkState = keyof Omit<HealthCounts, "chunks">;

/** The states, with what is said of chunks of each. */
export const STATE_NAMES: Record<ChunkState, string> = {
  referenced: "with a reference",
  absent: "without a reference",
  rejected: "rejected",
  failed: "failed",
  unread: "not read",
  differing: "different from their file",
  overlapping: "that share bytes with another reference",
};

/** Rows that the table begins with, and how many more it shows at a time. */
export const FEW = 12;
const MORE = 200;

export interface HealthState {
  page: HealthPage | null;
  error: string | null;
  sort: HealthSort;
  descending: boolean;
  /** How many rows are shown. */
  shown: number;
}

export class Health extends Store<HealthState> {
  readonly counting: Waiting;
  private readonly wire: ExplorerWire;
  private readonly changed: () => void;
  private readonly asking = new Newest<void>(() => this.ask());

  /** `changed` is called with each answer. */
  constructor(wire: ExplorerWire, changed: () => void) {
    super({ page: null, error: null, sort: "trouble", descending: true, shown: FEW });
    this.wire = wire;
    this.changed = changed;
    this.counting = new Waiting(this.wire);
  }

  close(): void {
    this.counting.close();
  }

  /** The set is another one. */
  forget(): void {
    this.set({ page: null, error: null, shown: FEW });
  }

  /** Asks how the arrays are by now. */
  load(): void {
    void this.asking.ask();
  }

  sortBy(sort: HealthSort): void {
    const again = this.state.sort === sort;
    this.set({ sort, descending: again ? !this.state.descending : sort !== "path" && sort !== "times" });
    this.load();
  }

  showMore(): void {
    this.set({ shown: this.state.shown + MORE });
    this.load();
  }

  private async ask(): Promise<void> {
    const { sort, descending, shown } = this.state;
    try {
      const { message } = await this.counting.ask("health.rows", { start: 0, n: shown, sort, descending });
      this.set({ page: message, error: null });
      this.changed();
    } catch (error) {
      this.set({ error: (error as Error).message });
    }
  }
}
