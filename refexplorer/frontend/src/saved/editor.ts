/** The template editor on a saved page: its text stays as it is, and what was recorded is answered. */

import { TabModel } from "../lab/model.ts";
import type { Message } from "../shared/host.ts";
import type { SavedContent, SavedRows } from "./content.ts";
import { nameOf } from "./replay.ts";

export interface EditorContent extends SavedContent {
  document: string;
  /** The rows as each reader has them; with an empty name as the specification says. */
  rows: Record<string, SavedRows>;
}

const PYTHON = "Open the text in refexplorer's template editor, which needs Python.";
const OTHERS = "This was not saved with the page";

export class EditorReplay {
  private readonly content: EditorContent;

  constructor(content: EditorContent) {
    this.content = content;
  }

  /** The answer to a request; an error is one, too. */
  answer(asked: Message): Message {
    const { answers, defaults, unsaved } = this.content;
    const op = asked["op"] as string;
    if (op === "rows") return this.rows(asked);
    if (op === "hello") return { ...answers['{"op":"hello"}'], examples: [] };
    if (op === "seek" && asked["gen"] === undefined) return this.seek(asked["text"] as string);
    if (op === "edit" && asked["document"] === this.content.document) return answers['{"op":"hello"}']!;
    return answers[nameOf(asked, defaults[op])] ?? { error: `${unsaved[op] ?? OTHERS}. ${PYTHON}` };
  }

  private rows({ start, n, reader = "" }: Message): Message {
    const { version, rows } = this.content.rows[reader as string] ?? this.content.rows[""]!;
    // The table ends where the rows that are here do; the page says how many keys there are.
    return { version, start, total: rows.length, rows: rows.slice(start as number, (start as number) + (n as number)) };
  }

  private seek(text: string): Message {
    const { rows } = this.content.rows[""]!;
    const found = rows.findIndex(({ key }) => key === text);
    const index = found < 0 && /^\d+$/.test(text) ? Number(text) : found;
    return 0 <= index && index < rows.length ? { index } : { error: `\`${text}\` is not among the keys of this page.` };
  }
}

/** The model that the editor is given. */
export function editorModel(
  content: EditorContent,
  replay: Pick<EditorReplay, "answer"> = new EditorReplay(content),
): TabModel {
  const model = new TabModel(
    { document: content.document, main: true },
    (asked) => {
      const { id, ...request } = asked as Message;
      queueMicrotask(() => model.hear({ ...replay.answer(request), id }, []));
    },
    () => undefined,
  );
  return model;
}
