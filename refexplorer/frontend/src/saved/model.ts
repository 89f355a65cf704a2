/** The model that an explorer is given on a saved page: its traits, and answers from what was recorded. */

import type { Place } from "../shared/place.ts";
import type { Saved } from "./content.ts";
import { codeOf, Replay } from "./replay.ts";
import type { Message } from "../shared/host.ts";

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

type Callback = (value: never) => void;

export interface TraitModel {
  /** What `mount` takes as its model. */
  model: {
    [name: string]: unknown;
    send_msg(asked: unknown): void;
    on(event: string, callback: Callback): void;
    off(event: string, callback: Callback): void;
  };
  /** Gives a message to the view. */
  hear(message: Message, buffers: ArrayBuffer[]): void;
  /** Sets a trait, and tells the view. */
  change(name: string, value: unknown): void;
  get(name: string): unknown;
}

/** `send` takes what the view asks, `changed` what it sets. */
export function traitModel(
  traits: Record<string, unknown>,
  send: (asked: Message) => void,
  changed: (name: string, value: unknown) => void,
): TraitModel {
  const held = { ...traits };
  const callbacks = new Map<string, Set<Callback>>();
  const tell = (event: string, value: unknown) => {
    for (const callback of callbacks.get(event) ?? []) callback(value as never);
  };
  const change = (name: string, value: unknown) => {
    held[name] = value;
    tell(name, value);
  };
  const own: TraitModel["model"] = {
    send_msg: (asked) => send(asked as Message),
    on: (event, callback) => void callbacks.set(event, (callbacks.get(event) ?? new Set()).add(callback)),
    off: (event, callback) => void callbacks.get(event)?.delete(callback),
  };
  const model = new Proxy(own, {
    get: (target, name) => (Object.hasOwn(held, name) ? held[name as string] : target[name as string]),
    set(_, name, value) {
      change(name as string, value);
      changed(name as string, value);
      return true;
    },
  });
  return {
    model,
    change,
    get: (name) => held[name],
    hear: (message, buffers) => tell("msg:custom", { message, buffers }),
  };
}
