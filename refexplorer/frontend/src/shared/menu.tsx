/** What is seldom needed, behind a button: open until somebody clicks elsewhere or presses Escape. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface Props {
  label: string;
  /** On which side of the button it opens. */
  side?: "left" | "right";
  children: ComponentChildren;
}

export function Menu({ label, side = "right", children }: Props) {
  const box = useRef<HTMLDetailsElement>(null);
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
      class={`dropdown ${side}`}
      ref={box}
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
