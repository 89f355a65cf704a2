/** The chunks along each dimension of the array that is looked at, and what is odd in its coordinates. */

import { Newest } from "../shared/newest.ts";
import { ViewStore } from "../shared/waiting.ts";
import type { AxisMark, ExplorerWire } from "../shared/wire.ts";

interface Known {
  array: string | null;
  strips: string[];
  marks: AxisMark[];
}

const NOTHING: Known = { array: null, strips: [], marks: [] };

export class Strips extends ViewStore<Known> {
  private readonly asking = new Newest<string>((array) => this.ask(array));
  private readonly colour: () => "state" | "kind" | "target";

  constructor(wire: ExplorerWire, colour: Strips["colour"]) {
    super(wire, NOTHING);
    this.colour = colour;
  }

  look(array: string): void {
    if (array === this.state.array) return;
    this.set({ ...NOTHING, array });
    void this.asking.ask(array);
  }

  /** What is known of the chunks has changed. */
  refresh(): void {
    if (this.state.array !== null) void this.asking.ask(this.state.array);
  }

  private async ask(array: string): Promise<void> {
    try {
      const { strips, marks } = await this.wire.request("tree.strips", { array, by: this.colour() });
      if (array === this.state.array) this.set({ strips, marks });
    } catch {
      // A picture without a strip is one all the same.
    }
  }
}
