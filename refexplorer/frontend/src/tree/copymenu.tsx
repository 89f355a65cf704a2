/** The menu of a row of the tree: copy its key, its reference, the Python for it. */

import { useEffect, useState } from "preact/hooks";

import { toClipboard } from "../shared/browser.ts";
import { ActionList } from "../shared/menu.tsx";
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
  if (row) await copy(row.path);
}

interface Props {
  session: ExplorerSession;
  place: Place;
  /** Null: that of the active row. */
  path: string | null;
  close(): void;
}

export function CopyMenu({ session, place, path, close }: Props) {
  const [item, setItem] = useState<PathItem | null>(null);
  useEffect(() => {
    session.run(
      (async () => {
        const key = path ?? (await session.activeRow())?.path;
        if (key !== undefined) setItem(await session.itemOf(key));
      })(),
    );
  }, []);
  const choices = CHOICES.map(({ name, text }) => {
    const found = item && text(item);
    return { name, act: found ? () => session.run(copy(found)) : null };
  });
  const style = { left: `${place.left}px`, top: `${place.top}px` };
  return <ActionList label="Copy" choices={choices} style={style} close={close} />;
}

async function copy(text: string): Promise<void> {
  if (!(await toClipboard(text))) throw new Error("The browser refused to copy the text.");
}
