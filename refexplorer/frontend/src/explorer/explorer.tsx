/** The explorer: verdict, keys, picture and details on one screen, code below; or one part by itself. */

import { useEffect, useRef, useState } from "preact/hooks";

import type { Host } from "../shared/host.ts";
import type { ViewProps } from "../shared/mount.tsx";
import { Blank, Button, Copy } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { Hello } from "../shared/wire.ts";
import { CopyCell, seenCode } from "../key/copycell.tsx";
import { ComparisonBanner } from "../compare/banner.tsx";
import { Centre } from "./centre.tsx";
import { Details } from "./details.tsx";
import { KeyList, onShortcut } from "./keys.tsx";
import { Keys, PARTS } from "./parts.tsx";
import { ExplorerSession } from "./session.ts";
import { Splitter, useShares } from "./splitter.tsx";
import { WHOLE } from "./state.ts";
import { Verdict } from "./verdict.tsx";
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
  const { isAside } = useStore(session);
  useStore(session.preview);
  const code = seenCode(session);
  const { shares, move } = useShares();
  const [help, setHelp] = useState(false);
  const section = useRef<HTMLElement>(null);
  return (
    <section
      class={`view explorer${isAside ? " with-details" : ""}`}
      aria-label={`Reference set ${hello.title}`}
      ref={section}
      onKeyDown={(event) => onShortcut(event, section.current!, session, () => setHelp(true))}
    >
      {help && <KeyList close={() => setHelp(false)} />}
      <Verdict host={host} hello={hello} session={session} />
      <ComparisonBanner session={session} />
      <div class="main" style={{ "--tree": `${shares.tree}%`, "--aside": `${shares.aside}%` }}>
        <Keys session={session} hello={hello} alone={false} />
        <Splitter side="tree" share={shares.tree} move={move} />
        <Centre session={session} hello={hello} />
        <Splitter side="aside" share={shares.aside} move={move} />
        <Details session={session} hello={hello} />
      </div>
      <footer class="bar foot">
        <code class="code" title={code}>
          {code}
        </code>
        <CopyCell session={session} />
        <Copy text={code} label="Copy code" />
        {isLinked(host) && <CopyLink />}
        <Button text="?" aria-label="Show the keys" title="Keys (?)" onClick={() => setHelp(true)} />
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
  const Shown = PARTS[part];
  // Another version of Python may name a part that is not here.
  const shown = Shown ? (
    <Shown session={session} hello={hello} alone />
  ) : (
    <Blank sentence={`This version of refexplorer has no view \`${part}\`.`} />
  );
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
