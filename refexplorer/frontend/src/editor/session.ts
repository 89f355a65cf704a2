/** What the template editor knows and does: every keystroke is asked about, the newest wins. */

import type { Host, Off } from "../shared/host.ts";
import { Store } from "../shared/store.ts";
import { RowWindow } from "../shared/rows/window.ts";
import { Wire } from "../shared/wire.ts";
import type { CodePage, Count, EditorRow, EditorWire, EditReply, Help, ReaderVerdict, Remarks, V0Text } from "../shared/wire.ts";
import { Newest } from "../shared/newest.ts";
import { draftOf, forgetDraft, keepDraft } from "./drafts.ts";
import { Shortening } from "./shortening.ts";
import { Tasks } from "../exercises/tasks.ts";
import { Tracing } from "./tracing.ts";

export interface EditorState {
  /** Null until the document is here. */
  help: Help | null;
  failure: string | null;
  reply: EditReply | null;
  /** The text that `reply` is about. */
  text: string;
  /** The last text that made keys, and its version. */
  good: { version: number; text: string } | null;
  /** What there is to say, and the text that this is about. */
  remarks: (Remarks & { text: string }) | null;
  /** Whose V0 the table shows; empty for the specification's. */
  reader: string;
}

/** Characters of a text of which all but the rows waits until typing pauses. */
const LONG = 100_000;
/** Milliseconds without a key. */
const PAUSE = 400;

export class EditorSession extends Store<EditorState> {
  readonly rows: RowWindow<EditorRow>;
  readonly tracing: Tracing;
  readonly tasks: Tasks;
  readonly shortening: Shortening;
  /** Called when the text was set elsewhere: from Python, or in another view. */
  replace: (text: string) => void = () => undefined;
  /** Called with the text of another task: there is nothing to undo in it. */
  begin: (text: string, first: number | null) => void = () => undefined;
  /** What is in the editor now. */
  private text = "";
  /** What Python was last asked about. */
  private asked = "";
  /** What `document` was last told, to know its echo. */
  private told: string | null = null;
  /** What `document` is still to be told. */
  private untold: string | null = null;
  private telling: ReturnType<typeof setTimeout> | undefined;
  private remarking: ReturnType<typeof setTimeout> | undefined;
  private busy = false;
  /** What Python gave to begin with. */
  private begun: (EditReply & { document: string }) | null = null;
  private readonly tried = new Newest<Record<string, string>>((templates) => this.ask(templates));
  private readonly remarked = new Newest<string>((text) => this.remark(text));
  private readonly placed = new Newest<[number, Record<string, number>]>((place) => this.find(place));
  /** Of the rows that are shown. */
  private version = -1;
  private readonly host: Host;
  private readonly wire: EditorWire;
  private readonly offs: Off[];

  constructor(host: Host) {
    super({ help: null, failure: null, reply: null, text: "", good: null, remarks: null, reader: "" });
    this.host = host;
    this.wire = new Wire(host);
    this.rows = new RowWindow(
      (start, n) => this.wire.request("rows", { start, n, reader: this.state.reader }),
      () => this.set({}),
    );
    this.tracing = new Tracing(this.wire, this.rows);
    this.shortening = new Shortening(this.wire, host);
    const remark = () => void this.remarked.ask(this.text);
    this.tasks = new Tasks(this.wire, host.place, (reply, anew) => this.opened(reply, anew), remark);
    this.offs = [
      host.onChange("document", (text) => this.follow(String(text))),
      this.wire.on("document", ({ document }) => this.follow(document)),
      this.wire.on("changed", ({ version, total }) => this.show(version, total)),
      this.wire.on("opened", () => void this.open()),
      this.wire.on("tried", () => this.edited(this.text)),
    ];
    void this.open();
  }

  get document(): string {
    return this.text;
  }

  close(): void {
    clearTimeout(this.telling);
    clearTimeout(this.remarking);
    this.tellNow();
    for (const off of this.offs) off();
    this.shortening.close();
    this.wire.close();
  }

  async open(): Promise<void> {
    this.set({ failure: null });
    try {
      const hello = await this.wire.request("hello");
      this.told = hello.document;
      this.tasks.list(hello.exercises ?? []);
      this.start(hello);
      this.set({ help: hello.help });
    } catch (error) {
      this.set({ failure: (error as Error).message });
    }
  }

  /** Chooses a row by its key or its number; returns why it cannot. */
  async goTo(text: string): Promise<string | null> {
    try {
      const { index } = await this.wire.request("seek", { text });
      this.tracing.choose(Number(index));
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** Another task is open, with the text to begin with. */
  private opened(reply: EditReply & { document: string }, anew = false): void {
    if (anew) forgetDraft(reply);
    if (reply.window === null) this.tell(reply.document);
    this.tracing.close();
    this.start(reply);
  }

  /** Shows a text that Python gave, or what was written in its place before the page was loaded anew. */
  private start(reply: EditReply & { document: string }): void {
    const draft = this.host.place === "page" && reply.window === null ? draftOf(reply) : null;
    this.begun = reply;
    this.asked = reply.document;
    this.text = draft ?? reply.document;
    this.begin(this.text, reply.window?.first ?? null);
    this.take(reply, reply.document);
    if (draft !== null) void this.ask();
  }

  /** Shows the part of a large document around a line. */
  async lookAt(line: number): Promise<void> {
    try {
      this.opened(await this.wire.request("window", { line }));
    } catch (error) {
      this.set({ failure: (error as Error).message });
    }
  }

  /** Tries other texts in place of templates of the document. */
  tryTemplates(templates: Record<string, string>): void {
    void this.tried.ask(templates);
  }

  /** Chooses the row that a gen item makes at a place in its dimensions. */
  goToPlace(gen: number, places: Record<string, number>): void {
    void this.placed.ask([gen, places]);
  }

  private async find([gen, places]: [number, Record<string, number>]): Promise<void> {
    try {
      const { index } = await this.wire.request("at", { gen, places });
      this.tracing.choose(Number(index));
      this.set({ failure: null });
    } catch (error) {
      this.set({ failure: (error as Error).message });
    }
  }

  /** Shows the table as a reader has it; an empty name stands for the specification. */
  readAs(reader: string): void {
    if (reader === this.state.reader) return;
    this.set({ reader });
    this.rows.reset(this.rows.total, true);
  }

  /** Opens the last good set in the explorer. */
  async explore(): Promise<void> {
    try {
      await this.wire.request("explore");
      this.set({ failure: null });
    } catch (error) {
      this.set({ failure: (error as Error).message });
    }
  }

  /** Writes the text so that a person can read it. */
  async format(): Promise<void> {
    try {
      await this.wire.request("format");
      this.set({ failure: null });
    } catch (error) {
      this.set({ failure: (error as Error).message });
    }
  }

  /** What there is to know about a diagnostic code. */
  async explainCode(code: string): Promise<CodePage> {
    return (await this.wire.request("code", { code })).page;
  }

  /** What other readers make of the last good text. */
  async readers(): Promise<ReaderVerdict[]> {
    return (await this.wire.request("readers")).readers;
  }

  /** The rows as V0 text; what is large only if the person is sure. */
  async v0(sure: boolean): Promise<V0Text> {
    return (await this.wire.request("v0", { sure })).v0;
  }

  /** The person typed. One question is in flight; what was typed meanwhile is asked next. */
  edited(text: string): void {
    this.text = text;
    if (this.begun !== null && this.host.place === "page") keepDraft(this.begun, text);
    if (!this.busy) void this.ask();
  }

  private async ask(templates?: Record<string, string>): Promise<void> {
    this.busy = true;
    try {
      if (templates) this.take(await this.wire.request("try", { templates }), this.asked);
      for (let asked: string | null = null; asked !== this.text; ) {
        asked = this.asked = this.text;
        const reply = await this.wire.request("edit", { document: asked });
        this.tell(asked);
        this.take(reply, asked);
      }
      this.set({ failure: null });
    } catch (error) {
      this.set({ failure: (error as Error).message });
    } finally {
      this.busy = false;
    }
  }

  /**
   * Only after the answer: Python then holds this very text, and does not take it for news. A long
   * one waits until typing pauses, since it travels once more.
   */
  private tell(text: string): void {
    clearTimeout(this.telling);
    this.untold = text;
    if (text.length < LONG) this.tellNow();
    else this.telling = setTimeout(() => this.tellNow(), PAUSE);
  }

  private tellNow(): void {
    const text = this.untold;
    this.untold = null;
    if (text === null) return;
    this.told = text;
    if (this.host.get("document") !== text) this.host.set("document", text);
  }

  private follow(text: string): void {
    if (this.state.reply?.window || text === this.told || text === this.text) return;
    this.told = text;
    this.replace(text);
  }

  private take(reply: EditReply, text: string): void {
    this.set({ reply, text, good: reply.good ? { version: reply.version, text } : this.state.good });
    this.tasks.take(reply);
    this.show(reply.version, reply.shown);
    clearTimeout(this.remarking);
    const ask = () => text === this.text && void this.remarked.ask(text);
    if (text.length < LONG) ask();
    else this.remarking = setTimeout(ask, PAUSE);
  }

  /** Asks what there is to say about a text, which takes longer than its rows. */
  private async remark(text: string): Promise<void> {
    try {
      const remarks = await this.wire.request("notes");
      if (text === this.text) this.set({ remarks: { ...remarks, text } });
    } catch (error) {
      this.set({ failure: (error as Error).message });
    }
  }

  private show(version: number, total: Count): void {
    if (version === this.version) return;
    this.version = version;
    this.rows.reset(total, true);
    this.tracing.refresh();
  }
}
