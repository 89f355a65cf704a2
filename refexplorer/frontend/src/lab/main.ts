/** The entry of the prebuilt extension: what webpack's module federation would make, by hand. */

import type { Packages } from "./jupyter.ts";
import { plugins } from "./plugin.ts";

interface Shared {
  get(): Promise<() => unknown>;
  loaded?: number | boolean;
  eager?: boolean;
}

type Scope = Record<string, Record<string, Shared>>;

const NAMES: Record<keyof Packages, string> = {
  application: "@jupyterlab/application",
  apputils: "@jupyterlab/apputils",
  components: "@jupyterlab/ui-components",
  docregistry: "@jupyterlab/docregistry",
  filebrowser: "@jupyterlab/filebrowser",
  launcher: "@jupyterlab/launcher",
  widgets: "@lumino/widgets",
};
let scope: Scope = {};

/** The package as JupyterLab itself has it, where another extension brought one, too. */
async function shared(name: string): Promise<unknown> {
  const versions = Object.values(scope[name] ?? {});
  const chosen = versions.find((each) => each.loaded || each.eager) ?? versions[0];
  if (chosen === undefined) throw new Error(`JupyterLab has no package ${name}, which refexplorer needs.`);
  return (await chosen.get())();
}

const container = {
  init(given: Scope): void {
    scope = given;
  },
  async get(): Promise<() => unknown> {
    const asked = Object.entries(NAMES).map(async ([key, name]) => [key, await shared(name)]);
    const made = await Promise.all(asked).then(
      (found) => plugins(Object.fromEntries(found) as Packages),
      (error: Error) => {
        console.info(error.message); // Voila loads the extension, too, and has no file browser
        return [];
      },
    );
    const exports = { __esModule: true, default: made };
    return () => exports;
  },
};

const place = globalThis as { _JUPYTERLAB?: Record<string, unknown> };
place._JUPYTERLAB ??= {};
place._JUPYTERLAB["refexplorer"] = container;
