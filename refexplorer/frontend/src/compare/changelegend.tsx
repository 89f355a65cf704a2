/** The changes of the chunks in view, with their numbers. */

import { count } from "../shared/format.ts";
import { changeInk, changesShown } from "../maps/changecells.ts";
import type { ChangePicture } from "./comparing.ts";
import { Entries, type LegendEntry } from "../maps/mapparts.tsx";

export function ChangeLegend({ changes }: { changes: ChangePicture }) {
  const entries: LegendEntry[] = changesShown(changes).map(({ name, mark, words, chunks }) => ({
    name: `${mark} ${words}: ${count(chunks)}`,
    mark: changeInk(name),
  }));
  const chunks = changes.window.reduce((product, [start, stop]) => product * (Number(stop) - Number(start)), 1);
  const compared = changes.perChange.reduce((sum, n) => sum + n, 0);
  const neither =
    compared < chunks ? [{ name: `in neither set: ${count(chunks - compared)}`, mark: "nothing" as const }] : [];
  return <Entries label="Legend" entries={[...entries, ...neither]} />;
}
