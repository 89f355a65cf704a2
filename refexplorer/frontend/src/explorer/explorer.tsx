/** The explorer: header, tree and details side by side, code below. */

import { useEffect, useState } from "preact/hooks";

import { bytes, counted } from "../shared/format.ts";
import type { ViewProps } from "../shared/mount.tsx";
import { Blank, Copy, SeverityMark } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { Hello } from "../shared/wire.ts";
import { Chunks } from "./chunks.tsx";
import { Data } from "./data.tsx";
import { Inspector } from "./inspector.tsx";
import { Overview } from "./overview.tsx";
import { SearchBox } from "./search.tsx";
import { ExplorerSession, TABS } from "./session.ts";
import { Tabs } from "./tabs.tsx";
import { Targets } from "./targets.tsx";
import { Tree } from "./tree.tsx";
import { followAddress } from "./whereabouts.ts";

export function Explorer({ host }: ViewProps) {
  const [session] = useState(() => new ExplorerSession(host));
  useEffect(() => () => session.close(), [session]);
  useEffect(() => followAddress(host, session), [host, session]);
  const { hello, failure, tab, item, selection } = useStore(session);
  if (failure !== null) return <Blank sentence={failure} retry={() => session.open()} />;
  if (hello === null) return <Blank sentence="Opening the reference set …" />;
  const panes = {
    overview: <Overview hello={hello} reveal={(path) => session.run(session.reveal(path))} />,
    key: <Inspector session={session} />,
    data: <Data session={session} />,
    chunks: <Chunks session={session} />,
    targets: <Targets session={session} />,
  };
  return (
    <section class="view explorer" aria-label={`Reference set ${hello.title}`}>
      <Header hello={hello} showNotes={() => session.set({ tab: "overview" })} />
      <div class="main">
        <div class="left">
          <SearchBox session={session} kinds={hello.facts.kinds} />
          <Tree session={session} label={`Keys of ${hello.title}`} />
        </div>
        <div class="right">
          <Tabs names={TABS} chosen={tab} choose={(next) => session.set({ tab: next })}>
            {panes[tab]}
          </Tabs>
        </div>
      </div>
      <footer class="bar foot">
        <code class="code" title={item?.code}>
          {selection === "" ? "Select a key to see the Python for it" : (item?.code ?? "")}
        </code>
        <Copy text={selection === "" ? "" : (item?.code ?? "")} label="Copy code" />
      </footer>
    </section>
  );
}

function Header({ hello, showNotes }: { hello: Hello; showNotes(): void }) {
  const { facts, notes, note_count: total } = hello;
  const worst = notes.some((note) => note.severity === "error")
    ? "error"
    : notes.some((note) => note.severity === "warning")
      ? "warning"
      : "info";
  return (
    <header class="bar head">
      <b class="title" title={hello.title}>{hello.title}</b>
      <span class="chip">{hello.form}</span>
      <Fact text={counted(facts.keys, "key")} />
      <Fact text={counted(facts.arrays, "array")} />
      <Fact text={counted(facts.targets, "target")} />
      <Fact text={`${bytes(facts.bytes).replace(" ", "\u00a0")} referenced`} />
      <span class="space" />
      {total > 0 && (
        <button class={`chip ${worst}`} onClick={showNotes}>
          <SeverityMark severity={worst} /> {counted(total, "note")}
        </button>
      )}
    </header>
  );
}

/** "4,212 keys", the number standing out. */
function Fact({ text }: { text: string }) {
  const [number, ...rest] = text.split(" ");
  return (
    <span class="fact">
      <b>{number}</b> {rest.join(" ")}
    </span>
  );
}
