import { render } from "preact";

import type { TabModel } from "../lab/model.ts";
import { watchTheme } from "../shared/theme.ts";
import type { Render } from "../shared/mount.tsx";
import base from "../styles/base.css";
import page from "../styles/page.css";
import savedCss from "./saved.css";
import { type Saved, unpack } from "./content.ts";
import { editorModel, type EditorContent } from "./editor.ts";
import { type ExerciseContent, ExerciseReplay } from "./exercise.ts";
import { SavedPage } from "./frame.tsx";
import { savedModel } from "./model.ts";

/** Shows the contents of a saved page; `view` is the module of the explorer or the editor, the same as everywhere. */
export function open(content: ArrayBuffer, view: { render: Render }, element: HTMLElement): void {
  element.dataset["place"] = "page";
  const root = element.attachShadow({ mode: "open" });
  const style = document.createElement("style");
  style.textContent = base + page + savedCss;
  const body = document.createElement("div");
  body.className = "rx";
  root.append(style, body);
  watchTheme(({ theme }) => {
    body.dataset["theme"] = theme;
  });
  const saved = unpack(content);
  const [label, model] = modelOf(saved);
  render(<SavedPage content={saved.content} label={label} model={model} show={view.render} />, body);
}

/** What the page shows, and the model that answers it. */
function modelOf(saved: Saved): [label: string, model: TabModel] {
  if ("states" in saved.content && "solution" in saved.content) {
    const content = saved.content as unknown as ExerciseContent;
    return ["Exercise", editorModel(content, new ExerciseReplay(content))];
  }
  if ("document" in saved.content) return ["Template editor", editorModel(saved.content as unknown as EditorContent)];
  return ["Explorer", savedModel(saved)];
}
