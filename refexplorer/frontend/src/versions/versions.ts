/** The versions of an Icechunk repository, and what changed between two of them. */

import type { Work } from "../shared/store.ts";
import { viewStore } from "../shared/waiting.ts";
import type { VersionChanges, VersionList } from "../shared/wire.ts";

const NOTHING = {
  versions: null as VersionList | null,
  before: "",
  after: "",
  changes: null as VersionChanges | null,
  error: null as string | null,
};
export type VersionsState = typeof NOTHING;

export class VersionPicker extends viewStore(NOTHING) {
  readonly progress = this.waiting();

  list(): Promise<void> {
    return this.tried(async () => {
      const { message: versions } = await this.progress.ask("versions.list", {});
      const [newest, older] = versions.snapshots;
      return { versions, after: newest?.id ?? "", before: older?.id ?? newest?.id ?? "" };
    });
  }

  compare(): Promise<void> {
    const { before, after } = this.state;
    return this.tried(async () => ({
      changes: (await this.progress.ask("versions.compare", { before, after })).message,
    }));
  }

  open(version: string): Promise<void> {
    return this.tried(async () => {
      await this.progress.ask("versions.open", { version });
    });
  }

  private tried(work: Work<VersionsState>): Promise<void> {
    this.set({ error: null, changes: null });
    return this.attempt("error", work);
  }
}
