/** What the template editor knows and does: every keystroke is asked about, the newest wins. */

import type { Host, Off } from "../shared/host.ts";
import { Store } from "../shared/store.ts";
import { RowWindow } from "../shared/rows/window.ts";
import {
  Wire,
  type CodePage,
  type Count,
  type EditorRow,
  type EditorWire,
  type EditReply,
  type Help,
  type ReaderVerdict,
  type Remarks,
  type V0Text,
} from "../shared/wire.ts";
import { Newest } from "../shared/waiting.ts";
import { Comparing, Shortening, Specification, Tracing } from "./panels.ts";
import { draftOf, exerciseDraft, forgetDraft, forgetDrafts, keepDraft, type Opened } from "./drafts.ts";
import { fragmentOf, KEPT, KEPT_OF_LINK, LINKED, linkedBy, type Linked, type Origin } from "./links.ts";
import { Tasks } from "../exercises/tasks.ts";

const START = {
  /** Null until the document is here. */
  help: null as Help | null,
  /** Titles of the texts to begin with. */
  examples: [] as readonly string[],
  failure: null as string | null,
  reply: null as EditReply | null,
  /** The text that `reply` is about. */
  text: "",
  /** The last text that made keys, and its version. */
  good: null as { version: number; text: string } | null,
  /** What there is to say, and the text that this is about. */
  remarks: null as (Remarks & { text: string }) | null,
  /** Whose V0 the table shows; empty for the specification's. */
  reader: "",
  /** Null for a text of Python, and once it was read. */
  origin: null as Origin | null,
};
export type EditorState = typeof START;

/** Characters of a text of which all but the rows waits until typing pauses. */
const LONG = 100_000;
/** Milliseconds without a key. */
const PAUSE = 400;

export class EditorSession extends Store<EditorState> {
  readonly rows: RowWindow<EditorRow>;
  readonly tracing: Tracing;
  readonly tasks: Tasks;
  readonly shortening: Shortening;
  readonly specification: Specification;
  readonly comparing: Comparing;
  /** Called when the text was set elsewhere: from Python, or in another view. */
  replace: (text: string) => void = () => undefined;
  /** Called with the text of another task: there is nothing to undo in it. */
  begin: (text: string, first: number | null) => void = () => undefined;
  /** What is in the editor now. */
  private text = "";
  /** What Python was last asked about. */
  private asked = "";
  /** The last value sent to `document`, to recognize its echo. */
  private sent: string | null = null;
  /** The value that is still to be sent to `document`. */
  private unsent: string | null = null;
  private sending: ReturnType<typeof setTimeout> | undefined;
  private remarking: ReturnType<typeof setTimeout> | undefined;
  private busy = false;
  /** What Python or a link gave to begin with. */
  private begun: Opened | null = null;
  /** Tries other texts in place of templates of the document. */
  readonly tried = new Newest<Record<string, string>>((templates) => this.ask(templates));
  private readonly remarked = new Newest<string>((text) => this.remark(text));
  /** Chooses the row that a gen item makes at a place in its dimensions. */
  readonly placed = new Newest<{ gen: number; places: Record<string, number> }>((place) =>
    this.attempt("failure", async () => {
      const { index } = await this.wire.request("seek", place);
      this.tracing.choose(Number(index));
    }),
  );
  /** Of the rows that are shown. */
  private version = -1;
  private readonly host: Host;
  private readonly wire: EditorWire;
  private readonly offs: Off[];

  constructor(host: Host) {
    super(START);
    this.host = host;
    this.wire = new Wire(host);
    this.rows = new RowWindow(
      (start, n) => this.wire.request("rows", { start, n, reader: this.state.reader }),
      () => this.set({}),
    );
    this.tracing = new Tracing(this.wire, this.rows);
    this.shortening = new Shortening(this.wire, host);
    this.specification = new Specification(this.wire);
    this.comparing = new Comparing(this.wire);
    const remark = () => void this.remarked.ask(this.text);
    this.tasks = new Tasks(this.wire, host.place, (reply, anew) => this.opened(reply, anew), remark);
    this.offs = [
      host.onChange("document", (text) => this.follow(String(text))),
      this.wire.on("document", ({ document }) => this.follow(document)),
      this.wire.on("changed", ({ version, total }) => this.show(version, total)),
      this.wire.on("opened", () => void this.open()),
      this.wire.on("chosen", ({ key }) => void this.goTo(key)),
      this.wire.on("tried", () => this.edited(this.text)),
      this.onLink(() => void this.open()),
    ];
    void this.open();
  }

  get document(): string {
    return this.text;
  }

  close(): void {
    clearTimeout(this.sending);
    clearTimeout(this.remarking);
    this.sendNow();
    for (const off of this.offs) off();
    this.shortening.finding.close();
    this.specification.close();
    this.wire.close();
  }

  async open(): Promise<void> {
    this.set({ failure: null });
    await this.attempt("failure", async () => {
      const hello = await this.wire.request("hello");
      this.sent = hello.document;
      this.tasks.list(hello.exercises ?? []);
      await this.begunBy(hello);
      this.set({ help: hello.help, examples: hello.examples });
      if (hello.chosen !== "") await this.goTo(hello.chosen);
    });
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
  private opened(reply: Opened, anew = false): void {
    if (anew) forgetDraft(reply);
    this.leaveLink();
    if (reply.window === null) this.send(reply.document);
    this.tracing.close();
    this.start(reply);
  }

  /** Begins with what the address of the page links to, else with what Python has. */
  private async begunBy(hello: Opened): Promise<void> {
    try {
      const link = await this.linked();
      const isOther = link !== null && link.exercise !== (hello.task?.name ?? null);
      const reply = isOther ? await this.wire.request("exercise", { name: link.exercise! }) : hello;
      const isLarge = reply.window !== null;
      this.start(
        link === null || link.text === null || isLarge ? reply : { ...reply, document: link.text, linked: true },
      );
      if (link !== null && isLarge)
        throw new Error("Open the link in a new tab: here it would replace a large document.");
    } catch (error) {
      if (this.begun === null) this.start(hello);
      this.set({ origin: { leads: null, sentence: (error as Error).message } });
    }
  }

  /** What the address links to in this view; null for nothing. */
  private async linked(): Promise<Linked | null> {
    if (this.host.place !== "page") return null;
    const link = await linkedBy(location.hash);
    const isOfTasks = this.tasks.state.all.length > 0;
    return link !== null && (link.exercise !== null) === isOfTasks ? link : null;
  }

  /** The address of the page with the text that is here, and with nothing else of the address that is here. */
  async link(): Promise<string> {
    const exercise = this.tasks.state.task?.name ?? null;
    const isUntouched = exercise !== null && !this.begun?.linked && this.text === this.begun?.document;
    const fragment = await fragmentOf({ exercise, text: isUntouched ? null : this.text });
    return `${location.origin}${location.pathname}?view=${exercise === null ? "editor" : "exercises"}${fragment}`;
  }

  private onLink(callback: () => void): Off {
    if (this.host.place !== "page") return () => undefined;
    const changed = () => location.hash !== "" && callback();
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }

  /** The address names the text no more. */
  private leaveLink(): void {
    if (this.host.place === "page" && location.hash !== "")
      history.replaceState(null, "", location.pathname + location.search);
  }

  /** Goes back from what was kept to what it was written over, and from a link to the text that was there without it. */
  async goBack(): Promise<void> {
    const { begun } = this;
    if (begun === null) return;
    if (this.state.origin?.leads === "draft") {
      forgetDraft(begun);
      this.start(begun);
      void this.ask();
    } else if (begun.task) {
      await this.tasks.restart();
    } else {
      const { document } = await this.wire.request("text");
      this.leaveLink();
      this.start({ ...begun, document, linked: false });
      void this.ask();
    }
  }

  /** What this browser keeps of the exercises, as a file that `refexplorer grade` reads. */
  answers(): string {
    const { all, shown } = this.tasks.state;
    const written = all.flatMap(({ name }) => {
      const text = exerciseDraft(name);
      return text === null ? [] : [[name, { text, solution_shown: shown.includes(name) }] as const];
    });
    return JSON.stringify({ schema: 1, answers: Object.fromEntries(written) }, null, 1);
  }

  /** Forgets all that this browser kept; the text that is here stays. */
  forget(): void {
    forgetDrafts();
    this.set({ origin: null });
  }

  /** Shows a text that Python or a link gave, or the draft from before the page was reloaded. */
  private start(opened: Opened): void {
    const isKept = this.host.place === "page" && opened.window === null;
    const draft = isKept ? draftOf(opened) : null;
    this.begun = opened;
    this.comparing.end();
    this.asked = opened.document;
    this.text = draft ?? opened.document;
    this.begin(this.text, opened.window?.first ?? null);
    this.take(opened, opened.document);
    this.set({ origin: draft === null ? (opened.linked ? LINKED : null) : opened.linked ? KEPT_OF_LINK : KEPT });
    if (draft !== null || opened.linked) void this.ask();
  }

  /** Shows the part of a large document around a line. */
  async lookAt(line: number): Promise<void> {
    await this.attempt("failure", async () => this.opened(await this.wire.request("window", { line })));
  }

  /** Shows the table as a reader has it; an empty name means the specification. */
  readAs(reader: string): void {
    if (reader === this.state.reader) return;
    this.set({ reader });
    this.rows.reset(this.rows.total, true);
  }

  /** Opens the last good set in the explorer, at a key unless that is empty. */
  async explore(key = ""): Promise<void> {
    await this.attempt("failure", async () => void (await this.wire.request("explore", { key })));
  }

  /** Writes the text so that a person can read it. */
  async format(): Promise<void> {
    await this.attempt("failure", async () => void (await this.wire.request("format")));
  }

  async example(title: string): Promise<string | null> {
    try {
      return (await this.wire.request("text", { example: title })).document;
    } catch (error) {
      this.set({ failure: (error as Error).message });
      return null;
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
    await this.attempt("failure", async () => {
      if (templates) this.take(await this.wire.request("try", { templates }), this.asked);
      for (let asked: string | null = null; asked !== this.text; ) {
        asked = this.asked = this.text;
        const given = this.begun?.linked === true && asked === this.begun.document;
        const reply = await this.wire.request("edit", { document: asked, given });
        this.send(asked);
        this.take(reply, asked);
      }
    });
    this.busy = false;
  }

  /**
   * Only after the answer: Python then holds this very text, and does not take it for news. A long
   * one waits until typing pauses, since it travels once more.
   */
  private send(text: string): void {
    clearTimeout(this.sending);
    this.unsent = text;
    if (text.length < LONG) this.sendNow();
    else this.sending = setTimeout(() => this.sendNow(), PAUSE);
  }

  private sendNow(): void {
    const text = this.unsent;
    this.unsent = null;
    if (text === null) return;
    this.sent = text;
    if (this.host.get("document") !== text) this.host.set("document", text);
  }

  private follow(text: string): void {
    if (this.tasks.isTurning || this.state.reply?.window || text === this.sent || text === this.text) return;
    this.sent = text;
    this.replace(text);
  }

  private take(reply: EditReply, text: string): void {
    this.set({ reply, text, good: reply.good ? { version: reply.version, text } : this.state.good });
    this.tasks.take(reply);
    this.specification.refresh();
    this.show(reply.version, reply.shown);
    clearTimeout(this.remarking);
    const ask = () => text === this.text && void this.remarked.ask(text);
    if (text.length < LONG) ask();
    else this.remarking = setTimeout(ask, PAUSE);
  }

  /** Requests the diagnostics of a text, which take longer than its rows. */
  private async remark(text: string): Promise<void> {
    const remark = async () => ({ remarks: { ...(await this.wire.request("notes")), text } });
    await this.attempt("failure", remark, { isWanted: () => text === this.text });
  }

  private show(version: number, total: Count): void {
    if (version === this.version) return;
    this.version = version;
    this.rows.reset(total, true);
    this.tracing.refresh();
  }
}
