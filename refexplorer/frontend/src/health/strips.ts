/** The chunks along each dimension of the array that is looked at. */

import { Newest } from "../shared/newest.ts";
import { Store } from "../shared/store.ts";
import type { ExplorerWire } from "../shared/wire.ts";

export class Strips extends Store<{ array: string | null; strips: string[] }> {
  private readonly wire: ExplorerWire;
  private readonly asking = new Newest<string>((array) => this.ask(array));

  constructor(wire: ExplorerWire) {
    super({ array: null, strips: [] });
    this.wire = wire;
  }

  close(): void {}

  /** The set is another one. */
  forget(): void {
    this.set({ array: null, strips: [] });
  }

  look(array: string): void {
    if (array === this.state.array) return;
    this.set({ array, strips: [] });
    void this.asking.ask(array);
  }

  /** What is known of the chunks has changed. */
  refresh(): void {
    if (this.state.array !== null) void this.asking.ask(this.state.array);
  }

  private async ask(array: string): Promise<void> {
    try {
      const { strips } = await this.wire.request("tree.strips", { array });
      if (array === this.state.array) this.set({ strips });
    } catch {
      // A picture without a strip is one all the same.
    }
  }
}
