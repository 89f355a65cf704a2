/** The cells of a map of chunks by what became of them: a colour, a pattern and a letter each. */

import { count } from "../shared/format.ts";
import type { Frame } from "./board.tsx";
import { cellAt, type Place } from "./cells.ts";
import type { ChangePicture } from "../compare/comparison.ts";
import type { GridPicture } from "./maps.ts";
import { type Box, fill, GAPPED, hatching, type Ink, letter, LETTERED } from "../shared/palette.ts";

const SAME = "same";
/** Colours of Okabe and Ito; no two changes of chunks have both colour and pattern in common. */
const INKS: Record<string, Ink> = {
  [SAME]: { colour: "--line", pattern: 0 },
  removed: { colour: "#d55e00", pattern: 3 },
  added: { colour: "#009e73", pattern: 0 },
  moved: { colour: "#0072b2", pattern: 1 },
  shifted: { colour: "#e69f00", pattern: 2 },
  resized: { colour: "#cc79a7", pattern: 3 },
  inlined: { colour: "#56b4e9", pattern: 1 },
  embedded: { colour: "#56b4e9", pattern: 0 },
  content: { colour: "#d55e00", pattern: 2 },
  metadata: { colour: "#f0e442", pattern: 1 },
  rejected: { colour: "#8a919c", pattern: 3 },
};

export function changeInk(name: string): Ink {
  return INKS[name]!;
}

/** Chunks of a cell by their change, in the order of `kinds`. */
function countsAt({ kinds, perChange, of: { rows, columns } }: ChangePicture, cell: number): number[] {
  return kinds.map((_, kind) => perChange[kind * rows * columns + cell]!);
}

/** The change of most chunks that are not the same; if all are, that; null where neither set has one. */
function mostly({ kinds }: ChangePicture, counts: number[]): number | null {
  const there = kinds.map((_, kind) => kind).filter((kind) => counts[kind]! > 0);
  const differ = there.filter((kind) => kinds[kind]!.name !== SAME);
  if (differ.length === 0) return there[0] ?? null;
  return differ.reduce((best, kind) => (counts[kind]! > counts[best]! ? kind : best));
}

/** Draws what became of the chunks; a cell of several is filled as far as they differ. */
export function paintChanges(
  context: CanvasRenderingContext2D,
  frame: Frame,
  changes: ChangePicture,
  box: (place: Place) => Box,
): void {
  const { rows, columns } = changes.of;
  const nothing = hatching(context, frame.inks);
  const fills = changes.kinds.map(({ name }) => fill(context, changeInk(name), frame.inks));
  const same = fill(context, changeInk(SAME), frame.inks);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const counts = countsAt(changes, cellAt(changes.of, [row, column]));
      const found = mostly(changes, counts);
      const [left, top, across, down] = box([row, column]);
      const gap = Math.min(across, down) >= GAPPED ? 1 : 0;
      const [width, height] = [across - gap, down - gap];
      context.fillStyle = found === null ? nothing : same;
      context.fillRect(left, top, width, height);
      if (found === null || changes.kinds[found]!.name === SAME) continue;
      const differ = counts.reduce((sum, n, kind) => sum + (changes.kinds[kind]!.name === SAME ? 0 : n), 0);
      const full = Math.max(Math.min(2, height), height * (differ / counts.reduce((sum, n) => sum + n)));
      context.fillStyle = fills[found]!;
      context.fillRect(left, top + height - full, width, full);
      if (Math.min(width, height) >= LETTERED)
        letter(context, [left, top, width, height], changes.kinds[found]!.mark, [frame.inks.paper, frame.inks.ink]);
    }
  }
}

/** What became of a cell, in words. */
export function changeSaid(changes: ChangePicture, place: Place): string {
  const counts = countsAt(changes, cellAt(changes.of, place));
  const found = changes.kinds.flatMap(({ words }, kind) =>
    counts[kind]! > 0 ? [[counts[kind]!, words] as const] : [],
  );
  if (found.length === 0) return "in neither set";
  const total = counts.reduce((sum, n) => sum + n);
  return found.map(([n, words]) => (total === 1 ? words : `${count(n)} ${words}`)).join(", ");
}

/** Chunks of the picture by their change, those that occur. */
export function changesShown(changes: ChangePicture): { name: string; mark: string; words: string; chunks: number }[] {
  const size = changes.of.rows * changes.of.columns;
  return changes.kinds.flatMap(({ name, mark, words }, kind) => {
    const chunks = changes.perChange.subarray(kind * size, (kind + 1) * size).reduce((sum, n) => sum + n, 0);
    return chunks > 0 ? [{ name, mark, words, chunks }] : [];
  });
}

/** The picture in one sentence, for screen readers. */
export function changesSummary(changes: ChangePicture): string {
  return changesShown(changes)
    .map(({ words, chunks }) => `${count(chunks)} ${words}`)
    .join(", ");
}

/** The changes if they are of this picture. */
export function fitting(changes: ChangePicture | null, picture: GridPicture): ChangePicture | null {
  return changes?.of === picture ? changes : null;
}
