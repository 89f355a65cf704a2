/** The model that an explorer is given on a saved page: its traits, and answers from what was recorded. */

import { TabModel } from "../lab/model.ts";
import type { Message, Place } from "../shared/host.ts";
import type { PathItem } from "../shared/wire.ts";
import type { Saved } from "./content.ts";
import { Replay } from "./replay.ts";

/** The position of the user is in the fragment of the address. */
export function savedModel(saved: Saved): TabModel {
  const replay = new Replay(saved);
  const { parts, state } = saved.content;
  const traits = {
    parts,
    main: true,
    selection: "",
    part: "explorer",
    asked: { address: location.hash.slice(1) || `${new URLSearchParams(state)}`, step: 0 } satisfies Place,
    here: { address: "", step: -1 } satisfies Place,
  };
  const answer = (asked: unknown) => {
    const { message, buffers } = replay.answer(asked as Message);
    // Python for the request, if known; otherwise `CodeChanged` has it.
    const code = (message["item"] as PathItem | undefined)?.code ?? null;
    queueMicrotask(() => {
      model.hear(
        { ...message, id: (asked as Message)["id"] },
        buffers.map((buffer) => new DataView(buffer)),
      );
      if (code !== null) model.hear({ ev: "code", code }, []);
    });
  };
  const model = new TabModel(traits, answer, (name, value) => name === "here" && remember((value as Place).address));
  model.place = "page";
  let step = 0;
  addEventListener("hashchange", () => {
    const address = location.hash.slice(1);
    if (address !== (model.get("here") as Place).address)
      model.change("asked", { address, step: ++step } satisfies Place);
  });
  return model;
}

/** So that a copied address leads there; the browser's history has no step for it. */
function remember(address: string): void {
  if (location.hash.slice(1) === address) return;
  history.replaceState(null, "", address === "" ? location.pathname + location.search : `#${address}`);
}
