/** A view in a tab or an output: the kernel is asked for its bundle and its traits, and answers it from then on. */

import type { Message, Off } from "../shared/host.ts";
import type { Comm, Kernel, Services } from "./jupyter.ts";
import { TabModel } from "./model.ts";

type Render = (props: { model: TabModel; el: HTMLElement }) => Off;

/** What the kernel says before the view speaks to it. */
type Told =
  | { lab: "opening"; done: number; size: number }
  | { lab: "opened"; bundle: string; traits: Record<string, unknown> }
  | { lab: "failed"; sentence: string };

const STYLE =
  "box-sizing: border-box; padding: 24px; max-width: 60em; font-size: 14px; line-height: 1.5; color: var(--jp-ui-font-color1);";

export class Tab {
  /** Python for what was done last. */
  code = "";
  /** The kernel that answers; null until it is known. */
  kernel: string | null = null;
  private readonly services: Services;
  private readonly box: HTMLElement;
  private readonly asked: object;
  private readonly changed: (name: string, value: unknown) => void;
  private readonly own: Kernel | null;
  private comm: Comm | null = null;
  private view: { model: TabModel; off: Off } | null = null;
  private closed = false;
  /** The kernels to choose from, and the one that was tried last. */
  private specs: Kernelspec[] = [];
  private chosen: Kernelspec | null = null;

  /**
   * `asked` says what is opened; `changed` is called with each trait that the view sets; `own` is the
   * kernel of the notebook that the view stands in, and no other than that is asked then.
   */
  constructor(
    services: Services,
    box: HTMLElement,
    asked: object,
    changed: (name: string, value: unknown) => void = () => undefined,
    own: Kernel | null = null,
  ) {
    this.services = services;
    this.box = box;
    this.asked = asked;
    this.changed = changed;
    this.own = own;
    void this.open(null);
  }

  close(): void {
    this.closed = true;
    this.end();
  }

  /** Sets a trait of the view, once there is one. */
  set(name: string, value: unknown): void {
    this.view?.model.change(name, value);
  }

  private end(): void {
    this.view?.off();
    this.view = null;
    if (this.comm !== null && !this.comm.isDisposed) this.comm.close();
    this.comm = null;
  }

  private async open(name: string | null): Promise<void> {
    this.end();
    this.say(this.own === null ? "Starting Python …" : "Waiting for the kernel …");
    this.specs =
      this.own === null
        ? await pythons(this.services).catch(() => [])
        : [{ name: this.own.name, label: this.own.name }];
    const chosen = this.specs.find((each) => each.name === name) ?? this.specs[0];
    this.chosen = chosen ?? null;
    if (chosen === undefined) {
      this.say("There is no Python kernel on this server: install ipykernel, then try again.");
      return;
    }
    try {
      const kernel = await (this.own === null ? kernelOf(this.services, chosen.name) : prepared(this.own));
      if (this.closed) return;
      this.kernel = chosen.name;
      this.say("Opening …");
      const hear = (message: unknown, buffers: DataView[]) => void this.hear(message as Told | Message, buffers);
      this.comm = connect(kernel, this.asked, hear, () => this.lose());
    } catch (error) {
      const sentence =
        error instanceof Missing
          ? `The kernel ${chosen.label} does not have this version of refexplorer: run \`pip install --upgrade refexplorer\` in its environment, restart it, then try again.`
          : `The kernel ${chosen.label} does not answer. ${(error as Error).message}`;
      this.say(sentence, true);
    }
  }

  private lose(): void {
    if (this.closed) return;
    this.comm = null;
    this.view?.off();
    this.view = null;
    this.say("The kernel was stopped or restarted.", true);
  }

  private async hear(message: Told | Message, buffers: DataView[]): Promise<void> {
    if (!("lab" in message)) {
      if (message["ev"] === "code") this.code = String(message["code"]);
      this.view?.model.hear(message, buffers);
      return;
    }
    const told = message as Told;
    if (told.lab === "failed") this.say(told.sentence, true);
    else if (told.lab === "opening")
      this.say(`Opening … ${Math.round((100 * told.done) / Math.max(told.size, 1))} % was read.`);
    else await this.show(told.bundle, told.traits);
  }

  private async show(bundle: string, traits: Record<string, unknown>): Promise<void> {
    const url = URL.createObjectURL(new Blob([bundle], { type: "text/javascript" }));
    const { render } = (await import(url)) as { render: Render };
    URL.revokeObjectURL(url);
    if (this.closed) return;
    this.box.replaceChildren();
    const model = new TabModel(traits, (asked) => this.comm?.send(asked), this.changed);
    this.view = { model, off: render({ model, el: this.box }) };
    if (this.own !== null) return;
    // As high as there is room, as on a page; in all else it is a notebook's.
    (this.box.firstElementChild as HTMLElement).dataset["place"] = "page";
  }

  /** Says something in place of the view; with a kernel that may be tried again, or another one. */
  private say(sentence: string, isOver = false): void {
    const said = document.createElement("p");
    said.setAttribute("role", isOver ? "alert" : "status");
    said.textContent = sentence;
    const frame = document.createElement("div");
    frame.style.cssText = STYLE;
    frame.append(said);
    if (isOver) {
      const choice = document.createElement("select");
      choice.setAttribute("aria-label", "Kernel");
      choice.append(...this.specs.map(({ name, label }) => new Option(label, name, false, name === this.chosen?.name)));
      const again = document.createElement("button");
      again.textContent = "Try again";
      again.className = "jp-mod-styled";
      again.addEventListener("click", () => void this.open(choice.value));
      if (this.specs.length > 1) frame.append(choice, " ");
      frame.append(again);
    }
    this.box.replaceChildren(frame);
  }
}

/** The name of its session; no file or folder is called so, so that it runs where the files begin. */
const PATH = ".refexplorer-tabs";
const TARGET = "refexplorer.tab";
const BEGIN =
  "from refexplorer.hosts.notebook.lab import register as _refexplorer_register\n_refexplorer_register()\ndel _refexplorer_register";

/** A kernel without refexplorer, or with an older one. */
export class Missing extends Error {}

export interface Kernelspec {
  name: string;
  label: string;
}

/** The kernels that run Python; the one that is started by default comes first. */
export async function pythons({ kernelspecs }: Services): Promise<Kernelspec[]> {
  await kernelspecs.ready;
  const specs = Object.values(kernelspecs.specs?.kernelspecs ?? {}).flatMap((spec) =>
    spec?.language === "python" ? [spec] : [],
  );
  specs.sort(
    (one, other) => Number(other.name === kernelspecs.specs?.default) - Number(one.name === kernelspecs.specs?.default),
  );
  return specs.map(({ name, display_name }) => ({ name, label: display_name }));
}

const starting = new Map<string, Promise<Kernel>>();

/** The running kernel of a name, or a new one; it has refexplorer. */
export function kernelOf(services: Services, name: string): Promise<Kernel> {
  const known = starting.get(name);
  if (known !== undefined) return known;
  const started = start(services, name);
  starting.set(name, started);
  started.catch(() => starting.delete(name));
  return started;
}

async function start({ sessions }: Services, name: string): Promise<Kernel> {
  await sessions.ready;
  await sessions.refreshRunning();
  const path = `${PATH}-${name}`;
  const running = [...sessions.running()].find((each) => each.path === path && each.kernel?.name === name);
  const session = running
    ? sessions.connectTo({ model: running })
    : await sessions.startNew({ name: "refexplorer", path, type: "console", kernel: { name } });
  const { kernel } = session;
  if (kernel === null) throw new Error("The kernel did not start.");
  onEnd(kernel, () => starting.delete(name));
  return prepared(kernel);
}

/** Calls back when a kernel dies, or begins anew. */
function onEnd(kernel: Kernel, ended: () => void): void {
  kernel.statusChanged.connect((_, status) => ["dead", "autorestarting", "restarting"].includes(status) && ended());
}

/** The kernel once it answers what the extension asks; fails if it has no refexplorer for that. */
export async function prepared(kernel: Kernel): Promise<Kernel> {
  const asked = kernel.requestExecute({ code: BEGIN, silent: true, store_history: false, stop_on_error: false });
  const { content } = await asked.done;
  if (content.status === "ok") return kernel;
  if (content.ename === "ModuleNotFoundError" || content.ename === "ImportError") throw new Missing(content.evalue);
  throw new Error(`${content.ename}: ${content.evalue}`);
}

/** Opens the way to a controller. */
export function connect(
  kernel: Kernel,
  asked: object,
  hear: (message: unknown, buffers: DataView[]) => void,
  lost: () => void,
): Comm {
  const comm = kernel.createComm(TARGET);
  comm.onMsg = ({ content, buffers }) => hear(content.data, (buffers ?? []).map(viewed));
  comm.onClose = lost;
  onEnd(kernel, () => comm.isDisposed || lost());
  // A notebook lets go of a kernel that it shuts down, without a word of its end.
  kernel.disposed.connect(() => lost());
  comm.open(asked);
  return comm;
}

function viewed(buffer: DataView | ArrayBuffer): DataView {
  return buffer instanceof ArrayBuffer ? new DataView(buffer) : buffer;
}
