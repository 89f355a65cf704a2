/** A scrolled list of any length: only the rows on the screen are in the document. */

import type { ComponentChildren, CSSProperties, HTMLAttributes, RefObject } from "preact";
import { useId, useImperativeHandle, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";

import { Blank } from "../parts.tsx";
import { useHeight } from "../pointing.ts";
import * as virtual from "./window.ts";
import type { RowWindow } from "./window.ts";

const ROW_HEIGHT = 24;

/** The row that a key leads to from the active one, before any bound; undefined for other keys. */
export function rowGoal(key: string, active: number, total: number, page: number): number | undefined {
  const goals: Record<string, number> = {
    ArrowDown: active + 1,
    ArrowUp: active - 1,
    PageDown: active + page,
    PageUp: active - page,
    Home: 0,
    End: total - 1,
  };
  return goals[key];
}

/** The other keys that do something with the active row, so that it comes back into sight. */
const ACTING = new Set(["ArrowLeft", "ArrowRight", "Enter", " "]);

export interface RowsHandle {
  /** Scrolls as little as makes the row visible. */
  reveal(index: number): void;
  /** Rows that fit on the screen. */
  page(): number;
  /** Scrolls by whole rows. */
  move(rows: number): void;
}

interface Props<R> {
  rows: RowWindow<R>;
  handle: RefObject<RowsHandle | null>;
  /** The row that the keyboard is on, -1 for none; it stays in view when the list becomes lower. */
  active: number;
  /** Role, label and class of the element that scrolls and gets the focus. */
  attributes: HTMLAttributes<HTMLDivElement>;
  onKeyDown(event: KeyboardEvent): void;
  /** A row that stays on top, and what is said where there are no rows. */
  header: ComponentChildren;
  empty?: string | undefined;
  /** Draws one row; it is undefined while it is waited for. */
  children(row: R | undefined, place: RowPlace): ComponentChildren;
}

export interface RowPlace {
  index: number;
  /** Of the element; one that leaves the screen is used again for one that comes. */
  key: number;
  /** By which the list says that the row is the active one. */
  id: string;
  style: CSSProperties;
}

export function Rows<R>({ rows, handle, active, attributes, onKeyDown, header, empty, children }: Props<R>) {
  const list = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const height = Math.max(0, useHeight(scroller) - ROW_HEIGHT);
  const geometry = { total: rows.shown, rowHeight: ROW_HEIGHT, height };
  const { top, moveTo } = usePosition(scroller, geometry, (at) => {
    const [first, last] = virtual.visible(at, geometry);
    rows.want(first, last);
    return rows.has(first, last) || virtual.isScaled(geometry);
  });
  const [start, end] = virtual.visible(top, geometry);

  const reveal = (index: number) => moveTo((now) => virtual.revealed(index, now, geometry));
  useLayoutEffect(() => rows.want(start, end), [rows, start, end, rows.shown]);
  const heightBefore = useRef(height);
  useLayoutEffect(() => {
    const before = { ...geometry, height: heightBefore.current };
    heightBefore.current = height;
    if (active < 0 || virtual.revealed(active, top, before) !== top) return;
    reveal(active);
  }, [height]);
  useImperativeHandle(
    handle,
    () => ({
      reveal,
      page: () => Math.max(1, Math.floor(height / ROW_HEIGHT) - 1),
      move: (by) => moveTo((now) => now + by * ROW_HEIGHT),
    }),
    [moveTo, rows.shown, height],
  );

  const offset = (scroller.current?.scrollTop ?? 0) - top;
  const most = virtual.most(geometry);
  const drawn = [];
  for (let index = start; index < end; index++) {
    const style = { transform: `translateY(${index * ROW_HEIGHT + offset}px)` };
    drawn.push(children(rows.at(index), { index, key: index % most, id: `${list}-${index}`, style }));
  }
  // Scrolled out of sight, the active row is not in the document; the next key brings it back.
  const isDrawn = active >= start && active < end && rows.at(active) !== undefined;
  const onKey = (event: KeyboardEvent) => {
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && event.target === event.currentTarget;
    if (isPlain && active >= 0 && (ACTING.has(event.key) || rowGoal(event.key, 0, 1, 1) !== undefined)) reveal(active);
    onKeyDown(event);
  };
  return (
    <div
      tabIndex={0}
      aria-rowcount={rows.shown + 1}
      aria-busy={rows.stale || undefined}
      aria-activedescendant={isDrawn ? `${list}-${active}` : undefined}
      {...{ ...attributes, onKeyDown: onKey }}
      ref={scroller}
    >
      <div class="rows-head" role="rowgroup">
        {header}
      </div>
      <div class="rows" role="rowgroup" style={{ height: `${virtual.spacer(geometry)}px` }}>
        {drawn}
      </div>
      <Instead rows={rows} empty={empty} />
    </div>
  );
}

/** Shown in place of rows: why they did not arrive, or that there are none. */
function Instead<R>({ rows, empty }: Pick<Props<R>, "rows" | "empty">) {
  const sentence = rows.error ?? (rows.total > 0 ? undefined : empty);
  if (sentence === undefined) return null;
  return (
    <div role="row">
      <div role="gridcell">
        <Blank sentence={sentence} {...(rows.error === null ? {} : { retry: () => rows.retry() })} />
      </div>
    </div>
  );
}

/** The row that the keyboard is on in a list that keeps it itself. */
export function useActive<R>(rows: RowWindow<R>) {
  const handle = useRef<RowsHandle>(null);
  const [active, setActive] = useState(0);
  const goTo = (index: number): number => {
    const next = Math.min(rows.total - 1, Math.max(0, index));
    setActive(next);
    handle.current?.reveal(next);
    return next;
  };
  const goal = (key: string) => rowGoal(key, active, rows.total, handle.current?.page() ?? 1);
  return { handle, active, goTo, goal };
}

/** Milliseconds before rows that are waited for are drawn: most come sooner, and are drawn once. */
const MOMENT = 60;

/**
 * Position of the rows, px: the scroll bar's own, or finer than it when the list is scaled.
 * `ask` is called at once when the scroll bar moves, and returns whether there is anything to draw.
 */
function usePosition(
  scroller: RefObject<HTMLDivElement | null>,
  geometry: virtual.Geometry,
  ask: (top: number) => boolean,
) {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const now = useRef({ top: 0, scrollTop: 0, geometry });
  const asking = useRef(ask);
  asking.current = ask;
  now.current.geometry = geometry;
  now.current.top = Math.min(now.current.top, virtual.farthest(geometry));

  const [moveTo] = useState(() => (next: (top: number) => number) => {
    const { top, geometry: shape } = now.current;
    const target = Math.min(Math.max(0, next(top)), virtual.farthest(shape));
    const scrollTop = Math.round(virtual.toScroll(target, shape));
    now.current = { top: target, scrollTop, geometry: shape };
    scroller.current?.scrollTo({ top: scrollTop, behavior: "instant" });
    redraw(0);
  });

  useLayoutEffect(() => {
    const element = scroller.current!;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const draw = () => {
      clearTimeout(timer);
      timer = undefined;
      redraw(0);
    };
    const onScroll = () => {
      const { scrollTop, geometry: shape } = now.current;
      // Our own `scrollTo` comes back here; only a move of the scroll bar itself says where we are.
      if (Math.abs(element.scrollTop - scrollTop) < 1) return;
      now.current.top = virtual.fromScroll(element.scrollTop, shape);
      now.current.scrollTop = element.scrollTop;
      if (asking.current(now.current.top)) draw();
      else timer ??= setTimeout(draw, MOMENT);
    };
    const onWheel = (event: WheelEvent) => {
      if (!virtual.isScaled(now.current.geometry) || event.ctrlKey) return;
      event.preventDefault();
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? ROW_HEIGHT : 1;
      moveTo((top) => top + event.deltaY * unit);
    };
    element.addEventListener("scroll", onScroll);
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => {
      clearTimeout(timer);
      element.removeEventListener("scroll", onScroll);
      element.removeEventListener("wheel", onWheel);
    };
  }, []);
  return { top: now.current.top, moveTo };
}
