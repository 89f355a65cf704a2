/** One face for the two hosts: anywidget's model in a notebook, Panel's JSComponent model on the page; and its places. */

export type Off = () => void;
export type Message = Record<string, unknown>;

/** The event by which the explorer hands the page, which sends files, one to compare the set with. */
export const COMPARE_FILE = "refexplorer-compare-file";

export interface Host {
  readonly place: "notebook" | "page";
  /** Whether the view has a document to itself: it is the main part there, with the first heading. */
  readonly isMain: boolean;
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  send(message: Message): void;
  onChange(name: string, callback: (value: unknown) => void): Off;
  onMessage(callback: (message: Message, buffers: ArrayBuffer[]) => void): Off;
  /** Calls back when the view goes, if the host does not call what `render` returned. */
  onLeave(callback: Off): void;
  /** Draws another widget from a trait; null if there is none, or if it cannot be drawn. */
  child(name: string): Promise<Child | null>;
}

export interface Child {
  element: HTMLElement;
  remove(): void;
}

interface WidgetView {
  el: HTMLElement;
  remove(): void;
}

interface NotebookModel {
  widget_manager?: {
    get_model(id: string): Promise<unknown>;
    create_view(model: unknown): Promise<WidgetView>;
  };
  /** That of a saved page says so. */
  place?: Host["place"];
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send(message: unknown): void;
  on(event: string, callback: Callback): void;
  off(event: string, callback: Callback): void;
}

interface PageModel extends Pick<NotebookModel, "on" | "off"> {
  [name: string]: unknown;
  send_msg(message: unknown): void;
}

export type Model = NotebookModel | PageModel;

export function adapt(model: Model): Host {
  return typeof model["send_msg" as keyof Model] === "function"
    ? page(model as PageModel)
    : notebook(model as NotebookModel);
}

type Callback = (...values: never[]) => void;

/** Listens to a model; what is returned ends it. */
function listening(model: { on(event: string, callback: Callback): void; off: NotebookModel["off"] }) {
  return (event: string, callback: Callback): Off => {
    model.on(event, callback);
    return () => model.off(event, callback);
  };
}

function notebook(model: NotebookModel): Host {
  const listen = listening(model);
  return {
    place: model.place ?? "notebook",
    isMain: model.get("main") === true,
    get: (name) => model.get(name),
    set: (name, value) => {
      model.set(name, value);
      model.save_changes();
    },
    send: (message) => model.send(message),
    onChange: (name, callback) => listen(`change:${name}`, () => callback(model.get(name))),
    onMessage: (callback) =>
      listen("msg:custom", (message: Message, buffers?: DataView[]) => callback(message, (buffers ?? []).map(copied))),
    onLeave: () => undefined,
    child: (name) => drawn(model, model.get(name)),
  };
}

/** What ipywidgets writes in place of a widget. */
const REFERENCE = "IPY_MODEL_";

async function drawn({ widget_manager: manager }: NotebookModel, value: unknown): Promise<Child | null> {
  if (!manager || typeof value !== "string" || !value.startsWith(REFERENCE)) return null;
  const view = await manager.create_view(await manager.get_model(value.slice(REFERENCE.length)));
  return { element: view.el, remove: () => view.remove() };
}

/** Bokeh's models keep the name `document` for themselves. */
const PAGE_NAMES: Record<string, string> = { document: "text" };

function page(model: PageModel): Host {
  const named = (name: string) => PAGE_NAMES[name] ?? name;
  const listen = listening(model);
  return {
    place: "page",
    isMain: true,
    get: (name) => model[named(name)],
    set: (name, value) => {
      model[named(name)] = value;
    },
    send: (message) => model.send_msg(message),
    onChange: (name, callback) => listen(named(name), () => callback(model[named(name)])),
    onMessage: (callback) =>
      listen("msg:custom", (envelope: { message: Message; buffers: ArrayBuffer[] }) =>
        callback(envelope.message, envelope.buffers),
      ),
    onLeave: (callback) => model.on("remove", callback),
    child: () => Promise.resolve(null),
  };
}

/** A buffer of its own: the view that a kernel message gives may start at any byte. */
function copied(view: DataView): ArrayBuffer {
  const bytes = new Uint8Array(view.byteLength);
  bytes.set(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  return bytes.buffer;
}

export interface Place {
  address: string;
  step: number;
}

/** What an address says of the explorer itself; `refexplorer/hosts/page/page.py` knows the same names. */
export const PLACES = [
  ...["view", "key", "slice", "part", "mode", "axes", "colours", "limits", "raw", "find", "kinds", "list", "only"],
  ...["notes", "by", "other", "changes", "gone"],
] as const;

/** Texts by name; views say others. */
export type Places = Record<string, string | undefined>;
