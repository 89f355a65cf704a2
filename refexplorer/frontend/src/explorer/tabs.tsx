import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";

interface Props<T extends string> {
  names: Record<T, string>;
  chosen: T;
  choose(tab: T): void;
  children: ComponentChildren;
}

/** An ARIA tab list: one stop for Tab, arrows move between the tabs. */
export function Tabs<T extends string>({ names, chosen, choose, children }: Props<T>) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const tabs = Object.keys(names) as T[];
  const step: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1 };

  const onKeyDown = (event: KeyboardEvent) => {
    const by = step[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const next = (tabs.indexOf(chosen) + by + tabs.length) % tabs.length;
    choose(tabs[next]!);
    (list.current!.children[next] as HTMLElement).focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label="Details" ref={list} onKeyDown={onKeyDown}>
        {tabs.map((tab) => (
          <button
            type="button"
            key={tab}
            id={`${id}-${tab}`}
            role="tab"
            aria-selected={tab === chosen}
            aria-controls={`${id}-pane`}
            tabIndex={tab === chosen ? 0 : -1}
            onClick={() => choose(tab)}
          >
            {names[tab]}
          </button>
        ))}
      </div>
      <div class="pane" role="tabpanel" id={`${id}-pane`} tabIndex={0} aria-labelledby={`${id}-${chosen}`}>
        {children}
      </div>
    </>
  );
}
