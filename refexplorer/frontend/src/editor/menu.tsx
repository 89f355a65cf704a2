/** A button that opens a list of things to do. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../shared/parts.tsx";

export interface Choice {
  name: string;
  act(): void;
}

export function Menu({ label, choices }: { label: string; choices: Choice[] }) {
  const [isOpen, open] = useState(false);
  const box = useRef<HTMLSpanElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const items = () => [...(box.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
  useEffect(() => {
    if (isOpen) items()[0]?.focus();
  }, [isOpen]);
  const close = () => {
    button.current?.focus();
    open(false);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const all = items();
    const at = all.findIndex((item) => item.matches(":focus"));
    const goals: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 };
    const goal = goals[event.key];
    if (event.key === "Escape") close();
    else if (goal !== undefined) all.at(goal % all.length)?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <span
      class="menu-box"
      ref={box}
      onFocusOut={(event) => !box.current!.contains(event.relatedTarget as Node | null) && open(false)}
    >
      <button
        type="button"
        class="button"
        ref={button}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => open(!isOpen)}
      >
        {label} <span aria-hidden="true">▾</span>
      </button>
      {isOpen && (
        <div class="menu" role="menu" aria-label={label} onKeyDown={onKeyDown}>
          {choices.map(({ name, act }) => (
            <Button
              text={name}
              role="menuitem"
              tabIndex={-1}
              key={name}
              onClick={() => {
                close();
                act();
              }}
              class=""
            />
          ))}
        </div>
      )}
    </span>
  );
}
