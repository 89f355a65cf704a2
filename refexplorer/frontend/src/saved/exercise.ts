/** An exercise on a saved page: its own answers were judged when it was saved, other texts take Python. */

import type { Message } from "../shared/host.ts";
import type { EditorDiagnostic, Remarks, Result } from "../shared/wire.ts";
import { type EditorContent, EditorReplay } from "./editor.ts";

/** One text, and what is said of it at each stage of help. */
interface Judged {
  document: string;
  reply: Message;
  stages: { task: Message; result: Result; notes: Remarks }[];
  rows: EditorContent["rows"];
  answers: EditorContent["answers"];
}

export interface ExerciseContent extends EditorContent {
  states: Judged[];
  solution: string;
  /** What is said of a right answer once the solution was shown. */
  uncounted: string;
}

const NOT_JUDGED =
  "Cannot be checked offline: this answer was not recorded when the page was saved. `refexplorer.Exercises` checks it in Python.";

export class ExerciseReplay {
  private readonly content: ExerciseContent;
  private readonly replays: EditorReplay[];
  private readonly places: Map<string, number>;
  private at: number;
  private text: string;
  private helped = 0;
  private isJudged = true;
  private isSolved = false;
  private isShown = false;

  constructor(content: ExerciseContent) {
    this.content = content;
    this.text = content.document;
    this.replays = content.states.map(
      ({ document, rows, answers }) => new EditorReplay({ ...content, document, rows, answers }),
    );
    this.places = new Map(content.states.map(({ document }, at) => [kept(document).text, at]));
    this.at = this.places.get(kept(content.document).text)!;
  }

  /** The answer to a request; an error is one, too. */
  answer(asked: Message): Message {
    switch (asked["op"]) {
      case "edit":
        return this.edit(asked["document"] as string);
      case "restart":
        return { ...this.edit(this.content.document), document: this.content.document };
      case "hint":
        this.helped += 1;
        return this.told();
      case "solution":
        this.isShown ||= !this.isSolved;
        return { solution: this.content.solution };
      case "notes":
        return this.notes() as unknown as Message;
      default:
        return this.replays[this.at]!.answer(asked);
    }
  }

  private edit(text: string): Message {
    const found = this.places.get(kept(text).text);
    this.text = text;
    this.isJudged = found !== undefined;
    this.at = found ?? this.at;
    const told = this.told();
    const { passed } = told["result"] as Result;
    if (passed && !this.isShown) this.isSolved = true;
    const name = (told["task"] as { name: string }).name;
    const [solved, shown] = [this.isSolved ? [name] : [], this.isShown ? [name] : []];
    return {
      ...this.judged.reply,
      ...told,
      good: this.isJudged && this.judged.reply["good"] === true,
      solved,
      shown_solutions: shown,
    };
  }

  private get judged(): Judged {
    return this.content.states[this.at]!;
  }

  private get stage(): Judged["stages"][number] {
    const { stages } = this.judged;
    return stages[Math.min(this.helped, stages.length - 1)]!;
  }

  /** The task with the hints that were asked for, and what is said of the text. */
  private told(): Message {
    const { task, result } = this.stage;
    if (!this.isJudged) return { task, result: { passed: null, sentence: NOT_JUDGED, lesson: null } };
    const isCounted = !result.passed || !this.isShown;
    return { task, result: isCounted ? result : { ...result, sentence: this.content.uncounted } };
  }

  /** What there is to say of the text, at its places in the spacing that it has here. */
  private notes(): Remarks {
    const { notes } = this.stage;
    if (!this.isJudged) return { ...notes, good: false, notes: [], note_count: 0, sentence: "Not in this saved page." };
    const { document } = this.judged;
    if (document === this.text) return notes;
    const [before, now] = [kept(document).places, kept(this.text).places];
    const moved = (place: number) => {
      const index = before.findIndex((one) => one >= place);
      return index < 0 ? this.text.length : now[index]!;
    };
    const all = notes.notes.map((note: EditorDiagnostic) => ({
      ...note,
      from: moved(note.from),
      to: moved(note.to),
      fixes: [],
    }));
    return { ...notes, notes: all };
  }
}

/** A text without the spaces between its parts, and where each of its characters stood. */
export function kept(text: string): { text: string; places: number[] } {
  let isText = false;
  let found = "";
  const places: number[] = [];
  for (let place = 0; place < text.length; place++) {
    const mark = text[place]!;
    if (!isText && /[ \t\r\n]/.test(mark)) continue;
    if (mark === '"') isText = !isText;
    found += mark;
    places.push(place);
    if (isText && mark === "\\" && place + 1 < text.length) {
      place += 1;
      found += text[place];
      places.push(place);
    }
  }
  return { text: found, places };
}
