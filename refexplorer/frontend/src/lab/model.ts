/** A model as anywidget gives one to a view, with a comm of its own behind it. */

import type { Message } from "../shared/host.ts";

type Callback = (...values: never[]) => void;

export class TabModel {
  private readonly held: Record<string, unknown>;
  private readonly callbacks = new Map<string, Set<Callback>>();
  private readonly changed: (name: string, value: unknown) => void;
  readonly send: (message: unknown) => void;
  /** Whose look it has, and whether it follows the address. */
  place: "notebook" | "page" = "notebook";

  /** `send` gets the requests of the view, `changed` the values that it sets. */
  constructor(
    traits: Record<string, unknown>,
    send: (message: unknown) => void,
    changed: (name: string, value: unknown) => void,
  ) {
    this.held = { ...traits };
    this.send = send;
    this.changed = changed;
  }

  get(name: string): unknown {
    return this.held[name];
  }

  set(name: string, value: unknown): void {
    this.change(name, value);
    this.changed(name, value);
  }

  save_changes(): void {
    // Each change is reported when it arrives.
  }

  on(event: string, callback: Callback): void {
    this.callbacks.set(event, (this.callbacks.get(event) ?? new Set()).add(callback));
  }

  off(event: string, callback: Callback): void {
    this.callbacks.get(event)?.delete(callback);
  }

  /** Sets a trait, and informs the view. */
  change(name: string, value: unknown): void {
    this.held[name] = value;
    this.tell(`change:${name}`);
  }

  /** Gives a message to the view. */
  hear(message: Message, buffers: DataView[]): void {
    this.tell("msg:custom", message, buffers);
  }

  private tell(event: string, ...values: unknown[]): void {
    for (const callback of this.callbacks.get(event) ?? []) callback(...(values as never[]));
  }
}
