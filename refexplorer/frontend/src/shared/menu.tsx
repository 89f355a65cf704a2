/** What is seldom needed, behind a button: controls, or actions to choose from. */

import type { ComponentChildren, CSSProperties } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { Button } from "./parts.tsx";

/** Of a menu that another one replaces: whether it was open, and the control that had the focus. */
export interface KeptMenu {
  isOpen: boolean;
  focus: string | null;
}

/** Space that is kept free next to a menu, px. */
const GAP = 4;

/** The name of a control: its own, or the text of its label. */
function nameOf(control: Element): string | null {
  const label = (control as HTMLSelectElement).labels?.[0];
  return control.getAttribute("aria-label") ?? label?.textContent ?? null;
}

/** Controls, open until somebody clicks elsewhere or presses Escape. */
export function Menu({ label, kept, children }: { label: string; kept?: KeptMenu; children: ComponentChildren }) {
  const box = useRef<HTMLDetailsElement>(null);
  useLayoutEffect(() => {
    const menu = box.current!;
    if (!kept) return undefined;
    menu.open = kept.isOpen;
    if (kept.focus !== null) {
      [...menu.querySelectorAll<HTMLElement>("*")].find((each) => nameOf(each) === kept.focus)?.focus();
    }
    return () => {
      const { activeElement } = menu.getRootNode() as Document | ShadowRoot;
      kept.isOpen = menu.open;
      kept.focus = menu.contains(activeElement) ? nameOf(activeElement!) : null;
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

export interface Action {
  name: string;
  /** Null where there is nothing to do. */
  act: (() => void) | null;
}

interface ActionsProps {
  label: string;
  choices: readonly Action[];
  style?: CSSProperties;
  /** Closes the list: with a choice or a key, or since the focus goes elsewhere. */
  close(to?: Node | null): void;
}

/** Actions with the keys of a menu; it closes with a choice, with Escape, and when the focus goes elsewhere. */
export function ActionList({ label, choices, style, close }: ActionsProps) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => list.current!.querySelector("button")?.focus(), []);
  const onKeyDown = (event: KeyboardEvent) => {
    const all = [...list.current!.querySelectorAll("button")];
    const at = all.findIndex((item) => item.matches(":focus"));
    const goals: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 };
    const goal = goals[event.key];
    if (event.key === "Escape" || event.key === "Tab") close();
    else if (goal !== undefined) all.at(goal % all.length)?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      class="menu"
      role="menu"
      aria-label={label}
      ref={list}
      style={style}
      onKeyDown={onKeyDown}
      onFocusOut={({ relatedTarget: to }) => !list.current!.contains(to as Node | null) && close(to as Node | null)}
    >
      {choices.map(({ name, act }) => (
        <Button
          text={name}
          class=""
          role="menuitem"
          tabIndex={-1}
          key={name}
          aria-disabled={act === null || undefined}
          onClick={() => {
            if (act === null) return;
            close();
            act();
          }}
        />
      ))}
    </div>
  );
}

/** A button that opens a list of actions. */
export function ActionMenu({ label, choices }: Pick<ActionsProps, "label" | "choices">) {
  const [isOpen, open] = useState(false);
  const box = useRef<HTMLSpanElement>(null);
  const close = (to?: Node | null) => {
    if (to && box.current!.contains(to)) return;
    if (to === undefined) box.current!.querySelector("button")!.focus();
    open(false);
  };
  return (
    <span class="menu-box" ref={box}>
      <Button aria-haspopup="menu" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
        {label} <span aria-hidden="true">▾</span>
      </Button>
      {isOpen && <ActionList label={label} choices={choices} close={close} />}
    </span>
  );
}
