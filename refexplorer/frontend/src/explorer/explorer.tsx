/** The explorer: header, tree and details side by side, code below; or one part by itself. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { ViewProps } from "../shared/mount.tsx";
import { Blank, Copy } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { Hello } from "../shared/wire.ts";
import { Chunks } from "../maps/chunks.tsx";
import { Data } from "../preview/data.tsx";
import { Header } from "./header.tsx";
import { Inspector } from "../key/inspector.tsx";
import { KeyField } from "../key/keyfield.tsx";
import { Overview } from "./overview.tsx";
import { SearchBox } from "../tree/search.tsx";
import { ExplorerSession } from "./session.ts";
import { Splitter, useShare } from "./splitter.tsx";
import { TABS, type Part } from "./state.ts";
import { Tabs } from "./tabs.tsx";
import { Targets } from "../maps/targets.tsx";
import { Tree } from "../tree/tree.tsx";
import { followAddress } from "./whereabouts.ts";

export function Explorer({ host }: ViewProps) {
  const [session] = useState(() => new ExplorerSession(host));
  useEffect(() => () => session.close(), [session]);
  useEffect(() => followAddress(host, session), [host, session]);
  const { hello, failure } = useStore(session);
  if (failure !== null) return <Blank sentence={failure} retry={() => session.open()} />;
  if (hello === null) return <Blank sentence="Opening the reference set …" />;
  if (session.part !== "explorer") return <Alone session={session} part={session.part} hello={hello} />;
  return <Whole session={session} hello={hello} />;
}

interface ShownProps {
  session: ExplorerSession;
  hello: Hello;
}

function Whole({ session, hello }: ShownProps) {
  const { tab, code } = useStore(session);
  const [share, setShare] = useShare();
  const panes = {
    overview: <Overview session={session} hello={hello} />,
    key: <Inspector session={session} />,
    data: <Data session={session} />,
    chunks: <Chunks session={session} />,
    targets: <Targets session={session} />,
  };
  return (
    <section class="view explorer" aria-label={`Reference set ${hello.title}`}>
      <Header hello={hello} showNotes={() => session.show("overview")} />
      <div class="main" style={{ "--tree": `${share}%` }}>
        <Keys session={session} hello={hello} />
        <Splitter share={share} move={setShare} />
        <div class="right">
          <Tabs names={TABS} chosen={tab} choose={(next) => session.show(next)}>
            {panes[tab]}
          </Tabs>
        </div>
      </div>
      <footer class="bar foot">
        <code class="code" title={code}>{code}</code>
        <Copy text={code} label="Copy code" />
      </footer>
    </section>
  );
}

function Keys({ session, hello }: ShownProps) {
  return (
    <div class="left">
      <SearchBox session={session} kinds={hello.facts.kinds} />
      <Tree session={session} label={`Keys of ${hello.title}`} />
    </div>
  );
}

const NAMES: Record<Exclude<Part, "explorer">, string> = {
  tree: "Keys",
  key: "One key",
  data: "Values",
  chunks: "Chunks",
  targets: "Targets",
};

/** One part in a widget of its own. */
function Alone({ session, part, hello }: ShownProps & { part: Exclude<Part, "explorer"> }) {
  const { trouble } = useStore(session);
  const panes: Record<typeof part, ComponentChildren> = {
    tree: <Keys session={session} hello={hello} />,
    key: <><KeyField session={session} /><Inspector session={session} /></>,
    data: <Data session={session} />,
    chunks: <Chunks session={session} />,
    targets: <Targets session={session} />,
  };
  return (
    <section class={`view part ${part}`} aria-label={`${NAMES[part]} of ${hello.title}`}>
      {part === "tree" ? panes.tree : <div class="pane">{panes[part]}</div>}
      {part !== "tree" && trouble !== null && <p class="failed" role="alert">{trouble}</p>}
    </section>
  );
}
