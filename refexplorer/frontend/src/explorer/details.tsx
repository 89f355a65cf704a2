/** The right side: what is known of the selection, or of the whole set. */

import { AskForm } from "../shared/controls.tsx";
import { Button } from "../shared/parts.tsx";
import { useStore, useSaid } from "../shared/store.ts";
import type { ArrayItem } from "../shared/wire.ts";
import { Inspector } from "../key/inspector.tsx";
import type { ExplorerSession } from "./session.ts";
import { ChunkInBoth } from "../compare/values.tsx";
import { WhyValue } from "../preview/why.tsx";
import { SetDetails } from "./setdetails.tsx";
import type { Pin } from "./state.ts";
import type { ShownProps } from "./view.ts";

export function Details({ session, hello }: ShownProps) {
  const { selection, aboutSet, look } = useStore(session);
  const Beside = session.viewOf(look)?.Details;
  const isOfSet = aboutSet || selection === "";
  return (
    <aside class="details" aria-label="Details">
      <header class="details-head">
        <Button
          text="The set"
          link
          aria-pressed={isOfSet}
          onClick={() => session.set({ aboutSet: true, notesOf: null, severity: null })}
        />
        {selection !== "" && aboutSet && (
          <Button
            text={selection}
            class="link cut-end"
            aria-pressed={!isOfSet}
            title={selection}
            onClick={() => session.set({ aboutSet: false })}
          />
        )}
        <span class="space" />
        <Button
          text="✕"
          class="button close-details"
          aria-label="Close the details"
          onClick={() => session.set({ isAside: false })}
        />
      </header>
      <div class="pane" key={isOfSet ? "" : "key"} role="region" aria-label={isOfSet ? "The set" : "Key"} tabIndex={0}>
        {Beside && <Beside session={session} />}
        {isOfSet ? <SetDetails session={session} hello={hello} /> : <Key session={session} />}
      </div>
    </aside>
  );
}

function Key({ session }: { session: ExplorerSession }) {
  const { pin, item, look } = useStore(session);
  useStore(session.comparing);
  const isCompared = session.comparing.isOn && look !== "compare" && item?.chunk != null;
  return (
    <>
      {item?.array != null && item.array.shape.length > 0 && <GoTo session={session} array={item.array} />}
      {pin !== null && <Point session={session} pin={pin} />}
      <Inspector session={session} />
      {isCompared && <ChunkInBoth session={session} chunk={item.path} />}
    </>
  );
}

/** A point that is typed: a place, labels of dimensions, or an index. */
function GoTo({ session, array }: { session: ExplorerSession; array: ArrayItem }) {
  const [said, run] = useSaid();
  const names = array.dimensions?.filter(Boolean) ?? [];
  const example = names.includes("time")
    ? "52.5N 13.4E, time=2021-05"
    : `52.5N 13.4E or [${array.shape.map(() => 0).join(", ")}]`;
  return (
    <AskForm
      box="go-to"
      aria-label="Point: latitude and longitude, labels of dimensions, or an index"
      title="A place such as 52.5N 13.4E, labels such as time=2021-05-18 or lat=52.5, or an index such as [3, 40, 80]"
      placeholder={example}
      button="Go to point"
      go={(text) => void run(() => session.goToPoint(array.path, text))}
    >
      <span role="status" class="quiet">
        {said}
      </span>
    </AskForm>
  );
}

/** The value that was chosen in the picture, and where it comes from. */
function Point({ session, pin }: { session: ExplorerSession; pin: Pin }) {
  const { array, index, where, text } = pin;
  return (
    <section class="point" aria-label="Point">
      <div class="point-line">
        <h3>Point</h3>
        <Button text="Unpin" onClick={() => session.set({ pin: null })} />
      </div>
      <p class="quiet">{where}</p>
      {text !== "" && <p class="point-value">{text}</p>}
      <p class="quiet">
        <code>
          {array}[{index.join(", ")}]
        </code>
      </p>
      <WhyValue session={session} array={array} index={index} atOnce />
    </section>
  );
}
