/** What is seldom needed, behind a button: open until somebody clicks elsewhere or presses Escape. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

/** Of a menu that another one takes the place of: whether it was open, and the control that had the focus. */
export interface KeptMenu {
  isOpen: boolean;
  focus: string | null;
}

interface Props {
  label: string;
  kept?: KeptMenu;
  children: ComponentChildren;
}

/** What is kept free beside a menu, px. */
const GAP = 4;

export function Menu({ label, kept, children }: Props) {
  const box = useRef<HTMLDetailsElement>(null);
  useLayoutEffect(() => {
    const menu = box.current!;
    if (!kept) return undefined;
    menu.open = kept.isOpen;
    if (kept.focus !== null) menu.querySelector<HTMLElement>(`[aria-label=${CSS.escape(kept.focus)}]`)?.focus();
    return () => {
      const { activeElement } = menu.getRootNode() as Document | ShadowRoot;
      kept.isOpen = menu.open;
      kept.focus = menu.contains(activeElement) ? activeElement!.getAttribute("aria-label") : null;
    };
  }, [kept]);
  useEffect(() => {
    const menu = box.current!; // which the reference no longer names when another listener took it away
    const root = menu.getRootNode() as Document | ShadowRoot;
    const leave = (event: Event) => {
      if (!menu.contains(event.target as Node)) menu.open = false;
    };
    root.addEventListener("pointerdown", leave);
    return () => root.removeEventListener("pointerdown", leave);
  }, []);
  return (
    <details
      class="dropdown"
      ref={box}
      onToggle={(event) => fit(event.currentTarget)}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !box.current!.open) return;
        event.stopPropagation();
        box.current!.open = false;
        box.current!.querySelector("summary")!.focus();
      }}
    >
      <summary class="button">{label} ▾</summary>
      <div class="dropdown-box" role="group" aria-label={label}>
        {children}
      </div>
    </details>
  );
}

/** Opens a menu to the right as far as there is room in what scrolls it, and to the left from there. */
function fit(menu: HTMLDetailsElement): void {
  const held = menu.querySelector<HTMLElement>(".dropdown-box")!;
  const around = menu.closest(".pane, .view");
  if (!menu.open || !around) return;
  const least = around.getBoundingClientRect().left + GAP;
  const most = least + around.clientWidth - 2 * GAP;
  held.style.maxWidth = `${Math.min(520, most - least)}px`;
  const { left } = menu.getBoundingClientRect();
  held.style.left = `${Math.max(least, Math.min(left, most - held.offsetWidth)) - left}px`;
}
