/** The explorer: header, tree and details side by side, code below; or one part by itself. */

import { useEffect, useRef, useState } from "preact/hooks";

import type { Host } from "../shared/host.ts";
import type { ViewProps } from "../shared/mount.tsx";
import { Blank, Copy } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { Hello } from "../shared/wire.ts";
import { CopyCell } from "../key/copycell.tsx";
import { Header } from "./header.tsx";
import { KeyList, onShortcut } from "./keys.tsx";
import { Keys, PARTS, type PartProps } from "./parts.tsx";
import { ExplorerSession } from "./session.ts";
import { Splitter, useShare } from "./splitter.tsx";
import { WHOLE } from "./state.ts";
import { Tabs } from "./tabs.tsx";
import { followState } from "./whereabouts.ts";

export function Explorer({ host }: ViewProps) {
  const [session] = useState(() => new ExplorerSession(host));
  useEffect(() => () => session.close(), [session]);
  useEffect(() => followState(host, session), [host, session]);
  const { hello, failure } = useStore(session);
  if (failure !== null) return <Blank sentence={failure} retry={() => session.open()} />;
  if (hello === null) return <Blank sentence="Opening the reference set …" />;
  if (session.part !== WHOLE) return <Alone session={session} hello={hello} />;
  return <Whole host={host} session={session} hello={hello} />;
}

interface ShownProps {
  session: ExplorerSession;
  hello: Hello;
}

function Whole({ host, session, hello }: ShownProps & { host: Host }) {
  const { tab, code } = useStore(session);
  const [share, setShare] = useShare();
  const [help, setHelp] = useState(false);
  const section = useRef<HTMLElement>(null);
  const tabs = Object.fromEntries(session.tabs.map(({ name, label }) => [name, label]));
  return (
    <section
      class="view explorer"
      aria-label={`Reference set ${hello.title}`}
      ref={section}
      onKeyDown={(event) => onShortcut(event, section.current!, () => setHelp(true))}
    >
      {help && <KeyList close={() => setHelp(false)} />}
      <Header host={host} hello={hello} session={session} />
      <div class="main" style={{ "--tree": `${share}%` }}>
        <Keys session={session} hello={hello} alone={false} />
        <Splitter share={share} move={setShare} />
        <div class="right">
          <Tabs names={tabs} chosen={tab} choose={(next) => session.show(next)}>
            <Part name={tab} session={session} hello={hello} alone={false} />
          </Tabs>
        </div>
      </div>
      <footer class="bar foot">
        <code class="code" title={code}>
          {code}
        </code>
        <CopyCell session={session} />
        <Copy text={code} label="Copy code" />
        {isLinked(host) && <CopyLink />}
        <button type="button" class="button" aria-label="Show the keys" title="Keys (?)" onClick={() => setHelp(true)}>
          ?
        </button>
      </footer>
    </section>
  );
}

/** Whether the address leads here: not where it cannot name the set, and not in a notebook. */
function isLinked(host: Host): boolean {
  return host.place === "page" && new URLSearchParams(location.search).has("source");
}

function CopyLink() {
  // The address follows what is shown, so it is read when it is asked for.
  return <Copy text={() => location.href} label="Copy link" />;
}

/** One part in a widget of its own. */
function Alone({ session, hello }: ShownProps) {
  const { trouble } = useStore(session);
  const { part } = session;
  const shown = <Part name={part} session={session} hello={hello} alone />;
  return (
    <section class={`view part ${part}`} aria-label={`${session.titleOf(part)} of ${hello.title}`}>
      {part === "tree" ? shown : <div class="pane">{shown}</div>}
      {part !== "tree" && trouble !== null && (
        <p class="failed" role="alert">
          {trouble}
        </p>
      )}
    </section>
  );
}

/** The part that Python names; another version of Python may name one that is not here. */
function Part({ name, ...props }: PartProps & { name: string }) {
  const Shown = PARTS[name];
  return Shown ? <Shown {...props} /> : <Blank sentence={`This front end has no view \`${name}\`.`} />;
}
