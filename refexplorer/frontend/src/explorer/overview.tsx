/** The first look: what this set is, and whether something is wrong. */

import { bytes, count, counted, KIND_NAMES, KINDS } from "../shared/format.ts";
import { Badge, Notes } from "../shared/parts.tsx";
import type { Facts, Hello } from "../shared/wire.ts";
import { Dataset } from "./dataset.tsx";
import type { ExplorerSession } from "./session.ts";

interface Props {
  session: ExplorerSession;
  hello: Hello;
}

const FORMS: Record<Hello["form"], string> = {
  V0: "a version 0 reference set: each key with its reference written out",
  V1: "a version 1 reference set: references with templates, and keys that are generated",
  parquet: "a parquet reference set: references in columns, one folder for each array",
};

export function Overview({ session, hello }: Props) {
  const { facts, notes, note_count: total } = hello;
  const reveal = (path: string) => session.run(session.reveal(path));
  return (
    <>
      <section>
        <h3>What this is</h3>
        <p class="prose">
          <b>{hello.title}</b> is {FORMS[hello.form]}. It maps {counted(facts.keys, "key")} of{" "}
          {counted(facts.arrays, "array")} to {bytes(facts.bytes)} in{" "}
          {counted(facts.targets, "target")}. Nothing is read from them until you ask.
        </p>
      </section>
      <section>
        <h3>How the keys hold their data</h3>
        <KindTable facts={facts} />
      </section>
      <section>
        <h3>{total === 0 ? "Notes" : counted(total, "note")}</h3>
        {total === 0 ? (
          <p class="prose quiet">Nothing is wrong with this set.</p>
        ) : (
          <Notes notes={notes} follow={({ key }) => (key === null ? null : () => reveal(key))} />
        )}
        {total > notes.length && <p class="quiet">and {count(total - notes.length)} more</p>}
      </section>
      <Dataset session={session} />
      <p class="quiet hint">Select a key in the tree to see its reference and its data.</p>
    </>
  );
}

function KindTable({ facts }: { facts: Facts }) {
  const all = Math.max(1, Number(facts.keys));
  return (
    <table class="kinds">
      <thead class="unseen">
        <tr><th>Kind</th><th>Keys</th><th>Share</th></tr>
      </thead>
      <tbody>
        {KINDS.map((kind) => (
          <tr key={kind} class={kind}>
            <th scope="row"><Badge kind={kind} named /></th>
            <td class="number">{count(facts.kinds[kind])}</td>
            <td class="share" title={`${KIND_NAMES[kind]}: ${count(facts.kinds[kind])} keys`}>
              <span style={{ width: `${(100 * Number(facts.kinds[kind])) / all}%` }} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
