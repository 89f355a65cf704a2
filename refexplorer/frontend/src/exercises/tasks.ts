/** The exercises: which there are, which is open, and which were solved. */

import { keep, keptTexts } from "../shared/browser.ts";
import { Store } from "../shared/store.ts";
import type { EditorWire, EditReply, ListedExercise, Result, Task } from "../shared/wire.ts";

/** Where the page keeps what was solved; a notebook has a trait for it. */
const STORED = "refexplorer-exercises";
const STORED_SHOWN = "refexplorer-exercises-shown";

const START = {
  /** Empty where the editor is no exercise. */
  all: [] as ListedExercise[],
  task: null as Task | null,
  result: null as Result | null,
  solved: [] as string[],
  /** Those whose solution was shown before they were solved; they do not count. */
  shown: [] as string[],
  /** The solution of the open one, once it was asked for. */
  solution: null as string | null,
  trouble: null as string | null,
};
export type TasksState = typeof START;

type Opened = EditReply & { document: string };

export class Tasks extends Store<TasksState> {
  private readonly wire: EditorWire;
  private readonly isKept: boolean;
  private turning = 0;
  /** Gets the text of a task, with the saved answer, or to begin again. */
  private readonly opened: (reply: Opened, anew?: boolean) => void;
  /** Asks again what there is to say of the text: a hint may let more be said. */
  private readonly remark: () => void;

  constructor(wire: EditorWire, place: "notebook" | "page", opened: Tasks["opened"], remark: () => void) {
    super(START);
    this.wire = wire;
    this.isKept = place === "page";
    this.opened = opened;
    this.remark = remark;
  }

  list(all: ListedExercise[]): void {
    const kept = this.isKept
      ? { solved: keptTexts(STORED), shown: keptTexts(STORED_SHOWN) }
      : { solved: [], shown: [] };
    this.set({ all, ...kept });
  }

  take({ task, result, solved, shown_solutions: shown }: EditReply): void {
    if (!task || !result || !solved || !shown) return;
    const isOther = task.name !== this.state.task?.name;
    const before = this.state;
    // Which of the two came first stays so, also where Python, of another session, knows of one alone.
    const seen = this.known(
      STORED_SHOWN,
      before.shown,
      shown.filter((name) => !before.solved.includes(name)),
    );
    const known = this.known(
      STORED,
      before.solved,
      solved.filter((name) => !seen.includes(name)),
    );
    const solution = isOther ? null : before.solution;
    this.set({ task, result, solved: known, shown: seen, solution, trouble: null });
  }

  /** What Python knows, and with it what this browser knew before. */
  private known(name: string, before: string[], now: readonly string[]): string[] {
    if (!this.isKept) return [...now];
    const all = [...new Set([...before, ...now])];
    if (all.length > before.length) keep(name, all);
    return all;
  }

  /** Opens another exercise. */
  choose(name: string): Promise<void> {
    return this.turn(() => this.wire.request("exercise", { name }));
  }

  /** Puts the text to begin with in place again. */
  restart(): Promise<void> {
    return this.turn(() => this.wire.request("restart"), true);
  }

  private async turn(asked: () => Promise<Opened>, anew = false): Promise<void> {
    this.turning += 1;
    await this.attempt("trouble", async () => this.opened(await asked(), anew));
    this.turning -= 1;
  }

  /** Whether another text is on its way: what Python says of it before is no text of the open exercise. */
  get isTurning(): boolean {
    return this.turning > 0;
  }

  hint(): Promise<void> {
    return this.attempt("trouble", async () => {
      this.set(await this.wire.request("hint"));
      this.remark();
    });
  }

  solve(): Promise<void> {
    return this.attempt("trouble", async () => this.set(await this.wire.request("solution")));
  }
}
