/** What the map of the earth knows and asks for. */

import { Newest } from "../shared/newest.ts";
import { Store } from "../shared/store.ts";
import { Waiting } from "../shared/waiting.ts";
import type { EarthMap, ExplorerWire, PointFound } from "../shared/wire.ts";
import { feature } from "topojson-client";
import type { GeometryCollection, Topology } from "topojson-specification";
import type { Footprints } from "./colouring.ts";
import type { EarthView } from "./projecting.ts";
import type { EarthMesh } from "./raster.ts";

export type Land = ReturnType<typeof feature>;
export type Detail = "110m" | "50m";

export interface EarthState {
  earth: EarthMap | null;
  mesh: EarthMesh | null;
  error: string | null;
  land: Land | null;
  detail: Detail | null;
  /** Whether finer coastlines were wanted, and are not here. */
  isCoarse: boolean;
  /** Null: all of the array. */
  view: EarthView | null;
  footprints: Footprints | null;
  found: PointFound | null;
  findError: string | null;
}

const BLANK: EarthState = {
  earth: null,
  mesh: null,
  error: null,
  land: null,
  detail: null,
  isCoarse: false,
  view: null,
  footprints: null,
  found: null,
  findError: null,
};

interface Wish {
  array: string | null;
  read: boolean;
}

/** Bytes of coordinates that are read without a question, where reading is allowed. */
const CHEAP = 2_000_000;

export class Earth extends Store<EarthState> {
  readonly placing: Waiting;
  private readonly finding: Waiting;
  private readonly drawing: Waiting;
  private readonly wire: ExplorerWire;
  private readonly shown: Newest<Wish>;
  private asked: Detail | null = null;

  constructor(wire: ExplorerWire) {
    super(BLANK);
    this.wire = wire;
    this.placing = new Waiting(wire);
    this.finding = new Waiting(wire);
    this.drawing = new Waiting(wire);
    this.shown = new Newest((wish) => this.ask(wish));
  }

  close(): void {
    for (const each of [this.placing, this.finding, this.drawing]) each.close();
  }

  /** The set is another one. */
  forget(): void {
    const { land, detail } = this.state;
    this.set({ ...BLANK, land, detail });
  }

  /** Places an array; null is the largest that has a place. */
  show(array: string | null, read = false): void {
    void this.shown.ask({ array, read });
  }

  async allow(grant: string): Promise<void> {
    try {
      await this.wire.request("allow", { grant });
      this.show(this.state.earth?.array ?? null, true);
    } catch (error) {
      this.set({ error: (error as Error).message });
    }
  }

  look(view: EarthView | null): void {
    this.set({ view });
  }

  /** Finds the value at a point that was typed in. */
  async find(text: string, index: number[]): Promise<PointFound | null> {
    const array = this.state.earth?.array;
    if (array === undefined) return null;
    try {
      const { message } = await this.finding.ask("earth.find", { array, text, index });
      this.set({ found: message, findError: null });
      return message;
    } catch (error) {
      this.set({ found: null, findError: (error as Error).message });
      return null;
    }
  }

  /** Asks for the coastlines, once for each detail; a map is drawn without them, too. */
  async drawLand(detail: Detail): Promise<void> {
    if (this.asked === detail || this.asked === "50m") return;
    this.asked = detail;
    try {
      const { buffers } = await this.drawing.ask("earth.land", { detail });
      const topology = JSON.parse(new TextDecoder().decode(buffers[0])) as Topology<{ land: GeometryCollection }>;
      this.set({ land: feature(topology, topology.objects.land), detail });
    } catch {
      this.asked = null;
      this.set({ isCoarse: detail === "50m" });
    }
  }

  private async ask({ array, read }: Wish): Promise<void> {
    try {
      const { message, buffers } = await this.placing.ask("earth.show", { array, read });
      const [rows, columns, longitude, latitude] = buffers.map((buffer) => new Float64Array(buffer));
      const { state, estimate } = message.earth;
      const isCheap = estimate?.bytes != null && Number(estimate.bytes) <= CHEAP;
      if (state === "offer" && isCheap && !read) return this.ask({ array: message.earth.array, read: true });
      const isOther = this.state.earth?.array !== message.earth.array;
      this.set({
        earth: message.earth,
        mesh: latitude ? { rows: rows!, columns: columns!, longitude: longitude!, latitude } : null,
        error: null,
        ...(isOther ? { found: null, findError: null } : {}),
        ...(isOther && this.state.earth !== null ? { view: null } : {}),
      });
    } catch (error) {
      this.set({ error: (error as Error).message });
    }
  }
}
