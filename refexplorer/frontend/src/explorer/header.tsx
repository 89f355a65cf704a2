/** What a set is, in one line above the explorer; each number leads to what it counts. */

import { count, counted, extent } from "../shared/format.ts";
import type { Host } from "../shared/host.ts";
import { SeverityMark, Title } from "../shared/parts.tsx";
import type { Hello, Severity } from "../shared/wire.ts";
import type { ExplorerSession } from "./session.ts";
import { START } from "./state.ts";

const SEVERITIES: Severity[] = ["error", "warning", "info"];

export function Header({ host, hello, session }: { host: Host; hello: Hello; session: ExplorerSession }) {
  const { facts, severities } = hello;
  const size = extent(facts);
  return (
    <header class="bar head">
      <Title host={host} text={hello.title} />
      <span class="chip">{hello.form}</span>
      <Fact text={counted(facts.keys, "key")} go={() => session.run(session.find(START.search))} />
      <Fact text={counted(facts.arrays, "array")} go={() => session.show("overview")} />
      <Fact text={counted(facts.targets, "target")} go={() => session.showTargets(null)} />
      {size === null ? (
        <span class="fact">size not known</span>
      ) : (
        <Fact text={`${size.replace(" ", "\u00a0")} referenced`} />
      )}
      <span class="space" />
      {SEVERITIES.filter((severity) => Number(severities?.[severity] ?? 0) > 0).map((severity) => (
        <button
          type="button"
          key={severity}
          class={`chip ${severity}`}
          aria-label={said(severity, Number(severities![severity]))}
          onClick={() => session.showNotes(null, severity)}
        >
          <SeverityMark severity={severity} /> {count(severities![severity])}
        </button>
      ))}
    </header>
  );
}

function said(severity: Severity, n: number): string {
  return severity === "info" ? `${counted(n, "finding")} worth knowing` : counted(n, severity);
}

/** "4,212 keys", the number standing out. */
function Fact({ text, go }: { text: string; go?: () => void }) {
  const [number, ...rest] = text.split(" ");
  const body = (
    <>
      <b>{number}</b> {rest.join(" ")}
    </>
  );
  return go ? (
    <button type="button" class="fact" onClick={go}>
      {body}
    </button>
  ) : (
    <span class="fact">{body}</span>
  );
}
