/** What is used of JupyterLab, which gives its packages to an extension while it runs. */

export interface Signal<A> {
  connect(slot: (sender: unknown, args: A) => void): boolean;
}

export interface Widget {
  id: string;
  node: HTMLElement;
  title: { label: string; caption: string; closable: boolean };
  isDisposed: boolean;
  disposed: Signal<void>;
  dispose(): void;
}

export interface Comm {
  open(data: unknown): unknown;
  send(data: unknown): unknown;
  close(): unknown;
  isDisposed: boolean;
  onMsg: (message: { content: { data: unknown }; buffers?: (DataView | ArrayBuffer)[] }) => void;
  onClose: () => void;
}

export interface Kernel {
  name: string;
  createComm(target: string): Comm;
  requestExecute(content: object): {
    onIOPub: (message: { header: { msg_type: string }; content: { ename?: string; evalue?: string } }) => void;
    done: Promise<{ content: { status: string; ename?: string; evalue?: string } }>;
  };
  statusChanged: Signal<string>;
  disposed: Signal<void>;
}

export interface Session {
  kernel: Kernel | null;
  path: string;
  kernelChanged: Signal<unknown>;
}

export interface Sessions {
  ready: Promise<void>;
  refreshRunning(): Promise<void>;
  running(): Iterable<{ path: string; name: string; kernel: { name: string } | null }>;
  connectTo(options: object): Session;
  startNew(options: object): Promise<Session>;
}

export interface Services {
  contents: { localPath(path: string): string };
  sessions: Sessions;
  kernelspecs: {
    ready: Promise<void>;
    specs: {
      default: string;
      kernelspecs: Record<string, { name: string; display_name: string; language: string } | undefined>;
    } | null;
  };
}

export interface Context {
  path: string;
  ready: Promise<void>;
  createCheckpoint(): Promise<object>;
  model: {
    dirty: boolean;
    sharedModel: { getSource(): string; setSource(text: string): void; changed: Signal<unknown> };
  };
}

export interface Commands {
  addCommand(id: string, options: object): unknown;
  execute(id: string, options?: object): Promise<unknown>;
}

export interface App {
  commands: Commands;
  serviceManager: Services;
  shell: {
    add(widget: Widget, area: string): void;
    activateById(id: string): void;
    widgets(area: string): Iterable<Widget & { sessionContext?: { session: { kernel: Kernel | null } | null } }>;
  };
  contextMenu: { addItem(options: object): unknown };
  docRegistry: {
    addFileType(options: object): unknown;
    addModelFactory(factory: object): unknown;
    addWidgetFactory(factory: object): unknown;
  };
}

export interface Tracker {
  add(widget: Widget): Promise<void>;
  find(test: (widget: Widget) => boolean): Widget | undefined;
}

/** What makes the widgets of an entry of "Open With". */
export declare abstract class WidgetFactory {
  constructor(options: object);
  protected abstract createNewWidget(context: Context): Widget;
}

type Class = new (...options: never[]) => unknown;

/** The packages that are asked of JupyterLab, each with what is used of it. */
export interface Packages {
  application: { ILayoutRestorer: unknown };
  apputils: {
    MainAreaWidget: Class;
    WidgetTracker: new (options: object) => Tracker;
    InputDialog: { getText(options: object): Promise<{ value: string | null }> };
  };
  components: { LabIcon: new (options: { name: string; svgstr: string }) => unknown };
  docregistry: { ABCWidgetFactory: typeof WidgetFactory; DocumentWidget: Class; DocumentModel: Class };
  filebrowser: { IFileBrowserFactory: unknown };
  launcher: { ILauncher: unknown };
  widgets: { Widget: new (options?: object) => Widget };
}
