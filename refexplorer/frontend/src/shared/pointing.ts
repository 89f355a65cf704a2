/** Pictures under the pointer and the arrow keys: where it is, drags, the wheel, how large they may be. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export type Point = [x: number, y: number];
type Box = { current: HTMLElement | null };

/** Where an arrow key leads: rows and columns. */
export const ARROWS: Record<string, [rows: number, columns: number]> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
};

/** Larger or smaller, by the keys that zoom. */
export const ZOOMS: Record<string, 1 | -1> = { "+": 1, "=": 1, "-": -1 };
/** How much larger at a step. */
export const ZOOM = 1.5;

/** The cell that an arrow key leads to among so many along each side, at first the first one; null for another key. */
export function stepped(from: number[] | null, key: string, sides: { size: number }[]): number[] | null {
  const move = ARROWS[key];
  if (!move) return null;
  // Along a line, up and down do as left and right.
  const by = sides.length === 1 ? [move[0] + move[1]] : move;
  return sides.map(({ size }, side) => (from === null ? 0 : Math.max(0, Math.min(size - 1, from[side]! + by[side]!))));
}

/** Where a pointer is in an element, px. */
export function pointIn({ current }: Box, { clientX, clientY }: MouseEvent): Point {
  const { left, top } = current!.getBoundingClientRect();
  return [clientX - left, clientY - top];
}

/** How far the pointer goes before a click is a drag, px. */
const DRAG = 4;

interface Drag<T> {
  /** What is dragged; null where nothing is. */
  begin(): T | null;
  move(from: T, start: Point, now: Point): void;
  /** The pointer moves without a drag. */
  hover(at: Point | null): void;
  click?(at: Point): void;
}

/** Handlers of what is dragged, pointed at and clicked: a click that moved is none. */
export function useDrag<T>(box: Box, { begin, move, hover, click }: Drag<T>) {
  const held = useRef<{ start: Point; from: T; moved: boolean } | null>(null);
  return {
    onPointerDown(event: PointerEvent) {
      const from = begin();
      held.current = from === null ? null : { start: pointIn(box, event), from, moved: false };
    },
    onPointerMove(event: PointerEvent) {
      const [drag, now] = [held.current, pointIn(box, event)];
      if (drag === null || event.buttons !== 1) return hover(now);
      if (!drag.moved && Math.hypot(now[0] - drag.start[0], now[1] - drag.start[1]) < DRAG) return;
      drag.moved = true;
      box.current!.setPointerCapture(event.pointerId);
      move(drag.from, drag.start, now);
    },
    onPointerLeave: () => hover(null),
    onClick(event: MouseEvent) {
      if (!held.current?.moved) click?.(pointIn(box, event));
      held.current = null;
    },
  };
}

/**
 * Zooms by the wheel, with a key or once the element has the focus: a page scrolls past a picture.
 * The listener is no handler of Preact's, which could not keep the page from scrolling.
 */
export function useWheel(box: Box, zoom: (factor: number, at: Point) => void): void {
  useEffect(() => {
    const element = box.current!;
    const onWheel = (event: WheelEvent) => {
      const { activeElement } = element.getRootNode() as Document | ShadowRoot;
      if (!(event.ctrlKey || event.metaKey || activeElement === element)) return;
      event.preventDefault();
      zoom(ZOOM ** (-event.deltaY / 100), pointIn(box, event));
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  });
}

/** A measure of an element as it is now, px; 0 before it is drawn. */
function useMeasured(find: () => Element | null, measure: (size: DOMRectReadOnly) => number): number {
  const [found, setFound] = useState(0);
  useLayoutEffect(() => {
    const element = find();
    if (!element) return;
    const observer = new ResizeObserver(([entry]) => setFound(measure(entry!.contentRect)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return found;
}

export function useWidth(box: Box): number {
  return useMeasured(
    () => box.current,
    ({ width }) => Math.floor(width),
  );
}

export function useHeight(box: Box): number {
  return useMeasured(
    () => box.current,
    ({ height }) => height,
  );
}

/** The height of what scrolls an element; 0 where nothing of the name is around it. */
export function useRoom(box: Box, selector: string): number {
  return useMeasured(
    () => box.current!.closest(selector),
    ({ height }) => Math.floor(height),
  );
}
