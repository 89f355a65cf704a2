/** The views of an explorer, each named once: in the field of the session that holds it. */

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
  private readonly views: View[] = [];
  private readonly waitings: Waiting[] = [];

  constructor(host: Host, state: S) {
    super(state);
    this.wire = new Wire(host);
  }

  protected view<V extends View>(made: V): V {
    this.views.push(made);
    return made;
  }

  /** Something that takes long, of the explorer itself. */
  protected waiting(): Waiting {
    const made = new Waiting(this.wire);
    this.waitings.push(made);
    return made;
  }

  /** Calls back with each change of what is shown, in any part of the explorer. */
  watchAll(watcher: () => void): Off {
    const offs = [this, ...this.views].map((store) => store.watch(watcher));
    return () => {
      for (const off of offs) off();
    };
  }

  /** Another set is shown. */
  protected forget(): void {
    for (const each of this.views) each.forget();
  }

  close(): void {
    for (const each of [...this.views, ...this.waitings, this.wire]) each.close();
  }
}
