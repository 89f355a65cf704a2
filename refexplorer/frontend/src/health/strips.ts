/** The chunks along each dimension of the array that is looked at, and what is odd in its coordinates. */

import { Newest } from "../shared/newest.ts";
import { Store } from "../shared/store.ts";
import type { AxisMark, ExplorerOperations, ExplorerWire } from "../shared/wire.ts";

export type StripColour = NonNullable<ExplorerOperations["tree.strips"]["asks"]["by"]>;

interface Known {
  array: string | null;
  strips: string[];
  marks: AxisMark[];
}

export class Strips extends Store<Known> {
  private readonly wire: ExplorerWire;
  private readonly asking = new Newest<string>((array) => this.ask(array));

  private readonly colour: () => { by: StripColour; access: string };

  constructor(wire: ExplorerWire, colour: Strips["colour"]) {
    super({ array: null, strips: [], marks: [] });
    this.wire = wire;
    this.colour = colour;
  }

  close(): void {}

  /** The set is another one. */
  forget(): void {
    this.set({ array: null, strips: [], marks: [] });
  }

  look(array: string): void {
    if (array === this.state.array) return;
    this.set({ array, strips: [], marks: [] });
    void this.asking.ask(array);
  }

  /** What is known of the chunks has changed. */
  refresh(): void {
    if (this.state.array !== null) void this.asking.ask(this.state.array);
  }

  private async ask(array: string): Promise<void> {
    try {
      const { strips, marks } = await this.wire.request("tree.strips", { array, ...this.colour() });
      if (array === this.state.array) this.set({ strips, marks });
    } catch {
      // A picture without a strip is one all the same.
    }
  }
}
