/** The data of the panels next to the text: the row of a text, the specification, a shorter text, another text. */

import { Newest, Work } from "../shared/waiting.ts";
import { Store } from "../shared/store.ts";
import type { RowWindow } from "../shared/rows/window.ts";
import type {
  Derivation,
  EditorRow,
  EditorOperations,
  EditorWire,
  RuleFollowed,
  TaughtRule,
  Uses,
} from "../shared/wire.ts";
import type { Host } from "../shared/host.ts";

const NOTHING = {
  /** The chosen row; −1 for none. */
  active: -1,
  derivation: null as Derivation | null,
  /** Of the text that the places in the derivation are counted in. */
  version: -1,
  /** Why the chosen row is not explained. */
  trouble: null as string | null,
  uses: null as Uses | null,
  /** A row to scroll to; another object each time. */
  target: null as { index: number } | null,
};
export type TracingState = typeof NOTHING;

/** Milliseconds without a change. */
const PAUSE = 300;

export class Tracing extends Store<TracingState> {
  private readonly wire: EditorWire;
  private readonly rows: RowWindow<EditorRow>;
  private readonly explained = new Newest<string | number>((row) => this.explain(row));
  private readonly used = new Newest<boolean>((moved) => this.find(moved));
  private pointer = "";
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(wire: EditorWire, rows: RowWindow<EditorRow>) {
    super(NOTHING);
    this.wire = wire;
    this.rows = rows;
  }

  /** Chooses a row by its number, and scrolls to it. */
  choose(index: number): void {
    if (this.rows.total === 0) return;
    const active = Math.min(Math.max(0, index), this.rows.total - 1);
    this.set({ active, target: { index: active } });
    void this.explained.ask(active);
  }

  close(): void {
    this.set({ active: -1, derivation: null, trouble: null });
  }

  /** The cursor is in another part of the text. */
  at(pointer: string): void {
    if (pointer === this.pointer) return;
    this.pointer = pointer;
    void this.used.ask(true);
  }

  /** The text makes other rows by now: what is shown of the old ones is asked for again. */
  refresh(): void {
    const { derivation } = this.state;
    if (derivation !== null) void this.explained.ask(derivation.key);
    clearTimeout(this.timer);
    // The rows of the text at the cursor wait until typing pauses: they must not hold up the table.
    this.timer = setTimeout(() => this.pointer !== "" && void this.used.ask(false), PAUSE);
  }

  private async explain(row: string | number): Promise<void> {
    try {
      const key = typeof row === "string" ? row : await this.keyAt(row);
      if (key === undefined) return;
      const { derivation, version } = await this.wire.request("explain", { key });
      const isCurrent = typeof row === "string" || row === this.state.active;
      if (this.state.active < 0 || !isCurrent) return;
      this.set({ derivation, version, trouble: null, active: Number(derivation.row) });
    } catch (error) {
      this.set({ derivation: null, trouble: (error as Error).message });
    }
  }

  private async keyAt(index: number): Promise<string | undefined> {
    const row = this.rows.fresh(index);
    if (row) return row.key;
    const reply = await this.wire.request("rows", { start: index, n: 1 });
    return reply.rows[0]?.key;
  }

  private async find(moved: boolean): Promise<void> {
    try {
      const { uses } = await this.wire.request("uses", { pointer: this.pointer });
      const first = uses.ranges[0];
      // A chosen row among them stays in view.
      const away = moved && first !== undefined && !isUsed(uses, this.state.active);
      this.set({ uses, target: away ? { index: Number(first[0]) } : this.state.target });
    } catch {
      // Nothing is highlighted: the text has made no rows yet, or they cannot be distinguished.
      this.set({ uses: null });
    }
  }
}

/** Whether a row is one of those that the text at the cursor makes. */
export function isUsed(uses: Uses | null, index: number): boolean {
  return uses?.ranges.some(([first, end]) => Number(first) <= index && index < Number(end)) ?? false;
}

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

/** The search for a shorter text, and whether that is in the editor. */
export class Shortening extends Store<{ taken: boolean; trouble: string | null }> {
  readonly finding: Work<EditorOperations, "shorten">;
  private readonly wire: EditorWire;
  private readonly host: Host;

  constructor(wire: EditorWire, host: Host) {
    super({ taken: false, trouble: null });
    this.wire = wire;
    this.host = host;
    this.finding = new Work(wire, "shorten");
  }

  async find(): Promise<void> {
    this.set({ taken: false, trouble: null });
    this.finding.drop();
    await this.finding.start({});
  }

  /** Puts the shorter text into the editor, or the one that was there before it; returns it. */
  async put(taken: boolean): Promise<string | null> {
    let put: string | null = null;
    await this.attempt("trouble", async () => {
      const { document } = await this.wire.request("shorten.put", { back: !taken });
      // Python has it already; a notebook has it in a trait.
      this.host.set("document", document);
      put = document;
      return { taken };
    });
    return put;
  }
}

export interface ComparingState {
  /** What it is, and the text; null while nothing is compared. */
  other: { name: string; text: string } | null;
  trouble: string | null;
}

/** Bytes of a file that is compared with. */
const LARGEST = 5_000_000;

export class Comparing extends Store<ComparingState> {
  private readonly wire: EditorWire;

  constructor(wire: EditorWire) {
    super({ other: null, trouble: null });
    this.wire = wire;
  }

  begin(name: string, text: string): void {
    this.set({ other: { name, text }, trouble: null });
  }

  end(): void {
    this.set({ other: null, trouble: null });
  }

  async withStart(): Promise<void> {
    await this.attempt("trouble", async () => this.begin("the start", (await this.wire.request("text")).document));
  }

  async withFile(file: File): Promise<void> {
    if (file.size > LARGEST) {
      this.set({ trouble: `${file.name} has more than ${LARGEST / 1e6} MB, and is not compared.` });
      return;
    }
    try {
      this.begin(file.name, await file.text());
    } catch (error) {
      this.set({ trouble: `${file.name} cannot be read: ${(error as Error).message}` });
    }
  }
}
