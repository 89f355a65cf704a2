/** The view of the map as text, for addresses: projection, middle, zoom, footprints. */

import { FOOTPRINTS, type Footprints } from "./colouring.ts";
import type { EarthState } from "./earth.ts";
import { DEEPEST, PROJECTIONS, type ProjectionName } from "./projecting.ts";

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
