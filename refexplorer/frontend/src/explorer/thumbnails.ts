/** A small picture of each data variable, of what costs little to read. */

import { Store } from "../shared/store.ts";
import type { ExplorerWire, ReadingModel } from "../shared/wire.ts";

export interface Thumbnail {
  path: string;
  /** Null while it is read, and where it is not drawn. */
  reading: ReadingModel | null;
  values: Float64Array | null;
  /** Why there is no picture; null while it is looked up. */
  why: string | null;
}

/** Bytes that a small picture may fetch. */
const MOST = 1_000_000;

export class Thumbnails extends Store<{ shown: Thumbnail[] }> {
  private readonly wire: ExplorerWire;
  private turn = 0;

  constructor(wire: ExplorerWire) {
    super({ shown: [] });
    this.wire = wire;
  }

  close(): void {
    this.turn += 1;
  }

  /** The set is another one. */
  forget(): void {
    this.turn += 1;
    this.set({ shown: [] });
  }

  /** Draws some arrays, one after the other, unless they are drawn. */
  async draw(paths: string[]): Promise<void> {
    if (this.state.shown.map(({ path }) => path).join() === paths.join()) return;
    const turn = ++this.turn;
    this.set({ shown: paths.map((path) => ({ path, reading: null, values: null, why: null })) });
    for (const path of paths) {
      const found = await this.pictureOf(path).catch((error: Error) => ({ why: error.message }));
      if (turn !== this.turn) return;
      this.set({ shown: this.state.shown.map((each) => (each.path === path ? { ...each, ...found } : each)) });
    }
  }

  private async pictureOf(array: string): Promise<Partial<Thumbnail>> {
    const first = (
      await this.wire.request("slice.plan", { array, index: null, slices: null, shown: false, budget: MOST })
    ).plan;
    const long = first.sizes.flatMap((size, axis) => (Number(size) > 1 ? [axis] : []));
    const drawn = long.slice(-2);
    const slices = first.slices.map((text, axis) => (drawn.includes(axis) ? text : "0"));
    const { plan } = await this.wire.request("slice.plan", { array, index: null, slices, shown: false, budget: MOST });
    if (!plan.is_allowed) return { why: "Its files may not be read yet." };
    if (plan.estimate.bytes === null || Number(plan.estimate.bytes) > MOST) return { why: plan.estimate.label };
    const { message, buffers } = await this.wire.job(
      "chunk.read",
      { array, slices, scale: true, times: true, field: null, ahead: true },
      true,
    ).reply;
    const { reading } = message;
    if (!buffers[0]) return { why: reading.message ?? "There is nothing to draw." };
    return { reading, values: new Float64Array(buffers[0]) };
  }
}
