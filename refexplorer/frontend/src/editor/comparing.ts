/** Another text that the one in the editor is compared with. */

import { Store } from "../shared/store.ts";
import type { EditorWire } from "../shared/wire.ts";

export interface ComparingState {
  /** What it is, and the text; null while nothing is compared. */
  other: { name: string; text: string } | null;
  trouble: string | null;
}

/** Bytes of a file that is compared with. */
const LARGEST = 5_000_000;

export class Comparing extends Store<ComparingState> {
  private readonly wire: EditorWire;

  constructor(wire: EditorWire) {
    super({ other: null, trouble: null });
    this.wire = wire;
  }

  begin(name: string, text: string): void {
    this.set({ other: { name, text }, trouble: null });
  }

  end(): void {
    this.set({ other: null, trouble: null });
  }

  async withStart(): Promise<void> {
    await this.attempt("trouble", async () => this.begin("the start", (await this.wire.request("text")).document));
  }

  async withFile(file: File): Promise<void> {
    if (file.size > LARGEST) {
      this.set({ trouble: `${file.name} has more than ${LARGEST / 1e6} MB, and is not compared.` });
      return;
    }
    try {
      this.begin(file.name, await file.text());
    } catch (error) {
      this.set({ trouble: `${file.name} cannot be read: ${(error as Error).message}` });
    }
  }
}
