/** Everything about one key: its reference, its text, and the array it belongs to. */

import type { ComponentChildren } from "preact";

import { bytes, count, pretty, printable, TYPE_NAMES } from "../shared/format.ts";
import { Badge, Blank, Copy, Notes } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { ArrayItem, Count, Item } from "../shared/wire.ts";
import type { ExplorerSession } from "./session.ts";

export function Inspector({ session }: { session: ExplorerSession }) {
  const { selection, item, itemError } = useStore(session);
  if (itemError !== null) {
    return <Blank sentence={itemError} retry={() => session.select(selection)} />;
  }
  if (selection === "") return <Blank sentence="Select a key in the tree to see what it holds." />;
  if (item === null) return <Blank sentence={`Looking up ${selection} …`} />;
  const readable = item.chunk?.estimate ?? (item.array?.path === item.path ? item.array?.estimate : null);
  return (
    <>
      <div class="key-title">
        <h2>{item.path || "/"}</h2>
        {item.kind ? <Badge kind={item.kind} named /> : <span class="quiet">{TYPE_NAMES[item.type]}</span>}
        <span class="space" />
        {readable && (
          <button class="button main-button" onClick={() => session.set({ tab: "data" })}>
            Show data
          </button>
        )}
      </div>
      {item.notes.length > 0 && <Notes notes={item.notes} follow={() => null} />}
      <Reference item={item} />
      {item.text !== null && <Text text={item.text} total={item.text_total} />}
      {item.array && <ArrayFacts array={item.array} chunk={item.chunk?.index ?? null} />}
    </>
  );
}

function Reference({ item }: { item: Item }) {
  return (
    <dl class="facts">
      {item.url !== null && <Line name="target">{item.url}</Line>}
      {item.resolved !== null && item.resolved !== item.url && (
        <Line name="leads to">{item.resolved}</Line>
      )}
      {item.offset !== null && item.length !== null && (
        <Line name="range">
          {count(item.offset)} + {count(item.length)} bytes
        </Line>
      )}
      {item.offset === null && item.size !== null && item.type !== "array" && <Line name="size">{exactly(item.size)}</Line>}
      {item.origin !== null && <Line name="from">{item.origin}</Line>}
      {item.raw !== null && item.url !== null && <Line name="reference">{item.raw}</Line>}
    </dl>
  );
}

/** "57.3 kB (57,288 bytes)" */
function exactly(size: Count): string {
  return Number(size) < 1000 ? `${count(size)} bytes` : `${bytes(size)} (${count(size)} bytes)`;
}

function Text({ text, total }: { text: string; total: number }) {
  const shown = printable(pretty(text));
  return (
    <section>
      <div class="section-head">
        <h3>Text</h3>
        <Copy text={text} />
      </div>
      <pre class="text" tabIndex={0} aria-label="Text of the key">{shown}</pre>
      {total > text.length && (
        <p class="quiet">The first {bytes(text.length)} of {bytes(total)}.</p>
      )}
    </section>
  );
}

function ArrayFacts({ array, chunk }: { array: ArrayItem; chunk: number[] | null }) {
  const missing = Number(array.chunk_count) - Number(array.present);
  return (
    <section>
      <h3>Array {array.path || "/"}</h3>
      <dl class="facts">
        {chunk && <Line name="this chunk">{by(chunk, ", ")} of {by(array.grid)}</Line>}
        <Line name="shape">{shape(array)}</Line>
        <Line name="type">{array.dtype}</Line>
        <Line name="chunks">
          {by(array.chunks)}, {count(array.chunk_count)} in all
          {missing > 0 && <span class="absent"> {count(missing)} without a reference</span>}
        </Line>
        <Line name="codecs">{array.codecs.join(" → ") || "none"}</Line>
        <Line name="fill value">{String(JSON.stringify(array.fill))}</Line>
        <Line name="format">Zarr {array.zarr_format}</Line>
        <Line name="stored">{bytes(array.bytes)}</Line>
      </dl>
      {array.attributes.length > 0 && (
        <>
          <h3>Attributes</h3>
          <dl class="facts">
            {array.attributes.map(([name, text]) => (
              <Line key={name} name={name}>{unquoted(text)}</Line>
            ))}
          </dl>
        </>
      )}
    </section>
  );
}

function Line({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** "time 2,920 × lat 25 × lon 53" */
function shape({ shape: sizes, dimensions }: ArrayItem): string {
  if (sizes.length === 0) return "a single value";
  return sizes.map((size, i) => `${dimensions?.[i] ?? ""} ${count(size)}`.trim()).join(" × ");
}

function by(sizes: Count[], separator = " × "): string {
  return sizes.length === 0 ? "1" : sizes.map(count).join(separator);
}

/** The text of a JSON string; JSON of everything else. */
function unquoted(json: string): string {
  if (!json.startsWith('"')) return json;
  try {
    return String(JSON.parse(json));
  } catch {
    return json;
  }
}
