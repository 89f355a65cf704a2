/** What the template editor knows and does: every keystroke is asked about, the newest wins. */

import type { Host, Message, Off } from "../shared/host.ts";
import { Store } from "../shared/store.ts";
import { RowWindow, type RowsReply } from "../shared/window.ts";
import { Wire } from "../shared/wire.ts";
import type { Count } from "../shared/wire.ts";
import type { EditorRow, EditReply, Hello, Help, Mark, Reader, V0Text } from "./messages.ts";
import { Tracing } from "./tracing.ts";

export interface EditorState {
  /** Null until the document is here. */
  help: Help | null;
  failure: string | null;
  reply: EditReply | null;
  /** Marks, and the text that their offsets are of. */
  marks: { notes: Mark[]; text: string };
}

export class EditorSession extends Store<EditorState> {
  readonly rows: RowWindow<EditorRow>;
  readonly tracing: Tracing;
  /** Called when the text was set elsewhere: from Python, or in another view. */
  replace: (text: string) => void = () => undefined;
  /** What is in the editor now. */
  private text = "";
  /** What `document` was last told, to know its echo. */
  private told: string | null = null;
  private busy = false;
  /** Of the rows that are shown. */
  private version = -1;
  private readonly host: Host;
  private readonly wire: Wire;
  private readonly offs: Off[];

  constructor(host: Host) {
    super({ help: null, failure: null, reply: null, marks: { notes: [], text: "" } });
    this.host = host;
    this.wire = new Wire(host);
    this.rows = new RowWindow(
      (start, n) => this.wire.request<RowsReply<EditorRow>>("rows", { start, n }),
      () => this.set({}),
    );
    this.tracing = new Tracing(this.wire, this.rows);
    this.offs = [
      host.onChange("document", (text) => this.follow(String(text))),
      this.wire.on("document", (message) => this.follow(String(message["document"]))),
      this.wire.on("changed", (message) => this.changed(message)),
    ];
    void this.open();
  }

  get document(): string {
    return this.text;
  }

  close(): void {
    for (const off of this.offs) off();
    this.wire.close();
  }

  async open(): Promise<void> {
    this.set({ failure: null });
    try {
      const hello = await this.wire.request<Hello>("hello");
      this.text = this.told = hello.document;
      this.set({ help: hello.help });
      this.take(hello, this.text);
    } catch (error) {
      this.set({ failure: (error as Error).message });
    }
  }

  /** Chooses a row by its key or its number; returns why it cannot. */
  async goTo(text: string): Promise<string | null> {
    try {
      const { index } = await this.wire.request<{ index: Count }>("seek", { text });
      this.tracing.choose(Number(index));
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** Whether there is an explorer beside the editor. */
  get hasExplorer(): boolean {
    return this.host.place === "page";
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

  /** What other readers make of the last good text. */
  async readers(): Promise<Reader[]> {
    return (await this.wire.request<{ readers: Reader[] }>("readers")).readers;
  }

  /** The rows as V0 text; what is large only if the person is sure. */
  async v0(sure: boolean): Promise<V0Text> {
    return (await this.wire.request<{ v0: V0Text }>("v0", { sure })).v0;
  }

  /** The person typed. One question is in flight; what was typed meanwhile is asked next. */
  edited(text: string): void {
    this.text = text;
    if (!this.busy) void this.ask();
  }

  private async ask(): Promise<void> {
    this.busy = true;
    try {
      for (let asked: string | null = null; asked !== this.text; ) {
        asked = this.text;
        const reply = await this.wire.request<EditReply>("edit", { document: asked });
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

  /** Only after the answer: Python then holds this very text, and does not take it for news. */
  private tell(text: string): void {
    this.told = text;
    if (this.host.get("document") !== text) this.host.set("document", text);
  }

  private follow(text: string): void {
    if (text === this.told || text === this.text) return;
    this.told = text;
    this.replace(text);
  }

  private take(reply: EditReply, text: string): void {
    this.set({ reply, marks: { notes: reply.notes, text } });
    this.show(reply.version, reply.total);
  }

  private changed(message: Message): void {
    this.show(message["version"] as number, message["total"] as Count);
  }

  private show(version: number, total: Count): void {
    if (version === this.version) return;
    this.version = version;
    this.rows.reset(total, true);
    this.tracing.refresh();
  }
}
