/** What the explorer knows and does; the components only draw it. */

import type { Host, Message, Off } from "../shared/host.ts";
import { Store } from "../shared/store.ts";
import { RowWindow, type RowsReply } from "../shared/rows/window.ts";
import { Work } from "../shared/waiting.ts";
import {
  OVERHEARD,
  type CodePage,
  type Count,
  type ExplorerOperations,
  type Hello,
  type PathItem,
  type Note,
  type Row,
  type Severity,
} from "../shared/wire.ts";
import { Health, Strips, type ChunkState, type StripColour } from "../health/health.ts";
import { Comparing } from "../compare/comparison.ts";
import { KeyDetails } from "../key/keydetails.ts";
import type { By } from "../maps/cells.ts";
import { chunksOf, Maps } from "../maps/maps.ts";
import { Preview } from "../preview/preview.ts";
import { layout, type Axis } from "../preview/slices.ts";
import {
  PLAIN,
  START,
  WHOLE,
  type ExplorerState,
  type Focus,
  type Only,
  type PartRecord,
  type Picture,
  type Search,
} from "./state.ts";
import type { ExplorerView } from "./view.ts";
import { Views } from "./views.ts";

export class ExplorerSession extends Views<ExplorerState> {
  readonly rows: RowWindow<Row>;
  /** Changes with the rows, which only the tree and the search draw. */
  readonly listing = new Store<object>({});
  readonly maps = this.view(new Maps(this.wire));
  readonly preview = this.view(new Preview(this.wire, () => this.counted()));
  readonly health = this.view(new Health(this.wire, () => this.counted()));
  readonly verifying = this.view(new Work<ExplorerOperations, "verify">(this.wire, "verify"));
  readonly repairing = this.view(new Work<ExplorerOperations, "repair.plan">(this.wire, "repair.plan"));
  readonly writing = this.view(new Work<ExplorerOperations, "repair.write">(this.wire, "repair.write"));
  readonly details = this.view(new KeyDetails(this.wire));
  readonly comparing = this.view(new Comparing(this.wire, (isShown) => this.marked(isShown)));
  readonly strips = this.view(new Strips(this.wire, () => this.strip));
  /** The search for what is odd, and the metadata that xarray opens. */
  readonly seeking = this.waiting();
  readonly describing = this.waiting();
  /** The counts of a large set. */
  readonly counting = this.waiting();
  /** The listing of chunks of one state. */
  readonly narrowing = this.waiting();
  /** What this widget shows: the explorer, or one part of it by itself. */
  readonly part: string;
  /** Whether it is on the page, which accepts files. */
  readonly isPage: boolean;
  private readonly parts: PartRecord[];
  /** What the views say of themselves. */
  readonly views: readonly ExplorerView[];
  /** Settles when the set is here, or was refused. */
  readonly opened: Promise<void>;
  /** The key that was chosen in the picture of its own array. */
  picked: string | null = null;
  /** The key whose picture was asked for last, and how often parts were asked for until then. */
  looked = "";
  /** The part that an address names of a key, until that is looked at. */
  askedPart: { key: string; slices: string[] } | null = null;
  /** How often the user chose a display: an address does not undo that choice. */
  shows = 0;
  private keys: Promise<void> = Promise.resolve();
  /** Settles when the first rows are here: nothing else may hold them up. */
  private first = gate();
  private readonly host: Host;
  private readonly offs: Off[];

  constructor(host: Host, views: readonly ExplorerView[] = []) {
    super(host, START);
    this.views = views;
    this.host = host;
    this.isPage = host.place === "page";
    this.parts = host.get("parts") as PartRecord[];
    this.part = (host.get("part") as string | undefined) || WHOLE;
    this.rows = new RowWindow(
      (start, n) =>
        this.wire
          .request("tree.rows", { start, n, strips: this.strip.by, access: this.strip.access })
          .finally(() => this.first.open()),
      () => this.listing.set({}),
    );
    this.offs = [
      host.onChange("selection", (path) => this.follow(String(path ?? ""))),
      this.wire.on("code", ({ code }) => this.set({ code })),
      this.wire.on("opened", () => void this.reopen()),
      this.wire.on("failures", ({ array }) => {
        this.maps.refresh(array);
        this.health.load();
      }),
      this.wire.on(OVERHEARD, (message) => this.overheard(message)),
    ];
    this.opened = this.open();
    let colour = JSON.stringify(this.strip);
    const recolour = () => {
      const next = JSON.stringify(this.strip);
      if (colour === next) return;
      colour = next;
      this.counted();
    };
    this.offs.push(this.watchAll(recolour));
  }

  override close(): void {
    for (const off of this.offs) off();
    super.close();
  }

  async open(): Promise<void> {
    this.set({ failure: null });
    await this.attempt("failure", async () => {
      const first = this.host.get("first") as Partial<First> | undefined;
      const hello = first?.hello ?? (await this.wire.request("hello"));
      this.set({ hello, code: hello.code });
      if (first?.["tree.rows"]) this.begin(first["tree.rows"]);
      // The tree has at least one row, or says that it has none.
      else this.rows.reset(1);
      if (this.part === WHOLE || this.part === "tree") void this.first.opened.then(() => this.health.load());
      if (this.part === WHOLE || this.part === "key") void this.seekNotes();
      if (this.part === WHOLE) void this.seekFacts();
      if (this.part !== "key" && this.part !== "data" && this.part !== "targets") void this.lookAtOther();
      const selection = String(this.host.get("selection") ?? "");
      if (selection === "") return;
      this.mark(selection);
      await this.lookAt(selection);
    });
  }

  private begin(rows: RowsReply<Row>): void {
    this.rows.fill(rows);
    this.first.open();
  }

  /** Asks what the set is compared with, and marks the tree with what changed. */
  private async lookAtOther(): Promise<void> {
    if (this.part === WHOLE || this.part === "tree") await this.first.opened;
    await this.comparing.load();
    if (this.comparing.isOn) this.marked();
  }

  /** The states of chunks are others. */
  private counted(): void {
    void this.rows.refresh();
    this.strips.refresh();
  }

  /** The marks of changes next to the rows have changed. */
  private marked(isShown = false): void {
    if (isShown) this.show("compare");
    if (!this.comparing.isOn && this.state.only === "changes") this.run(this.showOnly(null));
    else void this.rows.refresh();
  }

  /** Settles when the first rows of the tree are here. */
  get firstRows(): Promise<void> {
    return this.first.opened;
  }

  /** The set as xarray shows it; asked for once. */
  async describe(): Promise<void> {
    if (this.state.dataset !== null) return;
    await this.first.opened;
    try {
      this.set({ dataset: (await this.describing.ask("overview", {})).message });
    } catch (error) {
      this.set({ dataset: { html: null, sentence: (error as Error).message } });
    }
  }

  /** Counts the references of a large set by kind, and its files. */
  async seekFacts(): Promise<void> {
    if (this.part === WHOLE) await this.first.opened;
    if (this.state.hello?.facts.targets !== null) return;
    this.set({ factsError: null });
    await this.attempt("factsError", async () => {
      const facts = (await this.counting.ask("facts", {})).message;
      return this.state.hello === null ? {} : { hello: { ...this.state.hello, facts } };
    });
  }

  /** Asks what is odd about the set, unless that is known. */
  async seekNotes(): Promise<void> {
    if (this.part === WHOLE) await this.first.opened;
    const { hello } = this.state;
    if (hello === null || hello.notes !== null) return;
    this.set({ notesError: null });
    try {
      const { message } = await this.seeking.ask("notes", {});
      const { notes, note_count, severities } = message;
      const latest = this.state.hello;
      if (latest?.code === hello.code) this.set({ hello: { ...latest, notes, note_count, severities } });
      this.strips.refresh();
      if (this.part === WHOLE) this.health.load();
      await this.annotate();
    } catch (error) {
      this.set({ notesError: (error as Error).message });
    }
  }

  /** Adds the notes of the item that was shown before they were known. */
  private async annotate(): Promise<void> {
    const { item } = this.state;
    if (item === null || item.notes !== null) return;
    const { notes } = (await this.wire.request("key.show", { path: item.path })).item;
    if (this.state.item === item) this.set({ item: { ...item, notes } });
  }

  /** The lines of the source around a note, each with its number; null where there are none. */
  async around({ pointer }: Note): Promise<[number, string][] | null> {
    return (await this.wire.request("source.show", { pointer })).lines;
  }

  /** Python shows another set in this widget. */
  private async reopen(): Promise<void> {
    await this.wire.forget();
    this.first = gate();
    this.set({ ...START, look: this.state.look, withValues: this.state.withValues });
    this.forget();
    await this.open();
  }

  /** Shows another look at the selection. */
  show(look: string): void {
    this.shows += 1;
    this.set({ look, isAside: false });
  }

  /** Shows what is known of the selection, or of the set, on the right. */
  showDetails(aboutSet = false): void {
    this.set({ aboutSet, isAside: true });
  }

  /** How many chunks the picture of the selected array shows; 0 while none is drawn. */
  chunksInPicture(): number {
    const { job } = this.preview.state;
    const { array = null } = this.state.item ?? {};
    if (this.part !== WHOLE || array === null || job?.array !== array.path || !job.values || !job.reading) return 0;
    const { reading } = job;
    const { drawn } = layout(reading);
    if (drawn.length < 2) return 0;
    const { axes, window } = chunksOf(reading, drawn as [Axis, Axis], []);
    return axes.reduce((n, axis) => n * (window[axis]![1] - window[axis]![0]), 1);
  }

  /** How the values of an array are drawn; that of an address names the key, which may be a chunk of the array. */
  pictureOf(array: string): Picture {
    const { picture, selection } = this.state;
    return picture.array === array || (picture.array !== null && picture.array === selection) ? picture : PLAIN;
  }

  /** What the picture is coloured by in place of its values. */
  get recolouring(): By | null {
    const { look, by } = this.state;
    const paints = this.part === WHOLE ? (this.parts.find(({ name }) => name === look)?.paints ?? null) : null;
    return paints === "by" ? (by === null || by === "change" ? "target" : by) : (paints as By | null);
  }

  /** The name of the view that colours the picture by what it knows itself. */
  get painter(): string | null {
    const { look } = this.state;
    return this.recolouring && this.viewOf(look)?.usePaint ? look : null;
  }

  /** What the view of a name says of itself; another version of Python may name one that is not here. */
  viewOf(name: string): ExplorerView | undefined {
    return this.views.find((each) => each.name === name);
  }

  /** What the strips of chunks are coloured by, as the picture is; of cost, the access that is shaded. */
  get strip(): { by: StripColour; access: string } {
    const by = this.recolouring;
    const access = by === null ? "" : (this.viewOf(this.state.look)?.access?.(this) ?? "");
    return { by: by === null || by === "change" ? "state" : by, access };
  }

  /** Shows in the template editor where a key comes from. */
  async edit(path: string): Promise<void> {
    await this.wire.request("key.edit", { path });
  }

  /** Shows what repairing would change; files of `grant` may be read from now on. */
  repair(grant: string | null = null): void {
    this.showDetails(true);
    this.repairing.forget();
    this.writing.forget();
    void this.repairing.start({}, grant).then(() => this.run(this.lastVerified()));
  }

  /** Shows the repaired set that was written. */
  async openRepaired(): Promise<void> {
    await this.wire.job("repair.open", {}, true).reply;
  }

  /** Compares the set with its files; those of `grant` may be read from now on. */
  async verify(grant: string | null = null): Promise<void> {
    await this.verifying.start({ values: this.state.withValues }, grant);
    if (this.verifying.state.error === null) this.compared();
  }

  /** What was found of the files changes the marks in the tree, the files, and what is known of the selection. */
  private compared(): void {
    this.health.load();
    void this.maps.sumTargets();
    this.maps.refresh();
    if (this.state.selection !== "") void this.inspect(this.state.selection);
  }

  /** Shows what was found of the files before, maybe by Python, or to repair them. */
  async lastVerified(): Promise<void> {
    const { found } = await this.wire.request("verify.last", {});
    const { id, answer: known } = this.verifying.state;
    if (found === null || id !== null || known?.at === found.at) return;
    this.verifying.set({ answer: found });
    this.compared();
  }

  get looks(): PartRecord[] {
    return this.parts.filter((each) => each.look);
  }

  /** What the switch over the picture offers. */
  get switched(): PartRecord[] {
    return this.looks.filter(({ under }) => under === null);
  }

  /** The name of a look, if there is one of that name, or of the first. */
  lookNamed(name: string): string {
    return this.looks.some((each) => each.name === name) ? name : START.look;
  }

  /** What the switch calls a look. */
  labelOf(look: string): string {
    return this.parts.find((each) => each.name === look)?.label ?? look;
  }

  /** The name of a part that is shown alone. */
  titleOf(part: string): string {
    return this.parts.find((each) => each.name === part)?.title ?? part;
  }

  /** Lets an action go on by itself; if it fails, its sentence is shown. */
  run(action: Promise<void>): void {
    if (this.state.trouble !== null) this.set({ trouble: null });
    action.catch((error: Error) => this.set({ trouble: error.message }));
  }

  /** Handles a key after the keys pressed before it. */
  queue(action: () => Promise<void>): void {
    this.keys = this.keys.then(action).catch((error: Error) => this.set({ trouble: error.message }));
    if (this.state.trouble !== null) this.set({ trouble: null });
  }

  /** Python, or another view of this widget, chose a key: sending it back could undo a later choice. */
  private follow(path: string): void {
    if (path === this.state.selection) return;
    this.mark(path);
    this.run(this.lookAt(path));
  }

  /** Selects a key, as a person does, and opens the tree down to it. */
  async reveal(path: string): Promise<void> {
    const looked = this.lookAt(path); // asked before the notebook and the address hear of it: the answer comes sooner
    this.choose(path);
    await looked;
  }

  /** One step out: from a chunk to its array, from that to the set. */
  async leave(): Promise<void> {
    const { selection, item } = this.state;
    const array = item?.array?.path ?? "";
    await (selection !== array ? this.reveal(array) : this.select(""));
  }

  /** Selects the chunk under a pixel; the picture stays as it is. */
  async pick(key: string): Promise<void> {
    this.picked = key;
    await this.reveal(key);
  }

  /** Shows the value at a point that was typed; a sentence where there is none. */
  async goToPoint(array: string, text: string): Promise<string | null> {
    const { reading } = this.preview.state.job ?? {};
    const here = reading?.array === array ? reading : null;
    const now = here
      ? here.region.map(([start, , step], axis) => Number(start) + (this.state.steps[axis] ?? 0) * Number(step))
      : [];
    const { message } = await this.wire.job("earth.find", { array, text, index: now }, true).reply;
    const { index, key, sentence } = message;
    if (index === null || key === null) return sentence;
    await this.pick(key);
    this.showPlace(array, index);
    this.set({ pin: { array, index, where: sentence, text: "" }, isAside: true });
    return null;
  }

  /** Has the picture show a place: one that is read already, or the slice that it is in. */
  private showPlace(array: string, index: number[]): void {
    const { reading } = this.preview.state.job ?? {};
    if (reading?.array !== array) {
      this.set({ steps: index }); // right where the whole array is read, as a small one is
      return;
    }
    const places = index.map((at, axis) => {
      const [start, stop, step] = reading.region[axis]!.map(Number) as [number, number, number];
      return at < start || at >= stop ? -1 : Math.floor((at - start) / step);
    });
    if (places.every((place) => place >= 0)) {
      this.set({ steps: places });
      return;
    }
    const slices = reading.slices.map((text, axis) => (/^\d+$/.test(text) ? String(index[axis]) : ":"));
    this.preview.want(array, slices);
  }

  /** Selects a key that the tree shows, as a person does. */
  async select(path: string): Promise<void> {
    const inspected = this.inspect(path);
    this.choose(path);
    await inspected;
  }

  /** Marks a key, and lets the notebook observe it. */
  private choose(path: string): void {
    this.mark(path);
    if (this.host.get("selection") !== path) this.host.set("selection", path);
  }

  private mark(path: string): void {
    const same = path === this.state.selection || path === this.picked;
    const steps = same ? this.state.steps : [];
    this.comparing.leaveGone();
    this.set({ selection: path, itemError: null, steps, aboutSet: false, ...(same ? {} : { pin: null }) });
  }

  private async lookAt(path: string): Promise<void> {
    if (path === "") return this.inspect(path);
    const inspected = this.inspect(path);
    const reply = await this.wire.request("tree.reveal", { path });
    const index = Number(reply.index);
    this.set({ search: START.search, searching: false, focus: null });
    this.rows.reset(reply.total, true);
    // What is not there is said where the key would be shown.
    if (index >= 0 && this.state.selection === path) {
      this.set({ active: index, revealed: this.state.revealed + 1 });
    }
    await inspected;
  }

  /** Shows what is known of the selected key. */
  async inspect(path: string): Promise<void> {
    this.set({ isComing: true });
    try {
      const { item } = await this.wire.request("key.show", { path });
      if (this.state.selection === path) this.set({ item, isComing: false });
    } catch (error) {
      if (this.state.selection === path) {
        this.set({ item: null, isComing: false, itemError: (error as Error).message });
      }
    }
  }

  /** What there is to know about the code of a note. */
  async explainCode(code: string): Promise<CodePage> {
    return (await this.wire.request("notes.code", { code })).page;
  }

  /** A cell of a notebook that makes a picture again. */
  async cell(asked: ExplorerOperations["code.cell"]["asks"]): Promise<string> {
    return (await this.wire.job("code.cell", asked).reply).message.code;
  }

  /** Moves the keyboard to a row and selects it. */
  async goTo(index: number): Promise<void> {
    const active = Math.min(Math.max(0, index), this.rows.total - 1);
    this.set({ active, revealed: this.state.revealed + 1 });
    const row = await this.activeRow();
    if (!row || this.state.active !== active) return;
    this.lookAhead(row.path, row.type);
    void this.select(row.path);
  }

  /** Selects a row that was clicked at once; it may be of what the tree listed before. */
  async goToRow(index: number, { path, type }: Row): Promise<void> {
    if (path === "") return this.goTo(index);
    this.lookAhead(path, type);
    if (this.rows.fresh(index)?.path !== path && !this.state.searching) return this.reveal(path);
    this.set({ active: index, revealed: this.state.revealed + 1 });
    void this.select(path);
  }

  /** Asks for the picture of an array along with what is known of it. */
  private lookAhead(path: string, type: Row["type"]): void {
    const { look, partsAsked, selection } = this.state;
    if (type !== "array" || look !== START.look || path === selection || this.askedPart !== null) return;
    if (this.part !== WHOLE && this.part !== "data") return;
    this.looked = `${partsAsked} ${path}`;
    this.picked = null;
    this.preview.look(path, null);
  }

  /** The row that the keyboard is on, as it is by now. */
  async activeRow(): Promise<Row | undefined> {
    const { active } = this.state;
    return this.rows.fresh(active) ?? (await this.fetchRow(active));
  }

  async toggle(row: Row, open = !row.open): Promise<void> {
    if (row.type === "key" || this.state.searching || row.open === open) return;
    const { total, index } = await this.wire.request("tree.toggle", {
      path: row.path,
      open,
    });
    this.set({ active: Math.max(0, Number(index)) });
    this.rows.reset(total, true);
  }

  /** Narrows the tree to what is wrong or to what changed, or shows everything again. */
  async showOnly(what: Only | null): Promise<void> {
    this.set({ only: what });
    const { message } = await this.narrowing.ask("tree.only", { what });
    if (this.state.searching) await this.find(START.search);
    this.set({ active: 0 });
    this.rows.reset(message.total, true);
    if (this.state.selection !== "") await this.lookAt(this.state.selection);
  }

  /** Narrows the tree to what is wrong, and selects its first key, or the next one after the active row. */
  async showTrouble(by: 1 | -1 = 1): Promise<void> {
    const isNarrowed = this.state.only === "trouble" && !this.state.searching;
    const { selection } = this.state;
    if (!isNarrowed) await this.showOnly("trouble");
    // More may be listed by now than when the row was selected.
    const at = isNarrowed && selection !== "" ? await this.wire.request("tree.reveal", { path: selection }) : null;
    let index = at === null ? 0 : Number(at.index) < 0 ? this.state.active + by : Number(at.index) + by;
    for (; index >= 0 && index < this.rows.total; index += by) {
      const row = this.rows.fresh(index) ?? (await this.fetchRow(index));
      if (row === undefined) return;
      if (row.type === "key") return this.goTo(index);
      if (by > 0) await this.toggle(row, true);
    }
    if (!isNarrowed) this.showDetails(true);
  }

  /** Selects the next thing that is wrong, and shows what is said of it also where the details are closed. */
  async showFault(): Promise<void> {
    await this.showTrouble();
    this.set({ isAside: true });
  }

  /** Narrows the tree to what is wrong, and selects the first chunk or key that differs from its file. */
  async showDifference(): Promise<void> {
    const key = this.verifying.state.answer?.findings.find((each) => each.key !== null)?.key;
    await this.showOnly("trouble");
    await this.find(START.search);
    if (key == null) return this.showDetails(true);
    await this.reveal(key);
    this.showDetails();
  }

  /** All that is known of a key, for one that may not be the selected one. */
  async itemOf(path: string): Promise<PathItem> {
    const { item } = this.state;
    return item?.path === path ? item : (await this.wire.request("key.show", { path })).item;
  }

  /** The row whose name begins so, after the active one; looks a thousand rows ahead. */
  async typeAhead(prefix: string, from: number): Promise<void> {
    const begins = (row: Row) => row.name.toLowerCase().startsWith(prefix);
    let found = this.rows.find((row, index) => index >= from && begins(row));
    if (found < 0) {
      const ahead = await this.wire.request("tree.rows", { start: from, n: 1000 });
      const step = ahead.rows.findIndex(begins);
      found = step < 0 ? this.rows.find(begins) : from + step;
    }
    if (found >= 0) await this.goTo(found);
  }

  async find(change: Partial<Search>): Promise<void> {
    const search = { ...this.state.search, ...change };
    const searching = search.text !== "" || search.kinds.length > 0;
    this.set({ search, searchError: null, focus: null, notesOf: null });
    try {
      const [, isRegex, text] = /^(re:)?(.*)$/su.exec(search.text)!;
      const reply = await this.wire.request("tree.find", {
        text: text!,
        mode: isRegex ? "regex" : "glob",
        kinds: search.kinds,
      });
      if (this.state.search !== search) return;
      this.set({ searching, found: reply, active: 0 });
      this.rows.reset(reply.total);
    } catch (error) {
      if (this.state.search === search) this.set({ searchError: (error as Error).message });
    }
    if (this.state.search === search && this.state.found?.unfinished) this.run(this.searchOn(search));
  }

  /** Shows what a search found so far, until it is done or stopped, or another one begins. */
  private async searchOn(search: Search): Promise<void> {
    while (this.state.found?.unfinished) {
      const reply = await this.wire.request("tree.more", {});
      if (this.state.search !== search || !this.state.found?.unfinished) return;
      this.set({ found: reply });
      if (Number(reply.total) !== this.rows.total) this.rows.reset(reply.total, true);
    }
  }

  /** Looks for no further keys. */
  stopSearch(): void {
    const { found } = this.state;
    if (found !== null) this.set({ found: { ...found, unfinished: false, capped: true } });
  }

  /** Lists the chunks of a state in the tree, and marks them on the map; of one array, or of all. */
  focusOn(state: ChunkState, array: string | null): Promise<void> {
    this.set({ notesOf: array, asGrid: true });
    if (array !== null) this.maps.openGrid(array);
    return this.narrow({ by: "state", state, array });
  }

  /** Lists the keys that refer to a target. */
  focusOnTarget(url: string | null): Promise<void> {
    return this.narrow({ by: "target", url });
  }

  /** Lists something in place of what a search would find. */
  async narrow(focus: Focus): Promise<void> {
    this.set({ focus, search: START.search, searching: false, found: null, searchError: null });
    const { message } =
      focus.by === "state"
        ? await this.narrowing.ask("tree.state", { state: focus.state, array: focus.array })
        : await this.narrowing.ask("tree.target", { url: focus.url });
    if (this.state.focus !== focus) return;
    this.set({ searching: true, active: 0 });
    this.rows.reset(message.total);
  }

  /** Shows the targets, or those of one array. */
  showTargets(array: string | null): void {
    this.maps.narrowTargets({ array, slices: null });
    this.show("targets");
  }

  /** Shows the map of one target. */
  showTarget(url: string | null): void {
    this.maps.showTarget({ url, window: null });
    this.show("targets");
  }

  /** Shows the notes about an array, or of a severity, or all of them. */
  showNotes(array: string | null, severity: Severity | null = null): void {
    this.set({ notesOf: array, severity, aboutSet: true, isAside: true, notesShown: this.state.notesShown + 1 });
  }

  /** Another view of this widget opened, closed or searched the tree that they share. */
  private overheard(message: Message): void {
    if ("index" in message || "capped" in message) this.rows.reset(message["total"] as Count, true);
  }

  private async fetchRow(index: number): Promise<Row | undefined> {
    const reply = await this.wire.request("tree.rows", { start: index, n: 1 });
    return reply.rows[0];
  }
}

/** What Python sends with a widget, so its first view need not send requests: responses by request. */
interface First {
  hello: Hello;
  "tree.rows": RowsReply<Row>;
}

/** A promise that is settled from outside. */
function gate(): { opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}
