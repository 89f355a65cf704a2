/** Sends a file in pieces: Python asks for each, so that neither side holds more than it takes. */

import type { Host, Message, Off } from "../shared/host.ts";
import { Store } from "../shared/store.ts";

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
    this.off = host.onMessage((message) => void this.asked(message));
  }

  close(): void {
    this.off();
  }

  start(file: File): void {
    this.set({ file, sent: 0 });
    this.host.send({ op: "upload", name: file.name, size: file.size });
  }

  stop(): void {
    this.set({ file: null });
    this.host.send({ op: "stop" });
  }

  private async asked(message: Message): Promise<void> {
    const { file } = this.state;
    if (file === null || message["ev"] !== "piece") return;
    const start = message["start"] as number;
    const piece = await file.slice(start, start + PIECE).arrayBuffer();
    if (this.state.file !== file) return;
    const sent = start + piece.byteLength;
    this.set(sent < file.size ? { sent } : { sent, file: null });
    this.host.send({ op: "piece", piece });
  }
}
