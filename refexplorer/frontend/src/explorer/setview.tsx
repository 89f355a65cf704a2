/** The middle where nothing is selected: the set as xarray shows it. */

import { useStore } from "../shared/store.ts";
import type { Hello } from "../shared/wire.ts";
import { Dataset } from "./dataset.tsx";
import type { ExplorerSession } from "./session.ts";

export function SetView({ session, hello }: { session: ExplorerSession; hello: Hello }) {
  useStore(session);
  return (
    <>
      {Number(hello.facts.keys) > 0 && <p class="quiet hint">Select an array to see its values.</p>}
      <Dataset session={session} />
    </>
  );
}
