/** The versions of an Icechunk repository, and what changed between two of them. */

import { Store } from "../shared/store.ts";
import { Waiting } from "../shared/waiting.ts";
import type { ExplorerWire, VersionChanges, VersionList } from "../shared/wire.ts";

export interface VersionsState {
  versions: VersionList | null;
  before: string;
  after: string;
  changes: VersionChanges | null;
  error: string | null;
}

const NOTHING: VersionsState = { versions: null, before: "", after: "", changes: null, error: null };

export class VersionPicker extends Store<VersionsState> {
  readonly waiting: Waiting;

  constructor(wire: ExplorerWire) {
    super(NOTHING);
    this.waiting = new Waiting(wire);
  }

  close(): void {
    this.waiting.close();
  }

  /** Another set is shown. */
  forget(): void {
    this.waiting.drop();
    this.set(NOTHING);
  }

  list(): Promise<void> {
    return this.tried(async () => {
      const { message: versions } = await this.waiting.ask("versions.list", {});
      const [newest, older] = versions.snapshots;
      this.set({ versions, after: newest?.id ?? "", before: older?.id ?? newest?.id ?? "" });
    });
  }

  compare(): Promise<void> {
    const { before, after } = this.state;
    return this.tried(async () => {
      const { message: changes } = await this.waiting.ask("versions.compare", { before, after });
      this.set({ changes });
    });
  }

  open(version: string): Promise<void> {
    return this.tried(async () => {
      await this.waiting.ask("versions.open", { version });
    });
  }

  private async tried(work: () => Promise<void>): Promise<void> {
    this.set({ error: null, changes: null });
    try {
      await work();
    } catch (error) {
      this.set({ error: (error as Error).message });
    }
  }
}
