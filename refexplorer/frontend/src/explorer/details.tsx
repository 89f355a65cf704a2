/** The right side: what is known of the selection, or of the whole set. */

import { useStore } from "../shared/store.ts";
import type { Hello } from "../shared/wire.ts";
import { Inspector } from "../key/inspector.tsx";
import type { ExplorerSession } from "./session.ts";
import { SetDetails } from "./setdetails.tsx";

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
        {isOfSet ? <SetDetails session={session} hello={hello} /> : <Inspector session={session} />}
      </div>
    </aside>
  );
}
