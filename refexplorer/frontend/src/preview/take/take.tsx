/** Files of what is seen: the picture, its cells, the values as they are stored. */

import { useState } from "preact/hooks";

import type { ExplorerSession } from "../../explorer/session.ts";
import type { ReadingModel } from "../../shared/wire.ts";
import { csvOf, npyOf, pngOf, save, svgOf } from "../saving.ts";
import type { Axis } from "../slices.ts";

interface Props {
  session: ExplorerSession;
  reading: ReadingModel;
  axes: Axis[];
  values: Float64Array;
  /** What the picture is in. */
  figure(): HTMLElement;
}

export function Take({ session, reading, axes, values, figure }: Props) {
  const [said, say] = useState<string | null>(null);
  const name = fileOf(reading);
  const run = async (make: () => Promise<void>) => {
    say(null);
    try {
      await make();
    } catch (error) {
      say((error as Error).message);
    }
  };
  const netcdf = async () => {
    const { file, bytes } = await session.preview.netcdf(reading);
    save(file, new Blob([bytes], { type: "application/x-netcdf" }));
  };
  const files: [string, string, () => Promise<void>][] = [
    ["PNG", "The picture as it is seen", async () => save(`${name}.png`, await pngOf(figure()))],
    ["SVG", "The picture as it is seen, with axes that stay sharp", async () => save(`${name}.svg`, svgOf(figure()))],
    ["CSV", "The cells as a table, with their places", async () => save(`${name}.csv`, new Blob([csvOf(reading, axes, values)], { type: "text/csv" }))],
    ["npy", "The cells as an array of numpy", async () => save(`${name}.npy`, new Blob([npyOf(values, axes.map(({ size }) => size))]))],
    ["NetCDF", "Every value of the part as it is stored, with attributes and coordinates", netcdf],
  ];
  return (
    <>
      <span class="zoom" role="group" aria-label="Save">
        {files.map(([label, title, make]) => (
          <button type="button" key={label} class="button" title={title} onClick={() => void run(make)}>{label}</button>
        ))}
      </span>
      {said !== null && <span class="bad" role="alert">{said}</span>}
    </>
  );
}

/** The name of a file without an ending. */
function fileOf({ array }: ReadingModel): string {
  return array.replaceAll(/[^\w.-]+/g, "_") || "array";
}
