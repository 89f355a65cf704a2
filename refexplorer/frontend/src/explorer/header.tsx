/** What a set is, in one line above the explorer. */

import { counted, extent } from "../shared/format.ts";
import { SeverityMark } from "../shared/parts.tsx";
import type { Hello, Severity } from "../shared/wire.ts";

export function Header({ hello, showNotes }: { hello: Hello; showNotes(): void }) {
  const { facts, notes, note_count: total } = hello;
  const size = extent(facts);
  const has = (severity: Severity) => notes?.some((note) => note.severity === severity);
  const worst = has("error") ? "error" : has("warning") ? "warning" : "info";
  return (
    <header class="bar head">
      <b class="title" title={hello.title}>{hello.title}</b>
      <span class="chip">{hello.form}</span>
      <Fact text={counted(facts.keys, "key")} />
      <Fact text={counted(facts.arrays, "array")} />
      <Fact text={counted(facts.targets, "target")} />
      {size === null ? (
        <span class="fact">size not known</span>
      ) : (
        <Fact text={`${size.replace(" ", "\u00a0")} referenced`} />
      )}
      <span class="space" />
      {total !== null && total > 0 && (
        <button type="button" class={`chip ${worst}`} onClick={showNotes}>
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
