/** The model that an explorer is given on a saved page: its traits, and answers from what was recorded. */

import type { Place } from "../shared/place.ts";
import type { Saved } from "./content.ts";
import { traitModel, type TraitModel } from "./pagemodel.ts";
import { codeOf, Replay } from "./replay.ts";

/** Where a person is stands in the fragment of the address. */
export function savedModel(saved: Saved): TraitModel["model"] {
  const replay = new Replay(saved);
  const { parts, state } = saved.content;
  const traits = {
    parts,
    selection: "",
    part: "explorer",
    asked: { address: location.hash.slice(1) || `${new URLSearchParams(state)}`, step: 0 } satisfies Place,
    here: { address: "", step: -1 } satisfies Place,
  };
  const { model, hear, change, get } = traitModel(
    traits,
    (asked) => {
      const answer = replay.answer(asked);
      const code = codeOf(answer);
      queueMicrotask(() => {
        hear({ ...answer.message, id: asked["id"] }, answer.buffers);
        if (code !== null) hear({ ev: "code", code }, []);
      });
    },
    (name, value) => name === "here" && remember((value as Place).address),
  );
  let step = 0;
  addEventListener("hashchange", () => {
    const address = location.hash.slice(1);
    if (address !== (get("here") as Place).address) change("asked", { address, step: ++step } satisfies Place);
  });
  return model;
}

/** So that a copied address leads there; the browser's history has no step for it. */
function remember(address: string): void {
  if (location.hash.slice(1) === address) return;
  history.replaceState(null, "", address === "" ? location.pathname + location.search : `#${address}`);
}
