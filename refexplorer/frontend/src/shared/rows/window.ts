/** The rows around what is on the screen; the rest stays in Python. */

import type { Count } from "../wire.ts";

export interface RowsReply<R> {
  start: Count;
  total: Count;
  rows: R[];
}

const PAGE = 60;
const KEPT = 2_000;

/** Keeps fetched rows by index. One request is in flight, and the newest wish is asked for next. */
export class RowWindow<R> {
  /** How many rows there are; `shown` has room for those that are still drawn, too. */
  total = 0;
  shown = 0;
  error: string | null = null;
  private readonly fetch: (start: number, n: number) => Promise<RowsReply<R>>;
  private readonly changed: () => void;
  private readonly rows = new Map<number, R>();
  private generation = 0;
  private busy = false;
  private wish: [number, number] = [0, 0];
  private waiting: { index: number; act: (row: R) => void } | null = null;

  constructor(fetch: (start: number, n: number) => Promise<RowsReply<R>>, changed: () => void) {
    this.fetch = fetch;
    this.changed = changed;
  }

  at(index: number): R | undefined {
    return this.rows.get(index);
  }

  /** Does something with a row; with one that is waited for once it is here, if nothing newer is to be done. */
  withRow(index: number, act: (row: R) => void): void {
    const row = this.rows.get(index);
    this.waiting = row === undefined ? { index, act } : null;
    if (row !== undefined) act(row);
  }

  /** Whether any of the rows from `start` up to and without `end` is here. */
  has(start: number, end: number): boolean {
    for (let index = start; index < end; index++) if (this.rows.has(index)) return true;
    return start >= end;
  }

  /** The row, if it is here and not one of before the last `reset`. */
  fresh(index: number): R | undefined {
    return this.stale ? undefined : this.rows.get(index);
  }

  /** Finds a row that is already here. */
  find(test: (row: R, index: number) => boolean): number {
    for (const [index, row] of this.rows) if (test(row, index)) return index;
    return -1;
  }

  /** Forgets every row: the set behind them changed. `keep` leaves them until the new ones come. */
  reset(total: Count, keep = false): void {
    this.total = Number(total);
    this.generation += 1;
    this.stale = keep && this.rows.size > 0 && this.total > 0;
    this.shown = this.stale ? Math.max(this.shown, this.total) : this.total;
    if (!this.stale) this.rows.clear();
    this.waiting = null;
    this.error = null;
    this.changed();
    void this.load();
  }

  /** Fetches the rows again, since more is known of them; the present ones stay until then. */
  refresh(): void {
    if (this.rows.size > 0) this.reset(this.total, true);
  }

  /** Forgets every row, and has some of those that take their places. */
  fill(page: RowsReply<R>): void {
    this.generation += 1;
    this.error = null;
    this.waiting = null;
    this.rows.clear();
    this.take(page);
    this.changed();
  }

  /** Says which rows are looked at: from `start` up to and without `end`. */
  want(start: number, end: number): void {
    this.wish = [Math.max(0, start), end];
    void this.load();
  }

  retry(): void {
    this.error = null;
    this.changed();
    void this.load();
  }

  /** Whether the rows that are here are to be replaced. */
  stale = false;

  private async load(): Promise<void> {
    const page = this.missing();
    if (this.busy || this.error !== null || page === null) return;
    this.busy = true;
    const generation = this.generation;
    try {
      const reply = await this.fetch(page, PAGE);
      if (generation === this.generation) this.take(reply);
    } catch (error) {
      if (generation === this.generation) this.error = (error as Error).message;
    }
    this.busy = false;
    this.changed();
    void this.load();
    if (this.waiting) this.withRow(this.waiting.index, this.waiting.act);
  }

  private take(reply: RowsReply<R>): void {
    this.total = Number(reply.total);
    if (this.stale || this.rows.size > KEPT) this.rows.clear();
    this.stale = false;
    const start = Number(reply.start);
    for (const [i, row] of reply.rows.entries()) this.rows.set(start + i, row);
    // Rows that do not come although they were counted must not be asked for again and again.
    if (reply.rows.length === 0) this.total = Math.min(this.total, start);
    this.shown = this.total;
  }

  /** The first index to ask for: a little before the first row that is wished for and not here. */
  private missing(): number | null {
    const [start, end] = this.wish;
    // The rows that are to be replaced may be further down than any of the new ones.
    if (this.stale) return Math.max(0, Math.min(start, this.total - end + start) - PAGE / 6);
    for (let index = start; index < Math.min(end, this.total); index++) {
      if (!this.rows.has(index)) return Math.max(0, index - PAGE / 6);
    }
    return null;
  }
}

/** Browsers cap the height of an element (Firefox near 17 million px); beyond this it is scaled. */
export const TALLEST = 8_000_000;

export interface Geometry {
  total: number;
  rowHeight: number;
  /** Height of the visible part, px. */
  height: number;
}

/** Height of the scrolled element, px. */
export function spacer({ total, rowHeight }: Geometry): number {
  return Math.min(total * rowHeight, TALLEST);
}

/** The farthest that the rows can be moved up, px of real rows. */
export function farthest({ total, rowHeight, height }: Geometry): number {
  return Math.max(0, total * rowHeight - height);
}

/** From the scroll bar's position to that of the rows. */
export function fromScroll(scrollTop: number, geometry: Geometry): number {
  const room = spacer(geometry) - geometry.height;
  return room <= 0 ? 0 : Math.min(1, scrollTop / room) * farthest(geometry);
}

/** From the rows' position to that of the scroll bar. */
export function toScroll(top: number, geometry: Geometry): number {
  const far = farthest(geometry);
  return far === 0 ? 0 : (top / far) * (spacer(geometry) - geometry.height);
}

export function isScaled({ total, rowHeight }: Geometry): boolean {
  return total * rowHeight > TALLEST;
}

/** Rows above and below those that can be seen. */
const EXTRA = 4;

/** Half-open range of the rows to draw, a few more than can be seen. */
export function visible(top: number, geometry: Geometry): [number, number] {
  const first = Math.floor(top / geometry.rowHeight);
  return [Math.max(0, first - EXTRA), Math.min(geometry.total, first - EXTRA + most(geometry))];
}

/** The most rows that are drawn at once. */
export function most({ rowHeight, height }: Geometry): number {
  return Math.ceil(height / rowHeight) + 1 + 2 * EXTRA;
}

/** The nearest position at which a row is wholly visible. */
export function revealed(index: number, top: number, geometry: Geometry): number {
  const above = index * geometry.rowHeight;
  const below = above + geometry.rowHeight - geometry.height;
  const nearest = above < top ? above : Math.max(below, top);
  return Math.min(Math.max(0, nearest), farthest(geometry));
}
