/** Files of what is seen: the picture, its cells, the values as they are stored. */

import type { ExplorerSession } from "../explorer/session.ts";
import { Button } from "../shared/parts.tsx";
import type { ReadingModel } from "../shared/wire.ts";
import { Menu } from "../shared/menu.tsx";
import { save } from "../shared/browser.ts";
import { pngOf, svgOf, type Caption } from "./saving.ts";
import { indexOf, type Axis } from "./slices.ts";
import { useSaid } from "../shared/store.ts";

interface Props {
  session: ExplorerSession;
  reading: ReadingModel;
  axes: Axis[];
  /** Where along each dimension the slice is. */
  steps: number[];
  /** What the picture is in. */
  figure(): HTMLElement;
  /** The title above the picture in a file, and the colour bar below it. */
  caption(): Caption;
}

export function Take({ session, reading, axes, steps, figure, caption }: Props) {
  const [said, run] = useSaid();
  const start = (make: () => Promise<void>) => run(() => make().then(() => null));
  const name = fileOf(reading);
  const take = (form: "netcdf" | "csv" | "npy", type: string) => async () => {
    const drawn = axes.map(({ dimension }) => dimension);
    const slices = reading.slices.map((text, dimension) =>
      form === "netcdf" || drawn.includes(dimension) ? text : String(indexOf(reading, steps)[dimension]),
    );
    const { file, bytes } = await session.preview.save(reading.array, slices, form, form === "netcdf" ? [] : drawn);
    save(file, new Blob([bytes], { type }));
  };
  const files: [string, string, () => Promise<void>][] = [
    [
      "PNG",
      "The picture as shown, with title and colours",
      async () => save(`${name}.png`, await pngOf(figure(), caption())),
    ],
    ["SVG", "The picture as shown, as vector graphics", async () => save(`${name}.svg`, svgOf(figure(), caption()))],
    ["CSV", "All values of the slice as a table, with coordinates", take("csv", "text/csv")],
    ["npy", "All values of the slice as a NumPy array, in its data type", take("npy", "application/octet-stream")],
    [
      "NetCDF",
      "All stored values of the selection, with attributes and coordinates",
      take("netcdf", "application/x-netcdf"),
    ],
  ];
  return (
    <Menu label="Save as">
      <div class="menu-list">
        {files.map(([label, title, make]) => (
          <Button key={label} class="menu-item" aria-label={label} onClick={() => void start(make)}>
            <b>{label}</b> <span class="quiet">{title}</span>
          </Button>
        ))}
      </div>
      {said !== null && (
        <span class="bad" role="alert">
          {said}
        </span>
      )}
    </Menu>
  );
}

/** The name of a file without an ending. */
function fileOf({ array }: ReadingModel): string {
  return array.replaceAll(/[^\w.-]+/g, "_") || "array";
}
