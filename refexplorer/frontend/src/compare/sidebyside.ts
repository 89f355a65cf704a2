/** What two parts side by side know and ask for. */

import { integersOf, type Integers } from "../preview/time/frames.ts";
import { Newest, viewStore } from "../shared/waiting.ts";
import type { BesidePlanned, BesideRead } from "../shared/wire.ts";

export interface Part {
  array: string;
  /** Null: what is shown first. */
  slices: string[] | null;
  /** Of the set that this one is compared with. */
  other: boolean;
}

export type Sides = [left: Part, right: Part];

/** The window of all pictures, as shares of rows and columns. */
export type Shares = [rows: [number, number], columns: [number, number]];
export const ALL: Shares = [
  [0, 1],
  [0, 1],
];

const BLANK = {
  sides: null as Sides | null,
  planned: null as BesidePlanned | null,
  read: null as BesideRead | null,
  /** Values of both parts and their difference, where there are numbers. */
  values: [] as (Float64Array | null)[],
  /** Those of both parts as integers, where float64 does not have them all exactly. */
  integers: [] as (Integers | null)[],
  error: null as string | null,
  window: ALL as Shares,
  /** Whether a change on one side is made on the other, too. */
  linked: true,
  /** Whether both parts are one picture, with a line between them that a person moves. */
  swipes: false,
};
export type BesideState = typeof BLANK;

export class Besides extends viewStore(BLANK) {
  readonly planning = this.waiting();
  readonly reading = this.waiting();
  private readonly plans = new Newest<Sides>((sides) => this.plan(sides));
  /** Whether the parts are not those that are shown at first. */
  isChosen = false;

  override forget(): void {
    this.isChosen = false;
    super.forget();
  }

  show(sides: Sides, isChosen = false): void {
    this.isChosen = isChosen;
    this.set({ sides, error: null });
    void this.plans.ask(sides);
  }

  /** Changes one side; where both are linked, the other one follows in what it has alike. */
  change(which: 0 | 1, part: Part): void {
    const { sides, linked } = this.state;
    if (sides === null) return;
    const other = sides[which === 0 ? 1 : 0];
    const follows = linked && sides[which].array === part.array ? followed(sides[which], part, other) : other;
    this.show(which === 0 ? [part, follows] : [follows, part], true);
  }

  async read(grant: string | null = null): Promise<void> {
    const { sides } = this.state;
    if (sides === null) return;
    this.isChosen = true;
    await this.attempt("error", async () => {
      await this.allowing(grant);
      const [left, right] = sides;
      const { message, buffers } = await this.reading.ask("beside.read", { left, right });
      const values = buffers.slice(0, 3).map((buffer) => (buffer.byteLength === 0 ? null : new Float64Array(buffer)));
      const integers = [
        integersOf(buffers[3], message.left.value_type),
        integersOf(buffers[4], message.right.value_type),
      ];
      const shape = (read: BesideRead | null) => read && [read.left.shape, read.right.shape].join(";");
      const isAlike = shape(this.state.read) === shape(message);
      return { read: message, values, integers, ...(isAlike ? {} : { window: ALL }) };
    });
  }

  private async plan(sides: Sides): Promise<void> {
    try {
      const [left, right] = sides;
      const { message } = await this.planning.ask("beside.plan", { left, right });
      if (this.state.sides !== sides) return;
      const written: Sides = [
        { ...left, slices: message.left.slices },
        { ...right, slices: message.right.slices },
      ];
      this.set({ planned: message, sides: written, error: null });
      // A part that was read before, or needs no request, is shown without asking.
      const free = Number(message.left.estimate.requests) + Number(message.right.estimate.requests) === 0;
      const isFirst = this.state.read === null && sides.some(({ other }) => other);
      if (free ? this.state.read !== null || isFirst : isFirst && isWithin(message)) void this.read();
    } catch (error) {
      if (this.state.sides === sides) this.set({ planned: null, error: (error as Error).message });
    }
  }
}

/** Whether both parts may be read without a question, as a first picture is. */
function isWithin({ left, right }: BesidePlanned): boolean {
  const bytes = [left, right].map(({ estimate, grant }) => (grant === null ? Number(estimate.bytes ?? NaN) : NaN));
  return bytes[0]! + bytes[1]! <= Number(left.budget);
}

const INDEX = /^\d+$/;

/** The other side after a change of one: an index moves by the same amount, a slice is the same. */
export function followed(before: Part, after: Part, other: Part): Part {
  if (before.slices === null || after.slices === null || other.slices?.length !== after.slices.length) return other;
  const slices = other.slices.map((text, axis) => {
    const [from, to] = [before.slices![axis]!, after.slices![axis]!];
    if (from === to) return text;
    if (INDEX.test(from) && INDEX.test(to) && INDEX.test(text))
      return String(Math.max(0, Number(text) + Number(to) - Number(from)));
    return text === from ? to : text;
  });
  return { ...other, slices };
}

/** Both sides as text, for addresses. */
export function besideText({ sides, window }: Pick<BesideState, "sides" | "window">): string {
  if (sides === null || sides.some(({ slices }) => slices === null)) return "";
  const parts = sides.map(({ array, slices, other }) =>
    [other ? "other" : "", encodeURIComponent(array), slices!.join(",")].join(";"),
  );
  const isWhole = window.join() === ALL.join();
  return [
    ...parts,
    isWhole
      ? ""
      : window
          .flat()
          .map((at) => Number(at.toFixed(4)))
          .join(","),
  ].join("|");
}

/** What `besideText` wrote; null for what is no such thing. */
export function besideSides(text: string): Pick<BesideState, "sides" | "window"> | null {
  const [left, right, shares = ""] = text.split("|");
  const [one, two] = [left, right].map((part) => partOf(part ?? ""));
  if (!one || !two) return null;
  const [top, bottom, start, stop] = shares.split(",").map(Number);
  const isWindow = [top, bottom, start, stop].every((at) => Number.isFinite(at)) && top! < bottom! && start! < stop!;
  return {
    sides: [one, two],
    window: isWindow
      ? [
          [top!, bottom!],
          [start!, stop!],
        ]
      : ALL,
  };
}

function partOf(text: string): Part | null {
  const [other, array, slices] = text.split(";");
  if (array === undefined || !slices) return null;
  try {
    return { array: decodeURIComponent(array), slices: slices.split(","), other: other === "other" };
  } catch {
    return null;
  }
}
