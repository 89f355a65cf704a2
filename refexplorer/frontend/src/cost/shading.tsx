/** The chunks of a picture by how often an access reads them: their colours, and what these stand for. */

import * as Plot from "@observablehq/plot";
import { useEffect } from "preact/hooks";

import type { ExplorerSession } from "../explorer/session.ts";
import { absence } from "../maps/legend.tsx";
import { Entries, type LegendEntry } from "../maps/mapparts.tsx";
import type { GridPicture, GridWish } from "../maps/maps.ts";
import { series } from "../shared/palette.ts";
import { useStore } from "../shared/store.ts";
import { shaded, type TouchedChunks } from "./costs.ts";

/** How often the chunks of a part of a picture are read; null until that is known, or where it is not asked for. */
export function useTouched(session: ExplorerSession, wish: GridWish | null): TouchedChunks | null {
  const { touched } = useStore(session.costs);
  const wished = JSON.stringify(wish);
  useEffect(() => {
    if (wish) session.costs.paint(wish);
  }, [wished]);
  return wish && touched?.wish === wished ? touched : null;
}

const shades = (most: number) =>
  Plot.scale({ color: { type: "linear", scheme: "viridis", domain: [0, Math.max(1, most)] } });

/** The more often an access reads a chunk, the brighter; grey is what it does not read. */
export function touchedColours(picture: GridPicture, touched: TouchedChunks): (cell: number) => string {
  const scale = shades(touched.most);
  const [down, across] = [0, 1].map((side) => (picture.steps[side] ?? 1) / Number(touched.steps[side] ?? 1)) as [
    number,
    number,
  ];
  return (cell) => {
    const row = Math.floor(Math.floor(cell / picture.columns) * down);
    const column = Math.floor((cell % picture.columns) * across);
    const times = touched.cells[row * touched.columns + column] ?? 0;
    return times > 0 ? String(scale.apply(times)) : series(-1).colour;
  };
}

interface Props {
  session: ExplorerSession;
  touched: TouchedChunks;
  grid: GridPicture;
}

export function TouchedLegend({ session, touched, grid }: Props) {
  const { cells, most } = touched;
  const least = cells.reduce((found, cell) => (cell > 0 ? Math.min(found, cell) : found), most);
  const times = (number: number) => Number(number.toPrecision(3));
  const read = least === most ? `read ${times(least)} ×` : `read ${times(least)} to ${times(most)} ×`;
  const marks: LegendEntry[] = [
    {
      name: `${read} by "${shaded(session.costs.state) ?? ""}"`,
      mark: { colour: String(shades(most).apply(most)), pattern: 0 },
    },
    ...(cells.includes(0) ? [{ name: "not read", mark: series(-1) }] : []),
    ...absence(grid),
  ];
  return <Entries label="Legend" entries={marks} />;
}
