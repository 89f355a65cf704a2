/** The menu of a row of the tree: copy its key, its reference, the Python for it. */

import { useEffect, useRef, useState } from "preact/hooks";

import { Button, toClipboard } from "../shared/parts.tsx";
import type { PathItem } from "../shared/wire.ts";
import type { ExplorerSession } from "../explorer/session.ts";

/** In px from the corner of the tree. */
export interface Place {
  left: number;
  top: number;
}

const CHOICES: { name: string; text(item: PathItem): string | null }[] = [
  { name: "Copy key", text: ({ path }) => path },
  { name: "Copy reference", text: ({ raw }) => raw },
  { name: "Copy code", text: ({ code }) => code },
];

/** Puts the key of the active row on the clipboard. */
export async function copyKey(session: ExplorerSession): Promise<void> {
  const row = await session.activeRow();
  if (row && !(await toClipboard(row.path))) throw new Error("The browser refused to copy the text.");
}

interface Props {
  session: ExplorerSession;
  place: Place;
  /** Null: that of the active row. */
  path: string | null;
  close(): void;
}

export function CopyMenu({ session, place, path, close }: Props) {
  const list = useRef<HTMLDivElement>(null);
  const [item, setItem] = useState<PathItem | null>(null);
  useEffect(() => {
    list.current!.querySelector("button")?.focus();
    session.run(
      (async () => {
        const key = path ?? (await session.activeRow())?.path;
        if (key !== undefined) setItem(await session.itemOf(key));
      })(),
    );
  }, []);
  const copy = async (text: string) => {
    close();
    if (!(await toClipboard(text))) throw new Error("The browser refused to copy the text.");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const buttons = [...list.current!.querySelectorAll("button")];
    const at = buttons.indexOf((event.currentTarget as HTMLElement).querySelector("button:focus")!);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" || event.key === "Tab") close();
    else if (step) buttons[(at + step + buttons.length) % buttons.length]!.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      class="menu"
      role="menu"
      aria-label="Copy"
      ref={list}
      style={{ left: `${place.left}px`, top: `${place.top}px` }}
      onKeyDown={onKeyDown}
      onFocusOut={(event) => !list.current!.contains(event.relatedTarget as Node | null) && close()}
    >
      {CHOICES.map(({ name, text }) => {
        const found = item && text(item);
        return (
          <Button
            text={name}
            key={name}
            role="menuitem"
            aria-disabled={!found}
            onClick={() => found && session.run(copy(found))}
            class=""
          />
        );
      })}
    </div>
  );
}
