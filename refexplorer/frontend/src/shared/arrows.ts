/** Where an arrow key leads: rows and columns. */
export const ARROWS: Record<string, [rows: number, columns: number]> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
};

/** The cell that an arrow key leads to among so many along each side, at first the first one; null for another key. */
export function stepped(from: number[] | null, key: string, sides: { size: number }[]): number[] | null {
  const move = ARROWS[key];
  if (!move) return null;
  // Along a line, up and down do as left and right.
  const by = sides.length === 1 ? [move[0] + move[1]] : move;
  return sides.map(({ size }, side) => (from === null ? 0 : Math.max(0, Math.min(size - 1, from[side]! + by[side]!))));
}
