/** The right side: what is known of the selection, or of the whole set. */

import { useStore } from "../shared/store.ts";
import type { Hello } from "../shared/wire.ts";
import { Inspector } from "../key/inspector.tsx";
import type { ExplorerSession } from "./session.ts";
import { WhyValue } from "../preview/why.tsx";
import { SetDetails } from "./setdetails.tsx";
import type { Pin } from "./state.ts";

export function Details({ session, hello }: { session: ExplorerSession; hello: Hello }) {
  const { selection, aboutSet } = useStore(session);
  const isOfSet = aboutSet || selection === "";
  return (
    <aside class="details" aria-label="Details">
      <header class="details-head">
        <button
          type="button"
          class="link"
          aria-pressed={isOfSet}
          onClick={() => session.set({ aboutSet: true, notesOf: null, severity: null })}
        >
          The set
        </button>
        {selection !== "" && (
          <button
            type="button"
            class="link cut-end"
            aria-pressed={!isOfSet}
            title={selection}
            onClick={() => session.set({ aboutSet: false })}
          >
            {selection}
          </button>
        )}
        <span class="space" />
        <button
          type="button"
          class="button close-details"
          aria-label="Close the details"
          onClick={() => session.set({ isAside: false })}
        >
          ✕
        </button>
      </header>
      <div class="pane" key={isOfSet ? "" : "key"} role="region" aria-label={isOfSet ? "The set" : "Key"} tabIndex={0}>
        {isOfSet ? <SetDetails session={session} hello={hello} /> : <Key session={session} />}
      </div>
    </aside>
  );
}

function Key({ session }: { session: ExplorerSession }) {
  const { pin } = useStore(session);
  return (
    <>
      {pin !== null && <Point session={session} pin={pin} />}
      <Inspector session={session} />
    </>
  );
}

/** The value that was chosen in the picture, and where it comes from. */
function Point({ session, pin }: { session: ExplorerSession; pin: Pin }) {
  const { array, index, where, text } = pin;
  return (
    <section class="point" aria-label="Point">
      <div class="point-line">
        <h3>Point</h3>
        <button type="button" class="button" onClick={() => session.set({ pin: null })}>
          Unpin
        </button>
      </div>
      <p class="quiet">{where}</p>
      <p class="point-value">{text}</p>
      <p class="quiet">
        <code>
          {array}[{index.join(", ")}]
        </code>
      </p>
      <WhyValue session={session} array={array} index={index} atOnce />
    </section>
  );
}
