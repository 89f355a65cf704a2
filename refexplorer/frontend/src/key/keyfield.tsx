/** Where a key is named, in a widget that has no tree to choose it from. */

import { useStore } from "../shared/store.ts";
import type { ExplorerSession } from "../explorer/session.ts";

export function KeyField({ session }: { session: ExplorerSession }) {
  const { selection } = useStore(session);
  return (
    <label class="choice key-field">
      <span>Key</span>
      <input
        key={selection}
        type="text"
        spellcheck={false}
        placeholder="air/0.0.0"
        defaultValue={selection}
        onChange={(event) => session.run(session.reveal(event.currentTarget.value.trim()))}
      />
    </label>
  );
}
