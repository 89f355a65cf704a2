/** What refexplorer adds to JupyterLab and Notebook: commands, a menu entry, a card, ways to open a file, an explorer below an output. */

import type { App, Context, Packages, Tracker, Widget, Kernel } from "./jupyter.ts";
import { Tab } from "./tab.ts";

const OPEN = "refexplorer:open";
const START = "refexplorer:start";
const NOTEBOOK = "refexplorer:notebook";
const SET = "Reference set";
const EDITOR = "Reference set editor";
/** Of files that are opened as a set by a double click. */
const NAMED = [
  ".refs.json",
  ".kerchunk.json",
  ".refs.json.gz",
  ".kerchunk.json.gz",
  ".refs.json.zst",
  ".kerchunk.json.zst",
];
/** Of files that may be one, or that references can be made to. */
const POSSIBLE = /\.(json|json\.gz|json\.zst|dmrpp|nc|nc4|cdf|h5|hdf5|he5|tif|tiff|fits)$/i;

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#1f5fae"/><path d="M5 3v10M5 4h4a2.5 2.5 0 0 1 0 5H5m4 0 3 4" fill="none" stroke="white" stroke-width="2"/></svg>`;

interface Browser {
  tracker: {
    currentWidget: { selectedItems(): Iterable<{ path: string; type: string }>; model?: { path: string } } | null;
  };
}

interface Restorer {
  restore(tracker: Tracker, options: object): Promise<unknown>;
}

interface Launcher {
  add(options: object): unknown;
}

/** What JupyterLab reports about dragged files: their paths. */
const DRAGGED = "application/x-jupyter-icontents";

interface Dragged extends Event {
  mimeData: { hasData(type: string): boolean; getData(type: string): string[] };
  proposedAction: string;
  dropAction: string;
}

/** A tab with a view: `view` is what `Tab` was made for it. */
type Shown = Widget & { view?: Tab; path?: string; directory?: string };

/** A widget with a toolbar. */
interface Barred {
  toolbar: { addItem(name: string, widget: Widget): void };
}

export function plugins(jupyter: Packages): object[] {
  return [
    {
      id: "refexplorer:plugin",
      autoStart: true,
      optional: [
        jupyter.application.ILayoutRestorer,
        jupyter.filebrowser.IFileBrowserFactory,
        jupyter.launcher.ILauncher,
      ],
      activate: (...given: Given) => activate(jupyter, ...given),
    },
  ];
}

/** What JupyterLab gives, null for each part that it does not have. */
type Given = [app: App, restorer: Restorer | null, browser: Browser | null, launcher: Launcher | null];

function activate(jupyter: Packages, ...[app, restorer, browser, launcher]: Given): void {
  const { commands, contextMenu, shell } = app;
  const files = new jupyter.apputils.WidgetTracker({ namespace: "refexplorer" });
  const folders = new jupyter.apputils.WidgetTracker({ namespace: "refexplorer-folders" });
  addFactories(jupyter, app, files);
  followButtons(app);
  const chosen = () => [...(browser?.tracker.currentWidget?.selectedItems() ?? [])];
  const maybe = () => {
    const items = chosen();
    return items.length === 1 && items.every(({ type, path }) => type === "directory" || POSSIBLE.test(path));
  };

  const openBySource = (path: string) => {
    const known = folders.find((widget) => (widget as Shown).path === path);
    if (known) return shell.activateById(known.id);
    const content: Shown = new jupyter.widgets.Widget();
    fill(content, app, { view: "explorer", source: sourceOf(app, path) }, path);
    const widget = new (jupyter.apputils.MainAreaWidget as new (options: object) => Shown & Barred)({ content });
    widget.toolbar.addItem(
      NOTEBOOK,
      button(jupyter, "Open in a notebook", () => inNotebook(app, content, path)),
    );
    widget.path = path;
    widget.id = `refexplorer-${path}`;
    Object.assign(widget.title, { label: path.split("/").at(-1) || path, caption: path, closable: true });
    shell.add(widget, "main");
    void folders.add(widget);
    shell.activateById(widget.id);
  };

  commands.addCommand(OPEN, {
    label: "Open as reference set",
    caption: "Show the keys, the files and the data of a reference set",
    isVisible: (args: { path?: string }) => args.path !== undefined || maybe(),
    execute: async (args: { path?: string; type?: string }) => {
      const item = args.path === undefined ? chosen()[0] : { path: args.path, type: args.type ?? "directory" };
      if (item === undefined) return;
      // JupyterLab opens a file of another type by what it has for that, whatever is asked for.
      const isOurs = [".json", ...NAMED].some((end) => item.path.toLowerCase().endsWith(end));
      if (item.type === "directory" || item.path.includes("://") || !isOurs) openBySource(item.path);
      else await commands.execute("docmanager:open", { path: item.path, factory: SET });
    },
  });
  commands.addCommand(START, {
    label: "Reference set",
    icon: new jupyter.components.LabIcon({ name: "refexplorer:set", svgstr: ICON }),
    caption: "Open a reference set by its path or URL",
    execute: async () => {
      const asked = await jupyter.apputils.InputDialog.getText({
        title: "Open a reference set",
        label: "Path from the top of the file browser, or URL",
        placeholder: "combined.json",
      });
      if (asked.value?.trim()) await commands.execute(OPEN, { path: asked.value.trim(), type: "directory" });
    },
  });
  commands.addCommand(NOTEBOOK, {
    label: "Open in a notebook",
    execute: async (args: { source: string; code: string; kernel: string | null; directory: string }) => {
      const options = { cwd: args.directory, kernelName: args.kernel, kernelId: undefined };
      const panel = (await commands.execute("notebook:create-new", options)) as {
        context: { ready: Promise<void> };
        content: { model: { sharedModel: { insertCell(at: number, cell: object): void } } };
      };
      await panel.context.ready;
      const opened = `import refexplorer as rx\n\nrefs = rx.open_references(${JSON.stringify(args.source)})`;
      const source = args.code === "" || args.code === "refs" ? `${opened}\nrefs` : `${opened}\n${args.code}`;
      panel.content.model.sharedModel.insertCell(0, { cell_type: "code", source });
    },
  });
  contextMenu.addItem({ command: OPEN, selector: ".jp-DirListing-item", rank: 3.5 });
  launcher?.add({ command: START, category: "Other", rank: 10 });
  if (restorer === null) return;
  void restorer.restore(files, {
    command: "docmanager:open",
    args: (widget: { context: Context; factory: string }) => ({ path: widget.context.path, factory: widget.factory }),
    name: (widget: { context: Context; factory: string }) => `${widget.factory}:${widget.context.path}`,
  });
  void restorer.restore(folders, {
    command: OPEN,
    args: (widget: Shown) => ({ path: widget.path, type: "directory" }),
    name: (widget: Shown) => widget.path,
  });
}

/** The ways to open a file: as a set, which is read by the kernel alone, and as a text to edit. */
function addFactories(jupyter: Packages, app: App, tracker: Tracker): void {
  const { docRegistry } = app;
  docRegistry.addFileType({
    name: "refexplorer-set",
    displayName: "Reference set",
    extensions: NAMED,
    mimeTypes: ["application/json"],
    contentType: "file",
    fileFormat: "text",
  });
  const { DocumentModel } = jupyter.docregistry;
  // Without a format the contents of a file are not asked for: it may have a gigabyte.
  docRegistry.addModelFactory({
    name: "refexplorer-unread",
    contentType: "file",
    fileFormat: null,
    isDisposed: false,
    dispose: () => undefined,
    preferredLanguage: () => "",
    createNew: (options: object) => new (DocumentModel as new (options: object) => unknown)(options),
  });
  const { ABCWidgetFactory, DocumentWidget } = jupyter.docregistry;
  const Document = DocumentWidget as new (options: object) => Widget & Barred & { factory: string };

  class SetFactory extends ABCWidgetFactory {
    protected override createNewWidget(context: Context): Widget {
      // The copy that a file is saved back from: nothing is saved here, and it may have a gigabyte.
      context.createCheckpoint = () => Promise.resolve({ id: "", last_modified: "" });
      const content: Shown = new jupyter.widgets.Widget();
      fill(content, app, { view: "explorer", source: sourceOf(app, context.path) }, context.path);
      return this.framed(context, content, SET, [["Open in a notebook", () => inNotebook(app, content, context.path)]]);
    }

    protected framed(context: Context, content: Shown, factory: string, buttons: [string, () => void][]): Widget {
      const widget = new Document({ content, context });
      widget.factory = factory;
      for (const [label, act] of buttons) widget.toolbar.addItem(label, button(jupyter, label, act));
      void tracker.add(widget);
      return widget;
    }
  }

  class EditorFactory extends SetFactory {
    protected override createNewWidget(context: Context): Widget {
      const content: Shown = new jupyter.widgets.Widget();
      void context.ready.then(() => edit(content, app, context));
      return this.framed(context, content, EDITOR, [
        [
          "Open as reference set",
          () => void app.commands.execute("docmanager:open", { path: context.path, factory: SET }),
        ],
      ]);
    }
  }

  docRegistry.addWidgetFactory(
    new SetFactory({
      name: SET,
      label: SET,
      modelName: "refexplorer-unread",
      fileTypes: ["refexplorer-set", "json"],
      defaultFor: ["refexplorer-set"],
      readOnly: true,
    }),
  );
  docRegistry.addWidgetFactory(
    new EditorFactory({ name: EDITOR, label: EDITOR, modelName: "text", fileTypes: ["refexplorer-set", "json"] }),
  );
}

/** Shows a view in a widget for as long as that is there. */
function fill(
  content: Shown,
  app: App,
  asked: object,
  path: string,
  changed?: (name: string, value: unknown) => void,
): Tab {
  content.node.style.overflow = "auto";
  const view = new Tab(app.serviceManager, content.node, asked, changed);
  content.view = view;
  content.directory = path.split("/").slice(0, -1).join("/");
  content.disposed.connect(() => view.close());
  for (const name of ["lm-dragenter", "lm-dragover", "lm-drop"])
    content.node.addEventListener(name, (event) => takeDragged(app, event as unknown as Dragged));
  return view;
}

/** Opens the files that are dragged from the file browser onto a view, in tabs of their own. */
function takeDragged(app: App, event: Dragged): void {
  if (!event.mimeData.hasData(DRAGGED)) return;
  event.preventDefault();
  event.stopPropagation();
  event.dropAction = event.proposedAction;
  if (event.type !== "lm-drop") return;
  for (const path of event.mimeData.getData(DRAGGED)) void app.commands.execute(OPEN, { path });
}

/** The text of a file in the editor; JupyterLab saves it, and knows whether it was changed here or there. */
function edit(content: Shown, app: App, context: Context): void {
  const { model } = context;
  const { sharedModel } = model;
  const view = fill(
    content,
    app,
    { view: "editor", document: sharedModel.getSource() },
    context.path,
    (name, value) => {
      if (name !== "document" || value === sharedModel.getSource()) return;
      sharedModel.setSource(value as string);
      model.dirty = true;
    },
  );
  sharedModel.changed.connect(() => view.set("document", sharedModel.getSource()));
}

function inNotebook(app: App, content: Shown, path: string): void {
  const source = path.includes("://") ? path : (path.split("/").at(-1) ?? path);
  const { code = "", kernel = null } = content.view ?? {};
  void app.commands.execute(NOTEBOOK, { source, code, kernel, directory: content.directory ?? "" });
}

function button(jupyter: Packages, label: string, act: () => void): Widget {
  const node = document.createElement("button");
  node.textContent = label;
  node.className = "jp-ToolbarButtonComponent jp-mod-minimal jp-Button";
  node.addEventListener("click", act);
  return new jupyter.widgets.Widget({ node });
}

/** A path as the kernel knows it, which begins where the files do. */
function sourceOf(app: App, path: string): string {
  return path.includes("://") ? path : app.serviceManager.contents.localPath(path);
}

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
