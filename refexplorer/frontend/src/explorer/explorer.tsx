/** The explorer: verdict, keys, picture and details on one screen, code below; or one part by itself. */

import { useEffect, useRef, useState } from "preact/hooks";

import type { Host } from "../shared/host.ts";
import type { ViewProps } from "../shared/mount.tsx";
import { Blank, Button, Copy } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import { VIEWS } from "../../generated/views.ts";
import { Keys } from "../tree/tree.tsx";
import { CopyCell, seenCode } from "../key/copycell.tsx";
import { ComparisonBanner } from "../compare/compare.tsx";
import { Centre, Look } from "./centre.tsx";
import { Details } from "./details.tsx";
import { KeyList, onShortcut } from "./keys.tsx";
import { ExplorerSession } from "./session.ts";
import { WHOLE } from "./state.ts";
import { Verdict } from "./verdict.tsx";
import type { ShownProps } from "./view.ts";
import { followState } from "./address.ts";
import { type Arrangement, keep, kept } from "./layout.ts";

export function Explorer({ host }: ViewProps) {
  const [session] = useState(() => new ExplorerSession(host, VIEWS));
  useEffect(() => () => session.close(), [session]);
  useEffect(() => followState(host, session), [host, session]);
  const { hello, failure } = useStore(session);
  if (failure !== null) return <Blank sentence={failure} retry={() => session.open()} />;
  if (hello === null) return <Blank sentence="Opening the reference set …" />;
  if (session.part !== WHOLE) return <Alone session={session} hello={hello} />;
  return <Whole host={host} session={session} hello={hello} />;
}

function Whole({ host, session, hello }: ShownProps & { host: Host }) {
  const { isAside } = useStore(session);
  useStore(session.preview);
  const code = seenCode(session);
  const { shares, move } = useShares();
  const [help, setHelp] = useState(false);
  const section = useRef<HTMLElement>(null);
  const onKeyDown = (event: KeyboardEvent) => onShortcut(event, section.current!, session, () => setHelp(true));
  useEffect(() => {
    if (!session.isPage) return;
    // The page has nothing else on it: its keys work before anything has the focus.
    const onPage = (event: KeyboardEvent) => event.target === document.body && onKeyDown(event);
    document.addEventListener("keydown", onPage);
    return () => document.removeEventListener("keydown", onPage);
  }, [session]);
  return (
    <section
      class={`view explorer${isAside ? " with-details" : ""}`}
      aria-label={`Reference set ${hello.title}`}
      ref={section}
      onKeyDown={onKeyDown}
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
        {/* The address follows what is shown, so it is read when it is asked for. */}
        {isLinked(host) && <Copy text={() => location.href} label="Copy link" />}
        <Button text="?" aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)" onClick={() => setHelp(true)} />
      </footer>
    </section>
  );
}

/** Whether the address leads here: not where it cannot name the set, and not in a notebook. */
function isLinked(host: Host): boolean {
  return host.place === "page" && new URLSearchParams(location.search).has("source");
}

/** One part in a widget of its own. */
function Alone({ session, hello }: ShownProps) {
  const { trouble } = useStore(session);
  const { part } = session;
  const shown = <Look name={part} session={session} hello={hello} alone />;
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

const LEAST = 12;
const MOST = 60;
const STEP = 2;

type Side = "tree" | "aside";
type Shares = Pick<Arrangement, Side>;

/** Shares of the width that the sides have, percent; remembered. */
export function useShares(): { shares: Shares; move(side: Side, share: number): void } {
  const [shares, setShares] = useState<Shares>(() => kept());
  const move = (side: Side, to: number) => {
    const next = { ...shares, [side]: Math.min(MOST, Math.max(LEAST, to)) };
    setShares(next);
    keep({ tree: next.tree, aside: next.aside });
  };
  return { shares, move };
}

export function Splitter({ side, share, move }: { side: Side; share: number; move(side: Side, share: number): void }) {
  const isLeft = side === "tree";
  const onPointerMove = (event: PointerEvent) => {
    const line = event.currentTarget as HTMLElement;
    if (!line.hasPointerCapture(event.pointerId)) return;
    const { left, right, width } = line.parentElement!.getBoundingClientRect();
    move(side, (100 * (isLeft ? event.clientX - left : right - event.clientX)) / width);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const by = isLeft ? STEP : -STEP;
    const to = { ArrowLeft: share - by, ArrowRight: share + by, Home: LEAST, End: MOST }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    move(side, to);
  };
  return (
    <div
      class={`splitter ${side}-splitter`}
      role="separator"
      tabIndex={0}
      aria-label={isLeft ? "Width of the keys" : "Width of the details"}
      aria-orientation="vertical"
      aria-valuemin={LEAST}
      aria-valuemax={MOST}
      aria-valuenow={Math.round(share)}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={onPointerMove}
      onKeyDown={onKeyDown}
    />
  );
}
