/** The component of each part of the explorer, by the name that `refexplorer/views/registry.py` gives it. */

import type { ComponentType } from "preact";

import { Inspector } from "../key/inspector.tsx";
import { KeyField } from "../key/keyfield.tsx";
import { Chunks } from "../maps/chunks.tsx";
import { Targets } from "../maps/targets.tsx";
import { Data } from "../preview/data.tsx";
import type { Hello } from "../shared/wire.ts";
import { SearchBox } from "../tree/search.tsx";
import { Tree } from "../tree/tree.tsx";
import { Overview } from "./overview.tsx";
import type { ExplorerSession } from "./session.ts";

export interface PartProps {
  session: ExplorerSession;
  hello: Hello;
  /** In a widget of its own. */
  alone: boolean;
}

export const PARTS: Record<string, ComponentType<PartProps>> = {
  overview: Overview,
  tree: Keys,
  key: Key,
  data: Data,
  chunks: Chunks,
  targets: Targets,
};

export function Keys({ session, hello }: PartProps) {
  return (
    <div class="left">
      <SearchBox session={session} kinds={hello.facts.kinds} />
      <Tree session={session} label={`Keys of ${hello.title}`} />
    </div>
  );
}

function Key({ session, alone }: PartProps) {
  return (
    <>
      {alone && <KeyField session={session} />}
      <Inspector session={session} />
    </>
  );
}
