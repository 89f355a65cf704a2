/** A small picture of each data variable, of what costs little to read. */

import { ViewStore } from "../shared/waiting.ts";
import type { ExplorerWire, ReadingModel } from "../shared/wire.ts";

export interface Thumbnail {
  path: string;
  /** Null while it is read, and where it is not drawn. */
  reading: ReadingModel | null;
  values: Float64Array | null;
  /** Why there is no picture; null while it is looked up. */
  why: string | null;
  /** The location to allow for a picture, and the bytes that it needs. */
  grant?: string;
  bytes?: number;
}

/** Bytes that a small picture may fetch. */
const MOST = 1_000_000;

export class Thumbnails extends ViewStore<{ shown: Thumbnail[] }> {
  private turn = 0;

  constructor(wire: ExplorerWire) {
    super(wire, { shown: [] });
    this.closing({ close: () => this.forget() });
  }

  override forget(): void {
    this.turn += 1;
    super.forget();
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

  /** Allows a place, and draws what waited for it. */
  async allow(grant: string): Promise<void> {
    await this.allowing(grant);
    const paths = this.state.shown.map(({ path }) => path);
    this.set({ shown: [] });
    await this.draw(paths);
  }

  private async pictureOf(array: string): Promise<Partial<Thumbnail>> {
    const first = (
      await this.wire.request("slice.plan", { array, index: null, slices: null, shown: false, budget: MOST })
    ).plan;
    const long = first.sizes.flatMap((size, axis) => (Number(size) > 1 ? [axis] : []));
    const drawn = long.slice(-2);
    const slices = first.slices.map((text, axis) => (drawn.includes(axis) ? text : "0"));
    const { plan } = await this.wire.request("slice.plan", { array, index: null, slices, shown: false, budget: MOST });
    const bytes = plan.estimate.bytes === null ? null : Number(plan.estimate.bytes);
    if (bytes === null || bytes > MOST) {
      const [first, ...rest] = plan.estimate.label;
      return { why: `Not read yet. Select it to ${first!.toLowerCase()}${rest.join("")}.` };
    }
    if (plan.grant === "") return { why: "This page may not read its files." };
    if (plan.grant !== null) return { why: "Not read yet", grant: plan.grant, bytes };
    const { message, buffers } = await this.wire.job(
      "chunk.read",
      { array, slices, scale: true, times: true, field: null, ahead: true },
      true,
    ).reply;
    const { reading } = message;
    if (reading.state === "fill")
      return { why: "No chunk here has a reference, so all values read as the fill value." };
    if (reading.extremes === null && buffers[0]) return { why: "All values here are missing." };
    if (!buffers[0]) return { why: reading.message ?? "There is nothing to draw." };
    return { reading, values: new Float64Array(buffers[0]) };
  }
}
