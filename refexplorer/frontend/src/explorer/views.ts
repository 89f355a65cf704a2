/** The views of an explorer, each named once: by its field in the session. */

import type { Host, Off } from "../shared/host.ts";
import { Store } from "../shared/store.ts";
import { Waiting } from "../shared/waiting.ts";
import { Wire, type ExplorerWire } from "../shared/wire.ts";

/** What a view knows: it is forgotten with the set, and closed with the explorer. */
interface View {
  forget(): void;
  close(): void;
  watch(watcher: () => void): Off;
}

/** Fields of a subclass are made after its `wire` is here, in the order of its text. */
export class Views<S extends object> extends Store<S> {
  protected readonly wire: ExplorerWire;
  private readonly stores: View[] = [];
  private readonly waitings: Waiting[] = [];
  private readonly byKind = new Map<unknown, View>();
  private readonly watchersOfAll = new Set<() => void>();

  constructor(host: Host, state: S) {
    super(state);
    this.wire = new Wire(host);
  }

  protected view<V extends View>(made: V): V {
    this.stores.push(made);
    made.watch(() => {
      for (const watcher of this.watchersOfAll) watcher();
    });
    return made;
  }

  /** What a view knows, by its class: made when it is asked for first. */
  of<V extends View>(Kind: new (wire: ExplorerWire) => V): V {
    if (!this.byKind.has(Kind)) this.byKind.set(Kind, this.view(new Kind(this.wire)));
    return this.byKind.get(Kind) as V;
  }

  /** A long task of the explorer itself. */
  protected waiting(): Waiting {
    const made = new Waiting(this.wire);
    this.waitings.push(made);
    return made;
  }

  /** Calls back with each change of what is shown, in any part of the explorer. */
  watchAll(watcher: () => void): Off {
    const off = this.watch(watcher);
    this.watchersOfAll.add(watcher);
    return () => {
      off();
      this.watchersOfAll.delete(watcher);
    };
  }

  /** Another set is shown. */
  protected forget(): void {
    for (const each of this.stores) each.forget();
  }

  close(): void {
    for (const each of [...this.stores, ...this.waitings, this.wire]) each.close();
  }
}
