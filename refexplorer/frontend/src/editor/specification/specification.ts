/** The rules of the specification: those that the text at the cursor follows, and where one is followed. */

import { Newest } from "../../shared/newest.ts";
import { Store } from "../../shared/store.ts";
import type { EditorWire, RuleFollowed, TaughtRule } from "../../shared/wire.ts";

export interface SpecificationState {
  isOpen: boolean;
  /** Null until they were asked for. */
  rules: TaughtRule[] | null;
  /** Of the text at the cursor, the nearest first. */
  lit: readonly string[];
  chosen: string | null;
  /** Where the text follows the chosen one. */
  followed: RuleFollowed | null;
  /** Why there is nothing to show. */
  trouble: string | null;
}

/** Milliseconds without a change. */
const PAUSE = 300;

export class Specification extends Store<SpecificationState> {
  private readonly wire: EditorWire;
  private readonly light = new Newest<string>((pointer) => this.find(pointer));
  private readonly seek = new Newest<string>((name) => this.follow(name));
  private pointer = "";
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(wire: EditorWire) {
    super({ isOpen: false, rules: null, lit: [], chosen: null, followed: null, trouble: null });
    this.wire = wire;
  }

  /** Opens the pane, at a rule if one is named. */
  async open(name: string | null = null): Promise<void> {
    this.set({ isOpen: true });
    await this.attempt("trouble", async () => {
      if (this.state.rules === null) this.set({ rules: (await this.wire.request("rules")).rules });
      if (name !== null) this.choose(name);
      void this.light.ask(this.pointer);
    });
  }

  close(): void {
    clearTimeout(this.timer);
    this.set({ isOpen: false, chosen: null, followed: null, lit: [], trouble: null });
  }

  /** Chooses a rule, whose places in the text light up; null for none. */
  choose(name: string | null): void {
    this.set({ chosen: name, followed: null, trouble: null });
    if (name !== null) void this.seek.ask(name);
  }

  /** The cursor is in another part of the text. */
  at(pointer: string): void {
    this.pointer = pointer;
    if (this.state.isOpen) void this.light.ask(pointer);
  }

  /** The text is another one by now. */
  refresh(): void {
    if (!this.state.isOpen) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (this.state.chosen !== null) void this.seek.ask(this.state.chosen);
      void this.light.ask(this.pointer);
    }, PAUSE);
  }

  private async find(pointer: string): Promise<void> {
    try {
      const { names } = await this.wire.request("rules.at", { pointer });
      if (this.state.isOpen) this.set({ lit: names });
    } catch {
      // Nothing lights up: there was no text yet that could be read.
      this.set({ lit: [] });
    }
  }

  private async follow(name: string): Promise<void> {
    const follow = async () => ({ followed: await this.wire.request("rules.places", { name }) });
    const isWanted = () => name === this.state.chosen;
    await this.attempt("trouble", follow, { otherwise: { followed: null }, isWanted });
  }
}
