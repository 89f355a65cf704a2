/** The kernel that answers the tabs of refexplorer: one for all of them, also after a reload. */

import type { Comm, Kernel, Services } from "./jupyter.ts";

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
