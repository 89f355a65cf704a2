/** What became of the chunks since another set: asked for with each picture of a grid. */

import { Newest } from "../shared/newest.ts";
import { Store } from "../shared/store.ts";
import type { Changes, ExplorerWire } from "../shared/wire.ts";
import type { GridPicture } from "./maps.ts";
import { Waiting } from "../shared/waiting.ts";

export interface ChangePicture extends Changes {
  /** The picture that it belongs to. */
  of: GridPicture;
  /** Chunks of each change: kinds × rows × columns. */
  perChange: Float64Array;
}

export interface ComparingState {
  /** Null if there is nothing to compare with. */
  changes: ChangePicture | null;
  /** Whether the person may name another set. */
  comparable: boolean;
  error: string | null;
}

export class Comparing extends Store<ComparingState> {
  readonly waiting: Waiting;
  private readonly pictures: Newest<GridPicture>;

  constructor(wire: ExplorerWire) {
    super({ changes: null, comparable: false, error: null });
    this.waiting = new Waiting(wire);
    this.pictures = new Newest((grid) => this.draw(grid));
  }

  close(): void {
    this.waiting.close();
  }

  /** Another set is shown: what it is compared with is asked anew. */
  forget(): void {
    this.set({ changes: null, error: null });
  }

  show(grid: GridPicture): void {
    if (this.state.changes?.of !== grid) void this.pictures.ask(grid);
  }

  /** Compares with the set at a path or URL; with none if it is empty. */
  async compare(source: string, grid: GridPicture): Promise<void> {
    try {
      await this.waiting.ask("changes.with", { source });
      this.set({ changes: null, error: null });
      await this.pictures.ask(grid);
    } catch (error) {
      this.set({ error: (error as Error).message });
    }
  }

  private async draw(grid: GridPicture): Promise<void> {
    const { array, axes, window, steps } = grid;
    try {
      const asked = { array, axes, window, steps };
      const { message, buffers } = await this.waiting.ask(
        "changes.show",
        asked,
      );
      const { comparable, changes } = message;
      const picture = changes && { ...changes, of: grid, perChange: new Float64Array(buffers[0]!) };
      this.set({ comparable, changes: picture, error: null });
    } catch (error) {
      this.set({ error: (error as Error).message });
    }
  }
}
