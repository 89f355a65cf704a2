/** Answers the requests of the explorer from the recording; the others fail with the message that a kernel is needed. */

import { axesOf } from "../preview/slices.ts";
import type { Message } from "../shared/host.ts";
import {
  type BesidePart,
  type Count,
  type EarthMap,
  type Grid,
  type HealthCounts,
  type PathItem,
  type Plan,
  type ReadingModel,
  type Row,
  type TargetQuery,
  type ValuePlace,
  EMPTY_ROW,
} from "../shared/wire.ts";
import type { FoundRow, ItemRecord, Saved, SavedRow } from "./content.ts";
import { obstacle, subtract } from "./difference.ts";
import { cut, partOf, planOf, type ReadPart } from "./parts.ts";
import { frameOf } from "../preview/time/frames.ts";
import { search, type Searched, type Sought, SavedTree } from "./tree.ts";

export interface Answer {
  message: Message;
  buffers: ArrayBuffer[];
}

interface Key extends Searched {
  item: PathItem;
}

const NO_ITEM: Omit<PathItem, "path" | "name" | "type" | "code"> = {
  kind: null,
  raw: null,
  url: null,
  offset: null,
  length: null,
  resolved: null,
  text: null,
  text_total: 0,
  origin: null,
  size: null,
  notes: null,
  array: null,
  chunk: null,
  checked: null,
};
const KERNEL = "Open the set with refexplorer, which needs Python.";
const OTHERS = "This was not saved with the page. Open the set with refexplorer.";

export class Replay {
  private readonly saved: Saved;
  private readonly tree: SavedTree;
  private readonly items = new Map<string, ItemRecord>();
  private readonly rows = new Map<string, SavedRow>();
  private readonly keys: Key[] = [];
  private readonly readings = new Map<string, ReadPart[]>();
  /** The results of a search or a listing, while one is on. */
  private found: Row[] | null = null;
  private readonly operations: Record<string, (asked: Message) => Message | Answer | null> = {
    cancel: () => ({}),
    "tree.rows": (asked) => this.treeRows(asked),
    "tree.toggle": ({ path, open }) => this.change(this.tree.toggle(path as string, open as boolean)),
    "tree.reveal": ({ path }) => this.reveal(path as string),
    "tree.only": ({ what }) => this.only(what as string | null),
    "tree.find": (asked) => this.find(asked as unknown as Sought),
    "tree.state": ({ state, array }) => this.listState(state as string, array as string | null),
    "tree.target": ({ url }) => this.listTarget(url as string | null),
    "key.show": ({ path }) => this.item(path as string),
    "key.explain": ({ path }) => this.explained(path as string),
    "key.code": ({ path }) => this.code(path as string),
    "health.rows": (asked) => this.health(asked),
    "targets.rows": (asked) => this.targets(asked),
    "grid.show": (asked) => this.grid(asked),
    "slice.plan": (asked) => this.plan(asked),
    "chunk.read": (asked) => this.read(asked),
    "value.place": ({ array, index }) => this.placeOf(array as string, index as number[]),
    "earth.show": (asked) => this.earth(asked),
    "beside.plan": ({ left, right }) => this.besidePlan(left as BesidePart, right as BesidePart),
    "beside.read": ({ left, right }) => this.besideRead(left as BesidePart, right as BesidePart),
    "changes.show": () => ({ comparable: false, changes: null }),
  };

  constructor(saved: Saved) {
    this.saved = saved;
    const { tree, trouble, items } = saved.content;
    for (const record of items) this.items.set(record[0], record);
    for (const levels of [trouble, tree]) {
      for (const level of Object.values(levels)) for (const row of level.rows) this.rows.set(row.path, row);
    }
    this.tree = new SavedTree(tree);
    for (const [path] of items) {
      const item = this.itemAt(path);
      if (typeof item === "string" || item.kind === null) continue;
      const url = item.origin?.startsWith("gen[") ? null : item.url;
      this.keys.push({ path, kind: item.kind, url, item });
    }
  }

  /** What is said where there is no answer to a request. */
  private unsaved(op: string): string {
    const text = this.saved.content.unsaved[op];
    return text === undefined ? OTHERS : `${text}. ${KERNEL}`;
  }

  /** The answer to a request; an error is one, too. */
  answer(asked: Message): Answer {
    try {
      // Of a plan that was recorded, its values may not be here.
      const recorded = asked["op"] === "slice.plan" ? null : this.recorded(asked);
      if (recorded !== null) return recorded;
      const found = this.operations[asked["op"] as string]?.(asked) ?? null;
      if (found === null) return { message: { error: this.unsaved(asked["op"] as string) }, buffers: [] };
      return "buffers" in found && "message" in found ? (found as Answer) : { message: found as Message, buffers: [] };
    } catch (error) {
      return { message: { error: (error as Error).message }, buffers: [] };
    }
  }

  private recorded(asked: Message): Answer | null {
    const { answers, defaults } = this.saved.content;
    const kept = answers[nameOf(asked, defaults[asked["op"] as string])];
    if (kept === undefined) return null;
    const { buffers = [], ...message } = kept;
    return { message, buffers: buffers.map(this.saved.buffer) };
  }

  private treeRows({ start, n }: Message): Message {
    const [first, number] = [start as number, n as number];
    const rows = this.found === null ? this.tree.rows(first, number) : this.found.slice(first, first + number);
    return { start, total: this.found?.length ?? this.tree.total, rows };
  }

  private change(index: number): Message {
    return { total: this.tree.total, index };
  }

  private reveal(path: string): Message {
    this.found = null;
    return this.change(this.tree.reveal(path));
  }

  private only(what: string | null): Message {
    const { content } = this.saved;
    this.tree.show(what === "trouble" ? content.trouble : content.tree);
    return this.change(-1);
  }

  private find(sought: Sought): Message {
    if (sought.text === "" && sought.kinds.length === 0) {
      this.found = null;
      return { total: this.tree.total, capped: false, in_targets: 0, unfinished: false };
    }
    const { found, inTargets } = search(this.keys, sought);
    return { ...this.list(found), in_targets: inTargets };
  }

  private listState(state: string, array: string | null): Message | null {
    if (state === "referenced")
      return this.list(this.keys.filter(({ item: { chunk } }) => chunk && (array === null || chunk.array === array)));
    const listed = this.saved.content.states[`${state} ${array === null ? "" : `of ${array}`}`];
    if (listed === undefined) return this.hasNone(state, array) ? this.show([], 0) : null;
    return this.show(listed.rows, listed.total);
  }

  /** Whether it is known that an array, or the whole set, has no chunk of a state. */
  private hasNone(state: string, array: string | null): boolean {
    const { rows, sums } = this.saved.content.health;
    const counts = array === null ? sums : rows.find(({ path }) => path === array)?.counts;
    return Number(counts?.[state as keyof HealthCounts] ?? 1) === 0;
  }

  private listTarget(url: string | null): Message {
    const found = this.keys.filter(({ item }) => item.url === url && (item.kind === "url" || item.kind === "range"));
    found.sort((one, other) => Number(one.item.offset ?? 0) - Number(other.item.offset ?? 0));
    return this.list(found);
  }

  /** Shows keys in place of the tree; there may be more if not all keys of the set are here. */
  private list(keys: Key[]): Message {
    const { tree } = this.saved.content;
    const isWhole = Object.values(tree).every(({ rows, total }) => rows.length === Number(total));
    const rows = keys.map(({ path, item }) => this.rows.get(path) ?? rowOf(path, item));
    return this.show(rows, isWhole ? rows.length : Infinity);
  }

  private show(rows: FoundRow[], total: Count): Message {
    this.found = rows.map((row, at) => placed(row, at, rows.length));
    return { total: rows.length, capped: rows.length < Number(total), in_targets: 0, unfinished: false };
  }

  private item(path: string): Message {
    const item = this.itemAt(path);
    return typeof item === "string" ? { error: item } : { item };
  }

  /** The details of a path, or why there are none. */
  private itemAt(path: string): PathItem | string {
    const record = this.items.get(path);
    if (record === undefined) return `${path} is not in this saved page. ${KERNEL}`;
    if (record.length === 2) return record[1];
    const { array, ...item } = record[1];
    const whole = { ...NO_ITEM, ...item, array: array === undefined ? null : this.saved.content.arrays[array] };
    return whole as PathItem;
  }

  private explained(path: string): Message | null {
    const record = this.items.get(path);
    return record?.length === 4 ? record[2] : null;
  }

  private code(path: string): Message | null {
    const record = this.items.get(path);
    if (record?.length !== 4) return null;
    if (typeof record[3] !== "number") return record[3];
    // A path with quotes or escapes is written out in code of its own.
    return { code: this.saved.content.codes[record[3]]!.replaceAll("\0", `'${path}'`) };
  }

  private health({ start, n, sort, descending }: Message): Message {
    const { rows, sums, orders } = this.saved.content.health;
    const order = orders[`${sort} ${descending}`] ?? rows.map((_, place) => place);
    const shown = order.slice(start as number, (start as number) + (n as number));
    return { start, total: order.length, rows: shown.map((place) => rows[place]), sums };
  }

  private targets({ start, n, query }: Message): Message | null {
    const { array = null, ...others } = (query ?? {}) as Partial<TargetQuery>;
    // Another order or selection is not made here: rows that ignore it would be a wrong answer.
    if (Object.entries(others).some(([name, value]) => !isUnasked(name, value))) return null;
    const { rows, arrays } = this.saved.content.targets;
    const places = array === null ? rows.map((_, place) => place) : arrays[array]?.[0];
    if (places === undefined) return null;
    const shown = places.slice(start as number, (start as number) + (n as number));
    return { start, total: places.length, targets: places.length, rows: shown.map((place) => rows[place]) };
  }

  /** A part of a map that is here as a whole. */
  private grid({ array, axes, window }: Message): Answer | null {
    const whole = this.recorded({ op: "grid.show", array });
    const map = whole?.message["map"] as Grid | null | undefined;
    if (whole === null || map == null) return null;
    if (window == null) return (axes as number[] | null)?.join() === map.axes.join() ? whole : null;
    const part = cut({ map, buffers: whole.buffers }, axes as number[] | null, window as [Count, Count][]);
    return part && { message: { map: part.map }, buffers: part.buffers };
  }

  /** How a part is read; what was not recorded cannot be. */
  private plan(asked: Message): Message | null {
    const found = this.planned(asked);
    const plan = found?.["plan"] as Plan | null | undefined;
    return plan == null || this.partOf(plan.array, [...plan.slices]) ? found : { plan: { ...plan, grant: "" } };
  }

  private planned(asked: Message): Message | null {
    const [array, slices] = [asked["array"] as string, asked["slices"] as string[] | null];
    const whole = this.wholePlan(array);
    if (slices == null && asked["index"] != null) return this.recorded(asked)?.message ?? null;
    // Where another part than that of a first look was read, it is looked at first.
    const read =
      whole &&
      (this.partOf(array, [...(slices ?? whole.slices)]) ?? (slices == null ? this.readingsOf(array)[0] : null));
    if (read && (slices != null || read.reading.slices.join() !== whole.slices.join()))
      return { plan: planOf(read, whole) };
    return slices == null ? whole && { plan: whole } : (this.recorded(asked)?.message ?? null);
  }

  private read({ array, slices, first, ...how }: Message): Answer | null {
    if (first === true)
      slices = (this.plan({ array, index: how["index"] ?? null })?.["plan"] as Plan | undefined)?.slices;
    const isPlain = how["scale"] !== false && how["times"] !== false && how["field"] == null;
    const part = slices == null || !isPlain ? null : this.partOf(array as string, slices as string[]);
    if (part === null) return null;
    const buffers = [part.values, part.integers].flatMap((each) => (each === null ? [] : [copied(each)]));
    return { message: { reading: part.reading }, buffers };
  }

  private wholePlan(array: string): Plan | null {
    return (this.recorded({ op: "slice.plan", array })?.message["plan"] as Plan | undefined) ?? null;
  }

  /** What was read of an array, decoded in full. */
  private readingsOf(array: string): ReadPart[] {
    let found = this.readings.get(array);
    if (found === undefined) {
      const names = Object.keys(this.saved.content.answers).filter((name) => name.includes('"op":"chunk.read"'));
      const asked = names
        .map((name) => JSON.parse(name) as Message)
        .filter((each) => each["array"] === array && each["scale"] === undefined && each["times"] === undefined);
      found = asked.map((each) => {
        const { message, buffers } = this.recorded(each)!;
        return frameOf(message["reading"] as ReadingModel, buffers);
      });
      this.readings.set(array, found);
    }
    return found;
  }

  private partOf(array: string, slices: string[]): ReadPart | null {
    const sizes = this.sizesOf(array);
    for (const read of sizes === null ? [] : this.readingsOf(array)) {
      const part = partOf(read, slices, sizes!);
      if (part !== null) return part;
    }
    return null;
  }

  private sizesOf(array: string): number[] | null {
    const item = this.saved.content.arrays.find(({ path }) => path === array);
    return item === undefined ? (this.wholePlan(array)?.sizes.map(Number) ?? null) : item.shape.map(Number);
  }

  private placeOf(array: string, index: number[]): Message | null {
    const item = this.saved.content.arrays.find(({ path }) => path === array);
    if (item === undefined) return null;
    const axes = axesOf(item.chunks, item.chunk_runs);
    const chunk = index.map((at, axis) => axes[axis]!.at(at));
    const found = this.keys.find(
      (key) => key.item.chunk?.array === array && key.item.chunk.index.every((at, axis) => Number(at) === chunk[axis]),
    );
    if (found === undefined) return null;
    const { kind, url, offset, length } = found.item;
    return {
      key: found.path,
      kind,
      url: kind === "url" || kind === "range" ? url : null,
      offset,
      length,
    } satisfies ValuePlace;
  }

  /** Where an array is; what names no array gets the first that has a place. */
  private earth({ array, read }: Message): Answer | null {
    const { arrays, shown } = this.saved.content.earth;
    const found = shown[(array as string | null) ?? arrays[0] ?? ""];
    if (found === undefined) return null;
    const { buffers = [], ...message } = found;
    const earth = message["earth"] as EarthMap;
    // Its coordinates are not here.
    if (read === true && earth.state === "offer") return null;
    return { message: { earth: { ...earth, arrays } }, buffers: buffers.map(this.saved.buffer) };
  }

  private besidePlan(left: BesidePart, right: BesidePart): Message {
    const [one, two] = [left, right].map((part) => planOf(this.side(part), this.wholePlan(part.array)!));
    return { left: one, right: two, others: [] };
  }

  private besideRead(left: BesidePart, right: BesidePart): Answer {
    const [one, two] = [this.side(left), this.side(right)];
    const message = {
      left: one.reading,
      right: two.reading,
      low: null as number | null,
      high: null as number | null,
      has_difference: false,
    };
    const buffers = [one, two].map(({ values }) => copied(values));
    const areExact = one.integers !== null || two.integers !== null;
    const integers = areExact ? [one, two].map((each) => copied(each.integers)) : [];
    const said =
      obstacle(one.reading, two.reading) ?? (one.values && two.values ? null : "No difference: a part has no numbers.");
    if (said !== null)
      return {
        message: { ...message, said },
        buffers: areExact ? [...buffers, new ArrayBuffer(0), ...integers] : buffers,
      };
    const gap = subtract(one, two);
    const known = gap.filter((value) => Number.isFinite(value));
    const [low, high] =
      known.length === 0
        ? [null, null]
        : [known.reduce((a, b) => Math.min(a, b)), known.reduce((a, b) => Math.max(a, b))];
    const isBlocks = one.reading.reduced != null || two.reading.reduced != null;
    const words = `Right minus left${isBlocks ? ", from the block means that are drawn." : "."}${known.length === 0 ? " No cell has a number on both sides." : ""}`;
    return {
      message: { ...message, said: words, low, high, has_difference: true },
      buffers: [...buffers, gap.buffer as ArrayBuffer, ...integers],
    };
  }

  /** One side: what is asked for, else the first of what was read. */
  private side({ array, slices, other }: BesidePart): ReadPart {
    if (other) throw new Error(this.unsaved("compare.with"));
    const first = this.readingsOf(array)[0];
    const wanted = slices ?? (first === undefined ? null : firstOf(first.reading));
    const part = wanted && this.partOf(array, [...wanted]);
    if (part !== null && this.wholePlan(array) !== null) return part;
    const here = this.readingsOf(array).map(({ reading }) => `${array}[${reading.slices.join(", ")}]`);
    throw new Error(
      here.length === 0
        ? `No values of ${array || "the root array"} were read when the page was saved. ${KERNEL}`
        : `This page was saved with ${here.join(" and ")} of this array only. ${KERNEL}`,
    );
  }
}

/** At most two dimensions of a reading, at the first place of the others. */
function firstOf({ shape, region, slices }: ReadingModel): string[] {
  const long = shape.flatMap((size, axis) => (size > 1 ? [axis] : [])).slice(0, -2);
  return slices.map((text, axis) => (long.includes(axis) ? String(region[axis]![0]) : text));
}

/** A buffer of its own for the view; empty where there are no numbers. */
function copied(array: ReadPart["values"] | ReadPart["integers"]): ArrayBuffer {
  return (array?.slice().buffer as ArrayBuffer | undefined) ?? new ArrayBuffer(0);
}

function isUnasked(name: string, value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return (
    value == null ||
    value === "" ||
    value === false ||
    (name === "sort" && value === "set") ||
    (name === "fold" && value === "none")
  );
}

function placed(row: FoundRow, at: number, siblings: number): Row {
  return { ...row, name: row.path, depth: 0, open: false, position: at + 1, siblings };
}

/** A row of what no level of the tree has here. */
function rowOf(path: string, { kind, size, url, origin }: PathItem): FoundRow {
  return { ...EMPTY_ROW, path, name: path, kind, size, target: url, origin };
}

/** The name that identifies a request, as `name_of` in `refexplorer/views/saved/recorded_editor.py` writes it. */
export function nameOf(asked: Message, defaults: Record<string, unknown> = {}): string {
  const isDefault = (name: string) =>
    Object.hasOwn(defaults, name) && JSON.stringify(asked[name]) === JSON.stringify(defaults[name]);
  const names = Object.keys(asked).filter((name) => name !== "id" && asked[name] !== undefined && !isDefault(name));
  return `{${names
    .sort()
    .map((name) => `${JSON.stringify(name)}:${JSON.stringify(asked[name])}`)
    .join(",")}}`;
}
