/** The button "Explore" in the output of a set: it opens the explorer below, in the kernel that has the set. */

import type { App, Kernel } from "./jupyter.ts";
import { Tab } from "./tab.ts";

/** What `refexplorer/verbs/display.py` writes; JupyterLab removes it from outputs that it does not trust. */
const BUTTON = "button[data-refexplorer-set]";
/** Where nothing answers the button, it is not shown. */
const STYLE = `${BUTTON}[hidden] { display: inline-block; cursor: pointer; }`;

export function followButtons(app: App): void {
  const style = document.createElement("style");
  style.textContent = STYLE;
  document.head.append(style);
  const open = new WeakMap<Element, () => void>();
  document.addEventListener("click", ({ target }) => {
    const pressed = target instanceof Element ? target.closest<HTMLButtonElement>(BUTTON) : null;
    const output = pressed?.closest(".refexplorer");
    if (!pressed || !output) return;
    const before = open.get(pressed);
    open.delete(pressed);
    before?.();
    if (before === undefined) open.set(pressed, below(app, output, pressed.dataset["refexplorerSet"]!));
    pressed.setAttribute("aria-expanded", String(before === undefined));
  });
}

/** Opens an explorer below an output; what is returned closes it. */
function below(app: App, output: Element, shown: string): () => void {
  const box = document.createElement("div");
  output.append(box);
  const found = kernelAround(app, output);
  if (found === null) {
    box.setAttribute("role", "alert");
    box.textContent = "This notebook has no kernel: start one, then run the cell again.";
    return () => box.remove();
  }
  const tab = new Tab(app.serviceManager, box, { view: "explorer", shown }, undefined, found);
  const close = () => {
    gone.disconnect();
    tab.close();
    box.remove();
  };
  // A cell that is scrolled away leaves the page with all its outputs; one that is run again loses them.
  const gone = new MutationObserver((changes) => {
    const removed = changes.flatMap(({ removedNodes }) => [...removedNodes]);
    if (removed.some((node) => node.contains(box))) close();
  });
  const area = output.closest(".jp-OutputArea");
  if (area !== null) gone.observe(area, { childList: true });
  return close;
}

/** The kernel of the notebook or console that contains an element. */
function kernelAround(app: App, element: Element): Kernel | null {
  for (const widget of app.shell.widgets("main")) {
    if (widget.node.contains(element)) return widget.sessionContext?.session?.kernel ?? null;
  }
  return null;
}
