/** Sends a file in pieces when Python requests them, so neither side keeps more than one in memory. */

import type { Host, Off } from "../shared/host.ts";
import { Store } from "../shared/store.ts";
import type { PieceWanted } from "../shared/wire.ts";
import { ask, hear } from "./wire.ts";

const PIECE = 2 ** 19;

export interface UploadState {
  file: File | null;
  sent: number;
}

export class Upload extends Store<UploadState> {
  private readonly host: Host;
  private readonly off: Off;

  constructor(host: Host) {
    super({ file: null, sent: 0 });
    this.host = host;
    this.off = hear(host, "piece", (event) => void this.send(event));
  }

  close(): void {
    this.off();
  }

  /** Sends a file, to be opened or to be compared with the set that is open. */
  start(file: File, compares = false): void {
    this.set({ file, sent: 0 });
    ask(this.host, "upload", { name: file.name, size: file.size, compares });
  }

  stop(): void {
    this.set({ file: null });
    ask(this.host, "stop");
  }

  private async send({ start }: PieceWanted): Promise<void> {
    const { file } = this.state;
    if (file === null) return;
    const piece = await file.slice(start, start + PIECE).arrayBuffer();
    if (this.state.file !== file) return;
    const sent = start + piece.byteLength;
    this.set(sent < file.size ? { sent } : { sent, file: null });
    ask(this.host, "piece", { piece });
  }
}
