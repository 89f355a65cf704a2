/** Coastlines over a picture whose sides are degrees: the outlines of land, cut to what is seen. */

import type { Land } from "../geo/earth.ts";
import type { ReadingModel } from "../shared/wire.ts";
import type { Axis } from "./slices.ts";

/** Which of the two drawn axes is the longitude; null where the picture is not one of latitude and longitude. */
export function longitudeOf(reading: ReadingModel, [rows, columns]: [Axis, Axis]): "rows" | "columns" | null {
  if (rows.at === null || columns.at === null) return null;
  const along = [rows, columns].map(({ dimension }) => reading.coordinates[dimension]?.along).join();
  if (along === "latitude,longitude") return "columns";
  return along === "longitude,latitude" ? "rows" : null;
}

type Ring = [number, number][];

/** The rings of some land. */
function ringsOf(land: Land): Ring[] {
  const features = land.type === "FeatureCollection" ? land.features : [land];
  return features.flatMap(({ geometry }) => {
    if (geometry.type === "Polygon") return geometry.coordinates as Ring[];
    return geometry.type === "MultiPolygon" ? (geometry.coordinates as Ring[][]).flat() : [];
  });
}

/** A whole turn, degrees: some sets count longitudes from 0 to 360. */
const TURN = 360;

/** The path of the coasts in pixels; `x` and `y` place a longitude and a latitude. */
export function coastPath(
  land: Land,
  [west, east]: [number, number],
  place: (longitude: number, latitude: number) => [number, number],
): string {
  const [from, to] = [Math.floor((west - 180) / TURN), Math.ceil((east + 180) / TURN)];
  const turns = Array.from({ length: to - from + 1 }, (_, i) => (from + i) * TURN);
  const lines: string[] = [];
  for (const ring of ringsOf(land)) {
    for (const turn of turns) {
      const inside = ring.some(([longitude]) => longitude + turn >= west && longitude + turn <= east);
      if (!inside) continue;
      let pen = false;
      let path = "";
      for (let i = 0; i < ring.length; i++) {
        const [longitude, latitude] = ring[i]!;
        // The edge of the map is no coast: Antarctica is closed along it.
        const isEdge = Math.abs(longitude) > 179.99 || latitude < -89.9;
        if (isEdge) {
          pen = false;
          continue;
        }
        const [x, y] = place(longitude + turn, latitude);
        path += `${pen ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`;
        pen = true;
      }
      lines.push(path);
    }
  }
  return lines.join("");
}
