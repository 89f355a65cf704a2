import { useLayoutEffect, useState } from "preact/hooks";

/** The width of an element as it is now, px; 0 before it is drawn. */
export function useWidth(element: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  return width;
}

/** The height of what scrolls an element, px; 0 before it is drawn, or where nothing of the name is around it. */
export function useRoom(element: { current: HTMLElement | null }, selector: string): number {
  const [height, setHeight] = useState(0);
  useLayoutEffect(() => {
    const around = element.current!.closest(selector);
    if (!around) return;
    const observer = new ResizeObserver(([entry]) => setHeight(Math.floor(entry!.contentRect.height)));
    observer.observe(around);
    return () => observer.disconnect();
  }, []);
  return height;
}
