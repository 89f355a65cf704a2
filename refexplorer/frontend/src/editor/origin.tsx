/** Says where the text came from, if not from Python, and leads back. */

import { Button, Sentence } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { EditorSession } from "./session.ts";

const WAYS = { link: "Show the text without the link", draft: "Discard" };

export function OriginLine({ session }: { session: EditorSession }) {
  const { origin } = useStore(session);
  if (origin === null) return null;
  const { leads, sentence } = origin;
  return (
    <p class="comparing">
      <span class={leads === null ? "bad" : ""} role="status">
        <Sentence text={sentence} />
      </span>
      <span>
        {leads !== null && <Button text={WAYS[leads]} onClick={() => void session.goBack()} />}{" "}
        <Button text="Close" onClick={() => session.set({ origin: null })} />
      </span>
    </p>
  );
}
