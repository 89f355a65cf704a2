/** The data of the map of the earth, and its requests. */

import { Newest, viewStore } from "../shared/waiting.ts";
import type { EarthMap, PointFound } from "../shared/wire.ts";
import { feature } from "topojson-client";
import type { GeometryCollection, Topology } from "topojson-specification";
import { FOOTPRINTS, type Footprints } from "./colouring.ts";
import { DEEPEST, type EarthView, PROJECTIONS, type ProjectionName } from "./projecting.ts";
import type { EarthMesh } from "./raster.ts";

export type Land = ReturnType<typeof feature>;
export type Detail = "110m" | "50m";

const BLANK = {
  earth: null as EarthMap | null,
  mesh: null as EarthMesh | null,
  error: null as string | null,
  land: null as Land | null,
  detail: null as Detail | null,
  /** Whether finer coastlines were wanted, and are not here. */
  isCoarse: false,
  /** Null: all of the array. */
  view: null as EarthView | null,
  footprints: null as Footprints | null,
  found: null as PointFound | null,
  findError: null as string | null,
};
export type EarthState = typeof BLANK;

interface Wish {
  array: string | null;
  read: boolean;
}

/** Bytes of coordinates that are read without a question, where reading is allowed. */
const CHEAP = 2_000_000;

export class Earth extends viewStore(BLANK) {
  readonly placing = this.waiting();
  private readonly finding = this.waiting();
  private readonly drawing = this.waiting();
  private readonly shown = new Newest<Wish>((wish) => this.ask(wish));
  private asked: Detail | null = null;

  override forget(): void {
    const { land, detail } = this.state;
    this.set({ ...BLANK, land, detail });
  }

  /** Places an array; null is the largest that has a place. */
  show(array: string | null, read = false): void {
    void this.shown.ask({ array, read });
  }

  async allow(grant: string): Promise<void> {
    await this.attempt("error", async () => {
      await this.allowing(grant);
      this.show(this.state.earth?.array ?? null, true);
    });
  }

  look(view: EarthView | null): void {
    this.set({ view });
  }

  /** Finds the value at a point that was typed in. */
  async find(text: string, index: number[]): Promise<PointFound | null> {
    const array = this.state.earth?.array;
    if (array === undefined) return null;
    await this.attempt(
      "findError",
      async () => ({ found: (await this.finding.ask("earth.find", { array, text, index })).message }),
      { otherwise: { found: null } },
    );
    return this.state.found;
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

  private ask({ array, read }: Wish): Promise<void> {
    return this.attempt("error", async () => {
      let { message, buffers } = await this.placing.ask("earth.show", { array, read });
      const { state, estimate } = message.earth;
      const isCheap = estimate?.bytes != null && Number(estimate.bytes) <= CHEAP;
      if (state === "offer" && isCheap && !read)
        ({ message, buffers } = await this.placing.ask("earth.show", { array: message.earth.array, read: true }));
      const [rows, columns, longitude, latitude] = buffers.map((buffer) => new Float64Array(buffer));
      const isOther = this.state.earth?.array !== message.earth.array;
      return {
        earth: message.earth,
        mesh: latitude ? { rows: rows!, columns: columns!, longitude: longitude!, latitude } : null,
        ...(isOther ? { found: null, findError: null } : {}),
        ...(isOther && this.state.earth !== null ? { view: null } : {}),
      };
    });
  }
}

/** The view of the map as text, for addresses: projection, middle, zoom, footprints. */
type Seen = Pick<EarthState, "view" | "footprints">;

export function earthText({ view, footprints }: Seen): string {
  if (view === null && footprints === null) return "";
  const numbers = view
    ? [view.longitude, view.latitude, view.zoom].map((at) => String(Number(at.toFixed(2))))
    : ["", "", ""];
  return [view?.projection ?? "", ...numbers, footprints ?? ""].join(",");
}

/** What `earthText` wrote; what is no such thing is as it is at first. */
export function earthState(text: string): Seen {
  const [projection = "", ...others] = text.split(",");
  const [longitude, latitude, zoom] = others.slice(0, 3).map((at) => (at === "" ? NaN : Number(at)));
  const footprints = others[3] ?? "";
  const isView = Object.hasOwn(PROJECTIONS, projection) && [longitude, latitude, zoom].every(Number.isFinite);
  return {
    view: isView
      ? {
          projection: projection as ProjectionName,
          longitude: longitude!,
          latitude: Math.max(-90, Math.min(90, latitude!)),
          zoom: Math.max(1, Math.min(DEEPEST, zoom!)),
        }
      : null,
    footprints: Object.hasOwn(FOOTPRINTS, footprints) ? (footprints as Footprints) : null,
  };
}
