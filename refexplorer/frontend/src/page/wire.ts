/** What the page asks Python and hears from it: nothing is answered, `PageTraits` show what comes of it. A file goes in pieces. */

import { useEffect, useLayoutEffect, useState } from "preact/hooks";

import type { Host, Off, Place } from "../shared/host.ts";
import type { Fields, PageEvents, PageOperations, PieceWanted } from "../shared/wire.ts";
import { Store } from "../shared/store.ts";

export function ask<K extends keyof PageOperations>(
  host: Host,
  op: K,
  ...[fields]: Fields<PageOperations[K]["asks"]>
): void {
  host.send({ op, ...fields });
}

export function hear<K extends keyof PageEvents>(host: Host, name: K, callback: (event: PageEvents[K]) => void): Off {
  return host.onMessage((message) => {
    if (message["ev"] === name) callback(message as unknown as PageEvents[K]);
  });
}

interface BokehDocument {
  on_event(name: string, callback: () => void): void;
}

export function useLost(): boolean {
  const [lost, setLost] = useState(false);
  useEffect(() => {
    const { Bokeh } = globalThis as { Bokeh?: { documents: BokehDocument[] } };
    for (const document of Bokeh?.documents ?? []) document.on_event("connection_lost", () => setLost(true));
  }, []);
  return lost;
}

export interface OfferedSet {
  title: string;
  source: string;
}

/** What Python and the page share; `Frame` in refexplorer/hosts/page/page.py says what each is. */
interface PageTraits {
  view: string;
  screens: { name: string; label: string }[];
  place: Place;
  names: string[];
  title: string;
  sets: OfferedSet[];
  opening: string;
  /** Bytes that were read, and all; empty while nothing is known of them. */
  opened: number[];
  problem: string;
  notice: string;
  /** Empty unless the set is of a lesson; `next` is the source of the one after it. */
  lesson: { title?: string; steps?: [title: string, paragraphs: string[]][]; next?: string };
  largest: number;
  /** What the field for a path or URL begins with. */
  typed: string;
}

/** A value that Python and the page share. */
export function useShared<K extends keyof PageTraits>(host: Host, name: K): PageTraits[K] {
  const [value, setValue] = useState(() => host.get(name) as PageTraits[K]);
  useLayoutEffect(() => {
    setValue(host.get(name) as PageTraits[K]);
    return host.onChange(name, (next) => setValue(next as PageTraits[K]));
  }, [host, name]);
  return value;
}

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
