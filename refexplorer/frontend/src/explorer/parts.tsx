/** The component of each part of the explorer, by the name that `refexplorer/views/registry.py` gives it. */

import type { ComponentType } from "preact";

import cost from "../cost/cost.css";
import beside from "../beside/beside.css";
import { Beside } from "../beside/beside.tsx";
import { Compare } from "../compare/compare.tsx";
import { Cost, CostDetails } from "../cost/cost.tsx";
import geo from "../geo/geo.css";
import { EarthPart } from "../geo/map.tsx";
import { Inspector } from "../key/inspector.tsx";
import { KeyField } from "../key/keyfield.tsx";
import { Chunks } from "../maps/chunks.tsx";
import { Targets } from "../maps/targets.tsx";
import { Data } from "../preview/data.tsx";
import type { Hello } from "../shared/wire.ts";
import changes from "../styles/changes.css";
import data from "../styles/data.css";
import derivation from "../styles/derivation.css";
import health from "../styles/health.css";
import hex from "../styles/hex.css";
import inspector from "../styles/inspector.css";
import maps from "../styles/maps.css";
import tree from "../styles/tree.css";
import { SearchBox } from "../tree/search.tsx";
import { Tree } from "../tree/tree.tsx";
import type { ExplorerSession } from "./session.ts";

export interface PartProps {
  session: ExplorerSession;
  hello: Hello;
  /** In a widget of its own. */
  alone: boolean;
}

export const PARTS: Record<string, ComponentType<PartProps>> = {
  data: Data,
  map: EarthPart,
  beside: Beside,
  chunks: Chunks,
  targets: Targets,
  cost: Cost,
  compare: Compare,
  tree: Keys,
  key: Key,
};

/** What stands first in the details while a look is shown. */
export const DETAILS: Record<string, ComponentType<{ session: ExplorerSession }>> = { cost: CostDetails };

/** The style sheets of the parts, one after the other. */
export const STYLES = [health, tree, inspector, derivation, hex, data, maps, changes, cost, geo, beside].join("");

export function Keys({ session, hello }: PartProps) {
  return (
    <nav class="left" aria-label="Keys">
      <SearchBox session={session} kinds={hello.facts.kinds} />
      <Tree session={session} label={`Keys of ${hello.title}`} />
    </nav>
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
