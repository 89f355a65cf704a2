/** Everything about one key: its reference, its bytes, how it decodes, the array it belongs to. */

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

import { DraftField } from "../shared/controls.tsx";
import { DerivationSteps } from "../shared/derivation.tsx";
import { isPlain } from "../shared/escaping.ts";
import { bytes, count, exact, less, NOT_KNOWN, pretty, sizes, TYPE_NAMES } from "../shared/format.ts";
import { Badge, Blank, Button, Copy, Notes } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { ArrayItem, Count, PathItem } from "../shared/wire.ts";
import { Failure, Outcome } from "../shared/access.tsx";
import { Hex } from "./hex.tsx";
import { BLOCK, type KeyDetails } from "./keydetails.ts";
import { Trace } from "./trace.tsx";
import { Shard } from "./shard.tsx";
import type { ExplorerSession } from "../explorer/session.ts";
import type { ExplorerView, PartProps } from "../explorer/view.ts";

export const VIEW: ExplorerView = { name: "key", Shown: Key };

function Key({ session, alone }: PartProps) {
  return (
    <>
      {alone && <KeyField session={session} />}
      <Inspector session={session} />
    </>
  );
}

/** Where a key is named, in a widget that has no tree to choose it from. */
function KeyField({ session }: { session: ExplorerSession }) {
  const { selection } = useStore(session);
  return (
    <label class="choice key-field">
      <span>Key</span>
      <DraftField placeholder="air/0.0.0" text={selection} set={(key) => session.run(session.reveal(key.trim()))} />
    </label>
  );
}

export function Inspector({ session }: { session: ExplorerSession }) {
  const { selection, item, itemError } = useStore(session);
  if (itemError !== null) {
    return <Blank sentence={itemError} retry={() => session.inspect(selection)} />;
  }
  if (selection === "") return <Blank sentence="Select a key in the tree to see its contents." />;
  if (item === null) return <Blank sentence={`Looking up ${selection} …`} />;
  return <Shown key={item.path} session={session} item={item} />;
}

function Shown({ session, item }: { session: ExplorerSession; item: PathItem }) {
  const { details } = session;
  useEffect(() => {
    details.look(item.path);
  }, [details, item.path]);
  return (
    <>
      <div class="key-title">
        <h2>{item.path || "/"}</h2>
        {item.kind ? <Badge kind={item.kind} named /> : <span class="quiet">{TYPE_NAMES[item.type]}</span>}
      </div>
      {item.notes !== null && item.notes.length > 0 && <Notes notes={item.notes} follow={() => null} />}
      <Reference item={item} session={session} />
      {item.text !== null && <Text text={item.text} total={item.text_total} />}
      {item.kind !== null && <Bytes item={item} details={details} />}
      {item.chunk !== null && <Decoding details={details} />}
      {item.chunk !== null && item.array?.inner_chunks != null && <Shard details={details} />}
      {item.array && <ArrayFacts array={item.array} session={session} item={item} />}
      <Code details={details} />
    </>
  );
}

function Reference({ item, session }: { item: PathItem; session: ExplorerSession }) {
  const { details } = session;
  const { hello } = useStore(session);
  const whole = session.part === "explorer";
  return (
    <section>
      <dl class="facts">
        {item.url !== null && (
          <Line name="file">
            <Target url={item.url} />
            {whole && (
              <>
                {" "}
                <Go name="its keys" go={() => session.run(session.focusOnTarget(item.url))} />{" "}
                <Go name="its bytes" go={() => session.showTarget(item.url)} />
              </>
            )}
          </Line>
        )}
        {item.resolved !== null && item.resolved !== item.url && (
          <Line name="resolves to">
            <Target url={item.resolved} />
          </Line>
        )}
        {item.offset !== null && item.length !== null && (
          <Line name="range">
            {count(item.offset)} + {count(item.length)} bytes
          </Line>
        )}
        {item.offset === null && item.kind !== null && item.type !== "array" && (
          <Line name="size">{item.size === null ? NOT_KNOWN : exactly(item.size)}</Line>
        )}
        {item.raw !== null && item.url !== null && <Line name="reference">{item.raw}</Line>}
        {item.origin !== null && <Line name="from">{item.origin}</Line>}
        {item.checked != null && (
          <Line name="checked">
            <span class={item.checked.outcome}>{{ good: "✓", bad: "✕", unknown: "○" }[item.checked.outcome]}</span>{" "}
            {item.checked.text}
          </Line>
        )}
      </dl>
      {item.kind !== null && (
        <Derivation details={details} edit={hello?.has_editor ? () => session.run(session.edit(item.path)) : null} />
      )}
    </section>
  );
}

/** A link to where something is shown. */
function Go({ name, go, bad = false }: { name: string; go(): void; bad?: boolean }) {
  return <Button text={name} class={`link ${bad ? "bad" : ""}`} onClick={go} />;
}

/** A link for what a browser can open and a reader can see to be that; text for all else. */
function Target({ url }: { url: string }) {
  if (!isPlain(url) || !isWeb(url)) return <>{url}</>;
  return (
    <a href={url} target="_blank" rel="noopener noreferrer">
      {url}
    </a>
  );
}

function isWeb(url: string): boolean {
  if (!/^https?:\/\//i.test(url)) return false;
  try {
    const { username, password } = new URL(url);
    return username === "" && password === "";
  } catch {
    return false;
  }
}

/** How the key came about, one click away: as it is written, each template, the reference. */
function Derivation({ details, edit }: { details: KeyDetails; edit: (() => void) | null }) {
  const { path } = useStore(details);
  const { id, answer } = useStore(details.explained);
  const show = edit !== null && <Go name="Show in the editor" go={edit} />;
  if (id !== null && answer === null)
    return (
      <p class="quiet" role="status">
        Looking it up …
      </p>
    );
  return (
    <Outcome
      work={details.explained}
      start={() => void details.explained.start({ path })}
      offer="Show derivation"
      beside={show}
    >
      {({ origin, steps }) => (
        <section class="came" aria-label="Derivation of this key">
          <h3>Derivation, from {origin}</h3>
          <DerivationSteps steps={steps} />
          {show}
        </section>
      )}
    </Outcome>
  );
}

function Bytes({ item, details }: { item: PathItem; details: KeyDetails }) {
  const { cursor } = useStore(details);
  const isHere = item.kind === "inline" || item.kind === "base64";
  return (
    <section>
      <h3>Bytes</h3>
      <Outcome
        work={details.block}
        start={(grant) => details.readBytes(grant)}
        offer="Show bytes"
        note={isHere ? "They are in the set." : `${amount(item)} from the file.`}
      >
        {(answer) =>
          answer.state === "failed" ? (
            <Failure sentence={answer.message ?? "The bytes could not be read."} />
          ) : (
            <Hex block={answer} cursor={cursor} move={(next) => details.moveTo(next)} />
          )
        }
      </Outcome>
    </section>
  );
}

/** What the first look at the bytes reads. */
function amount({ length }: PathItem): string {
  if (length === null) return `Reads at most the first ${bytes(BLOCK)}`;
  return Number(length) > BLOCK ? `Reads ${bytes(BLOCK)} of ${bytes(length)}` : `Reads ${bytes(length)}`;
}

function Decoding({ details }: { details: KeyDetails }) {
  const { path } = useStore(details);
  return (
    <section>
      <h3>Decoding</h3>
      <Outcome
        work={details.trace}
        start={(grant) => void details.trace.start({ path }, grant)}
        offer="Decode step by step"
        note="Reads all bytes of the chunk."
      >
        {(answer) => <Trace trace={answer} />}
      </Outcome>
    </section>
  );
}

/** Python that opens this with fsspec, Zarr and xarray. */
function Code({ details }: { details: KeyDetails }) {
  const { answer, error } = useStore(details.code);
  const text = answer?.code ?? "";
  return (
    <section>
      <div class="section-head">
        <h3>Python code that opens it</h3>
        <Copy text={text} label="Copy Python" />
      </div>
      {error ? (
        <Failure sentence={error} />
      ) : (
        <pre class="text" tabIndex={0} role="region" aria-label="Python code that opens it">
          {text}
        </pre>
      )}
    </section>
  );
}

/** "57.3 kB (57,288 bytes)" */
function exactly(size: Count): string {
  return Number(size) < 1000 ? `${count(size)} bytes` : `${bytes(size)} (${count(size)} bytes)`;
}

function Text({ text, total }: { text: string; total: number }) {
  return (
    <section>
      <div class="section-head">
        <h3>Text</h3>
        <Copy text={text} />
      </div>
      <pre class="text" tabIndex={0} role="region" aria-label="Text of the key">
        {pretty(text)}
      </pre>
      {total > text.length && (
        <p class="quiet">
          The first {bytes(text.length)} of {bytes(total)}.
        </p>
      )}
    </section>
  );
}

function ArrayFacts({ array, item, session }: { array: ArrayItem; item: PathItem; session: ExplorerSession }) {
  const { present, rejected } = array;
  const isCounted = present !== null && rejected !== null;
  const missing = isCounted ? less(less(array.chunk_count, present).toString(), rejected) : 0;
  return (
    <section>
      <h3>
        Array <span class={array.path === item.path ? "unseen" : ""}>{array.path || "/"}</span>
      </h3>
      <dl class="facts">
        {item.chunk && (
          <Line name="this chunk">
            {item.chunk.index.map(count).join(", ") || "1"} of {sizes(array.grid)}
          </Line>
        )}
        <Line name="shape">{shape(array)}</Line>
        <Line name="type">{array.dtype}</Line>
        <Line name="chunks">
          {array.chunk_runs && "up to "}
          {sizes(array.chunks)}, {count(array.chunk_count)} in all
          {!isCounted && <span class="quiet">; how many have a reference is not known</span>}
          {missing > 0 && (
            <>
              ;{" "}
              <Go
                name={`${count(missing)} without a reference`}
                go={() => session.run(session.focusOn("absent", array.path))}
              />
            </>
          )}
          {Number(rejected) > 0 && (
            <>
              ;{" "}
              <Go
                name={`${count(Number(rejected))} rejected by errors`}
                bad
                go={() => session.run(session.focusOn("rejected", array.path))}
              />
            </>
          )}
        </Line>
        {array.inner_chunks !== null && array.inner_chunks !== undefined && (
          <Line name="inner chunks">
            {sizes(array.inner_chunks)}, {count(array.inner_count!)} in all; each chunk is a shard
          </Line>
        )}
        {session.part === "explorer" && (
          <Line name="files">
            <Go name="Show the files of this array" go={() => session.showTargets(array.path)} />
          </Line>
        )}
        <Line name="codecs">{array.codecs.join(" → ") || "none"}</Line>
        <Line name="fill value">
          {typeof array.fill === "number" ? exact(array.fill, array.dtype) : String(JSON.stringify(array.fill))}
        </Line>
        <Line name="format">Zarr {array.zarr_format}</Line>
        <Line name="stored">{array.bytes === null ? NOT_KNOWN : bytes(array.bytes)}</Line>
      </dl>
      {array.attributes.length > 0 && (
        <>
          <h3>Attributes</h3>
          <dl class="facts">
            {array.attributes.map(([name, text]) => (
              <Line key={name} name={name}>
                {unquoted(text)}
              </Line>
            ))}
          </dl>
          {array.attribute_count > array.attributes.length && (
            <p class="quiet">and {count(array.attribute_count - array.attributes.length)} more</p>
          )}
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
function shape({ shape: lengths, dimensions }: ArrayItem): string {
  if (lengths.length === 0) return "a single value";
  return lengths.map((size, i) => `${dimensions?.[i] ?? ""} ${count(size)}`.trim()).join(" × ");
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
