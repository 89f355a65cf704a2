/** The exercises: which there are, which is open, and which were solved. */

import { Store } from "../shared/store.ts";
import type { EditorWire, EditReply, ListedExercise, Result, Task } from "../shared/wire.ts";

/** Where the page keeps what was solved; a notebook has a trait for it. */
const STORED = "refexplorer-exercises";

export interface TasksState {
  /** Empty where the editor is no exercise. */
  all: ListedExercise[];
  task: Task | null;
  result: Result | null;
  solved: string[];
  /** The solution of the open one, once it was asked for. */
  solution: string | null;
  trouble: string | null;
}

type Opened = EditReply & { document: string };

export class Tasks extends Store<TasksState> {
  private readonly wire: EditorWire;
  private readonly isKept: boolean;
  private readonly opened: (reply: Opened) => void;

  constructor(wire: EditorWire, place: "notebook" | "page", opened: (reply: Opened) => void) {
    super({ all: [], task: null, result: null, solved: [], solution: null, trouble: null });
    this.wire = wire;
    this.isKept = place === "page";
    this.opened = opened;
  }

  list(all: ListedExercise[]): void {
    this.set({ all, solved: this.isKept ? stored() : [] });
  }

  take({ task, result, solved }: EditReply): void {
    if (!task || !result || !solved) return;
    const known = this.isKept ? [...new Set([...this.state.solved, ...solved])] : solved;
    if (this.isKept && known.length > this.state.solved.length) keep(known);
    const isOther = task.name !== this.state.task?.name;
    this.set({ task, result, solved: known, solution: isOther ? null : this.state.solution, trouble: null });
  }

  /** Opens another exercise. */
  choose(name: string): Promise<void> {
    return this.ask(async () => this.opened(await this.wire.request("exercise", { name })));
  }

  /** Puts the text to begin with in place again. */
  restart(): Promise<void> {
    return this.ask(async () => this.opened(await this.wire.request("restart")));
  }

  hint(): Promise<void> {
    return this.ask(async () => this.set(await this.wire.request("hint")));
  }

  solve(): Promise<void> {
    return this.ask(async () => this.set(await this.wire.request("solution")));
  }

  private async ask(what: () => Promise<void>): Promise<void> {
    try {
      await what();
      this.set({ trouble: null });
    } catch (error) {
      this.set({ trouble: (error as Error).message });
    }
  }
}

function stored(): string[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(STORED) ?? "[]");
    return Array.isArray(found) ? found.filter((name) => typeof name === "string") : [];
  } catch {
    return [];
  }
}

function keep(solved: string[]): void {
  try {
    localStorage.setItem(STORED, JSON.stringify(solved));
  } catch {
    // A browser that keeps nothing: the progress lasts as long as the page.
  }
}
