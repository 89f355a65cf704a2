/** Where rows stand when there are more of them than a browser can scroll. */

/** Browsers cap the height of an element (Firefox near 17 million px); beyond this it is scaled. */
export const TALLEST = 8_000_000;

export interface Geometry {
  total: number;
  rowHeight: number;
  /** Height of the visible part, px. */
  height: number;
}

/** Height of the scrolled element, px. */
export function spacer({ total, rowHeight }: Geometry): number {
  return Math.min(total * rowHeight, TALLEST);
}

/** The farthest that the rows can be moved up, px of real rows. */
export function farthest({ total, rowHeight, height }: Geometry): number {
  return Math.max(0, total * rowHeight - height);
}

/** From the scroll bar's position to that of the rows. */
export function fromScroll(scrollTop: number, geometry: Geometry): number {
  const room = spacer(geometry) - geometry.height;
  return room <= 0 ? 0 : Math.min(1, scrollTop / room) * farthest(geometry);
}

/** From the rows' position to that of the scroll bar. */
export function toScroll(top: number, geometry: Geometry): number {
  const far = farthest(geometry);
  return far === 0 ? 0 : (top / far) * (spacer(geometry) - geometry.height);
}

export function isScaled({ total, rowHeight }: Geometry): boolean {
  return total * rowHeight > TALLEST;
}

/** Rows above and below those that can be seen. */
const EXTRA = 4;

/** Half-open range of the rows to draw, a few more than can be seen. */
export function visible(top: number, geometry: Geometry): [number, number] {
  const first = Math.floor(top / geometry.rowHeight);
  return [Math.max(0, first - EXTRA), Math.min(geometry.total, first - EXTRA + most(geometry))];
}

/** The most rows that are drawn at once. */
export function most({ rowHeight, height }: Geometry): number {
  return Math.ceil(height / rowHeight) + 1 + 2 * EXTRA;
}

/** The nearest position at which a row is wholly visible. */
export function revealed(index: number, top: number, geometry: Geometry): number {
  const above = index * geometry.rowHeight;
  const below = above + geometry.rowHeight - geometry.height;
  const nearest = above < top ? above : Math.max(below, top);
  return Math.min(Math.max(0, nearest), farthest(geometry));
}
