/** A model as Panel gives one to a page, for a host that is neither a notebook nor Panel. */

import type { Message } from "../shared/host.ts";

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
