/** What is shown as a cell of a notebook, for one library or another. */

import { layout } from "../preview/slices.ts";
import { Select } from "../shared/controls.tsx";
import { toClipboard } from "../shared/browser.ts";
import { useStore, useSaid } from "../shared/store.ts";
import type { ExplorerOperations, ReadingModel } from "../shared/wire.ts";
import { Earth } from "../geo/earth.ts";
import type { ExplorerSession } from "../explorer/session.ts";

type Asked = ExplorerOperations["code.cell"]["asks"];
type Library = Asked["library"];

const LIBRARIES: Record<Library, string> = {
  xarray: "xarray and Matplotlib",
  zarr: "Zarr",
};

export function CopyCell({ session }: { session: ExplorerSession }) {
  const { item } = useStore(session);
  const [said, run] = useSaid(6000);
  if (!item?.array) return null;
  const copy = async (library: Library) => {
    const text = await session.cell({ library, ...lookOf(session) });
    return (await toClipboard(text)) ? "Copied" : "The browser refused to copy the cell";
  };
  return (
    <>
      {said !== null && (
        <span class="cell-said" role="status">
          {said}
        </span>
      )}
      <Select
        class="button"
        aria-label="Copy as cell"
        title="Imports, open, select and plot, for a notebook"
        first="Copy as cell …"
        options={Object.entries(LIBRARIES)}
        choose={(library) => void run(() => copy(library as Library))}
      />
    </>
  );
}

/** The part of the array that is drawn, and how; without a picture, the part that would be read. */
function lookOf(session: ExplorerSession): Omit<Asked, "library"> {
  const { item, steps } = session.state;
  const { plan, job, scale, times } = session.preview.state;
  const array = item!.array!;
  const { path } = array;
  const own = session.pictureOf(path);
  const common = {
    array: path,
    scale,
    times,
    mode: own.mode,
    scheme: own.scheme,
    low: numberOf(own.limits[0]),
    high: numberOf(own.limits[1]),
    bar: own.scale,
  };
  const reading = job?.array === path ? job.reading : null;
  if (reading === null || reading.region.length !== reading.shape.length) {
    return { ...common, slices: plan?.array === path ? [...plan.slices] : array.shape.map(() => ":") };
  }
  const axes = layout(reading, own.axes).drawn;
  const drawn = axes.map(({ dimension }) => dimension).slice(own.mode === "line" ? -1 : 0);
  const places = axes[0]?.at;
  const upward = places != null && places.at(-1)! > places[0]!;
  const slices = shownPart(reading, drawn, steps, ([start, stop, step]) => `${start}:${stop}:${step}`);
  return { ...common, slices, upward };
}

/** The part of a reading that is drawn: of each other dimension one index. */
function shownPart(
  { region, shape }: ReadingModel,
  drawn: readonly number[],
  steps: number[],
  write: (span: ReadingModel["region"][number], dimension: number) => string,
): string[] {
  return region.map((span, dimension) => {
    if (drawn.includes(dimension)) return write(span, dimension);
    const at = shape[dimension]! > 1 ? (steps[dimension] ?? 0) : 0;
    return String(Number(span[0]) + at * Number(span[2]));
  });
}

/** The part that the middle shows of what was read, as Python writes it: along the scrubbers one index. */
export function seenSlices(session: ExplorerSession, reading: ReadingModel): string[] {
  const { look, steps } = session.state;
  const { earth } = session.of(Earth).state;
  const { mode, axes: chosen } = session.pictureOf(reading.array);
  const isWhole = mode === "statistics" || reading.channels != null || reading.slices.length !== reading.shape.length;
  if (isWhole) return reading.slices;
  const onMap = look === "map" && earth?.array === reading.array ? earth.axes : null;
  const axes = layout(reading, [...(onMap ?? chosen)]).drawn;
  const drawn = axes.map(({ dimension }) => dimension).slice(mode === "line" && !onMap ? -1 : 0);
  return shownPart(reading, drawn, steps, (_, dimension) => reading.slices[dimension]!);
}

/** Python for what was done last; where that read a part, for what the middle shows of it. */
export function seenCode(session: ExplorerSession): string {
  const { code } = session.state;
  const { reading } = session.preview.state.job ?? {};
  const read = `[${reading?.slices.join(", ")}]`;
  return reading && code.endsWith(read)
    ? `${code.slice(0, -read.length)}[${seenSlices(session, reading).join(", ")}]`
    : code;
}

function numberOf(text: string): number | null {
  return text.trim() === "" || !Number.isFinite(Number(text)) ? null : Number(text);
}
