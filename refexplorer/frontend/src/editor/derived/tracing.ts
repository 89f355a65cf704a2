/** From a row to the text that it comes from, and from a place in the text to its rows. */

import { Newest } from "../../shared/newest.ts";
import { Store } from "../../shared/store.ts";
import type { RowWindow } from "../../shared/rows/window.ts";
import type { Derivation, EditorRow, EditorWire, Uses } from "../../shared/wire.ts";

export interface TracingState {
  /** The chosen row; −1 for none. */
  active: number;
  derivation: Derivation | null;
  /** Of the text that the places in the derivation are counted in. */
  version: number;
  /** Why the chosen row is not explained. */
  trouble: string | null;
  uses: Uses | null;
  /** A row to scroll to; another object each time. */
  target: { index: number } | null;
}

const NOTHING: TracingState = { active: -1, derivation: null, version: -1, trouble: null, uses: null, target: null };

/** Milliseconds without a change. */
const PAUSE = 300;

export class Tracing extends Store<TracingState> {
  private readonly wire: EditorWire;
  private readonly rows: RowWindow<EditorRow>;
  private readonly explained = new Newest<string | number>((row) => this.explain(row));
  private readonly used = new Newest<boolean>((moved) => this.find(moved));
  private pointer = "";
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(wire: EditorWire, rows: RowWindow<EditorRow>) {
    super(NOTHING);
    this.wire = wire;
    this.rows = rows;
  }

  /** Chooses a row by its number, and scrolls to it. */
  choose(index: number): void {
    if (this.rows.total === 0) return;
    const active = Math.min(Math.max(0, index), this.rows.total - 1);
    this.set({ active, target: { index: active } });
    void this.explained.ask(active);
  }

  close(): void {
    this.set({ active: -1, derivation: null, trouble: null });
  }

  /** The cursor is in another part of the text. */
  at(pointer: string): void {
    if (pointer === this.pointer) return;
    this.pointer = pointer;
    void this.used.ask(true);
  }

  /** The text makes other rows by now: what is shown of the old ones is asked for again. */
  refresh(): void {
    const { derivation } = this.state;
    if (derivation !== null) void this.explained.ask(derivation.key);
    clearTimeout(this.timer);
    // The rows of the text at the cursor wait until typing pauses: they must not hold up the table.
    this.timer = setTimeout(() => this.pointer !== "" && void this.used.ask(false), PAUSE);
  }

  private async explain(row: string | number): Promise<void> {
    try {
      const key = typeof row === "string" ? row : await this.keyAt(row);
      if (key === undefined) return;
      const { derivation, version } = await this.wire.request("explain", { key });
      const isCurrent = typeof row === "string" || row === this.state.active;
      if (this.state.active < 0 || !isCurrent) return;
      this.set({ derivation, version, trouble: null, active: Number(derivation.row) });
    } catch (error) {
      this.set({ derivation: null, trouble: (error as Error).message });
    }
  }

  private async keyAt(index: number): Promise<string | undefined> {
    const row = this.rows.fresh(index);
    if (row) return row.key;
    const reply = await this.wire.request("rows", { start: index, n: 1 });
    return reply.rows[0]?.key;
  }

  private async find(moved: boolean): Promise<void> {
    try {
      const { uses } = await this.wire.request("uses", { pointer: this.pointer });
      const first = uses.ranges[0];
      // A chosen row among them stays in view.
      const away = moved && first !== undefined && !isUsed(uses, this.state.active);
      this.set({ uses, target: away ? { index: Number(first[0]) } : this.state.target });
    } catch {
      // Nothing lights up: the text has made no rows yet, or they cannot be told apart.
      this.set({ uses: null });
    }
  }
}

/** Whether a row is one of those that the text at the cursor makes. */
export function isUsed(uses: Uses | null, index: number): boolean {
  return uses?.ranges.some(([first, end]) => Number(first) <= index && index < Number(end)) ?? false;
}
