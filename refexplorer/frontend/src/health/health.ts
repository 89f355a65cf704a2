/** The arrays of a set with their chunks by state, as far as they are known by now. */

import { Newest, ViewStore } from "../shared/waiting.ts";
import type { AxisMark, ExplorerOperations, ExplorerWire, HealthCounts, HealthPage } from "../shared/wire.ts";

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
  /** What the metadata say, until the chunks are counted. */
  listed: HealthPage | null;
  error: string | null;
  sort: HealthSort;
  descending: boolean;
  /** How many rows are shown. */
  shown: number;
}

export class Health extends ViewStore<HealthState> {
  readonly counting = this.waiting();
  private readonly changed: () => void;
  private readonly asking = new Newest<void>(() => this.ask());

  /** `changed` is called with each answer. */
  constructor(wire: ExplorerWire, changed: () => void) {
    super(wire, { page: null, listed: null, error: null, sort: "trouble", descending: true, shown: FEW });
    this.changed = changed;
  }

  override forget(): void {
    this.set({ page: null, listed: null, error: null, shown: FEW });
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
    const { page, listed, sort, descending, shown } = this.state;
    if (page === null && listed === null)
      // A saved page has the whole answer, and not this one.
      this.wire.request("health.arrays", { n: shown }).then(
        (found) => this.set({ listed: found }),
        () => undefined,
      );
    await this.attempt("error", async () => ({
      page: (await this.counting.ask("health.rows", { start: 0, n: shown, sort, descending })).message,
    }));
    if (this.state.error === null) this.changed();
  }
}

export type StripColour = NonNullable<ExplorerOperations["tree.strips"]["asks"]["by"]>;

interface Known {
  array: string | null;
  strips: string[];
  marks: AxisMark[];
}

const NOTHING: Known = { array: null, strips: [], marks: [] };

export class Strips extends ViewStore<Known> {
  private readonly asking = new Newest<string>((array) => this.ask(array));
  private readonly colour: () => { by: StripColour; access: string };

  constructor(wire: ExplorerWire, colour: Strips["colour"]) {
    super(wire, NOTHING);
    this.colour = colour;
  }

  look(array: string): void {
    if (array === this.state.array) return;
    this.set({ ...NOTHING, array });
    void this.asking.ask(array);
  }

  /** What is known of the chunks has changed. */
  refresh(): void {
    if (this.state.array !== null) void this.asking.ask(this.state.array);
  }

  private async ask(array: string): Promise<void> {
    try {
      const { strips, marks } = await this.wire.request("tree.strips", { array, ...this.colour() });
      if (array === this.state.array) this.set({ strips, marks });
    } catch {
      // A picture without a strip is one all the same.
    }
  }
}
