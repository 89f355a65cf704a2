/** Requests and answers between a view and its controller; the documentation page PROTOCOL lists them. */

import type {
  EditorEvents,
  EditorOperations,
  ExplorerEvents,
  ExplorerOperations,
  Row,
} from "../../generated/protocol.ts";
import type { Host, Message, Off } from "./host.ts";

export type * from "../../generated/protocol.ts";

/** What is asked with and answered, by the name of the operation. */
export type Table<O> = { [K in keyof O]: { asks: object; reply: object } };
/** The fields of a request, left out where it needs none. */
export type Fields<A> = object extends A ? [fields?: A] : [fields: A];
type Heard<E> = E & { [OVERHEARD]: Message };

export type ExplorerWire = Wire<ExplorerOperations, ExplorerEvents>;
export type EditorWire = Wire<EditorOperations, EditorEvents>;

export interface Reply<T> {
  message: T;
  buffers: ArrayBuffer[];
}

type WireHost = Pick<Host, "send" | "onMessage"> & Partial<Pick<Host, "place">>;

interface Waiting {
  resolve(reply: Reply<never>): void;
  reject(error: Error): void;
  timer: ReturnType<typeof setTimeout> | undefined;
}

const PATIENCE = 60_000;
/** The event of an answer to another view of the same model. */
export const OVERHEARD = "overheard";

/** Requests with unique ids; replies that other views of the same model asked for are dropped. */
export class Wire<O extends Table<O>, E extends object> {
  private readonly host: WireHost;
  private readonly patience: number;
  private readonly view = Math.random().toString(36).slice(2, 10);
  private readonly waiting = new Map<string, Waiting>();
  private readonly listeners = new Map<string, Set<(message: never, buffers: ArrayBuffer[]) => void>>();
  private readonly off: Off;
  private sequence = 0;

  constructor(host: WireHost, patience = PATIENCE) {
    this.host = host;
    this.patience = patience;
    this.off = host.onMessage((message, buffers) => this.receive(message, buffers));
  }

  /** Asks; rejects with a sentence when Python refuses or does not answer. */
  async request<K extends keyof O & string>(op: K, ...[fields]: Fields<O[K]["asks"]>): Promise<O[K]["reply"]> {
    return (await this.job(op, fields ?? {}).reply).message;
  }

  /** Asks for what may take long: no time limit when `patient`, and an id to cancel it by. */
  job<K extends keyof O & string>(
    op: K,
    fields: O[K]["asks"],
    patient = false,
  ): { id: string; reply: Promise<Reply<O[K]["reply"]>> } {
    return this.send(op, fields, patient);
  }

  private send<T>(op: string, fields: object, patient: boolean): { id: string; reply: Promise<Reply<T>> } {
    const id = `${this.view}:${++this.sequence}`;
    const reply = new Promise<Reply<T>>((resolve, reject) => {
      const timer = patient ? undefined : setTimeout(() => this.giveUp(id), this.patience);
      this.waiting.set(id, { resolve: resolve as Waiting["resolve"], reject, timer });
    });
    this.host.send({ id, op, ...fields });
    return { id, reply };
  }

  /** Stops a job. Nobody waits for the answer: where it fails, the job ends by itself. */
  cancel(job: string): void {
    this.send("cancel", { job }, false).reply.catch(() => undefined);
  }

  /** Listens to what Python says without being asked: `{"ev": name, …}`. */
  on<K extends keyof Heard<E> & string>(
    name: K,
    callback: (message: Heard<E>[K], buffers: ArrayBuffer[]) => void,
  ): Off {
    const callbacks = this.listeners.get(name) ?? new Set();
    this.listeners.set(name, callbacks.add(callback));
    return () => callbacks.delete(callback);
  }

  /** Ends what was asked of another set: the answers would be of that, and some never come. */
  async forget(): Promise<void> {
    while (this.waiting.size > 0) {
      for (const id of [...this.waiting.keys()]) this.settle(id)?.reject(new Error("Another set was opened."));
      await new Promise((done) => setTimeout(done)); // the caller may send its next request first
    }
  }

  close(): void {
    this.off();
    for (const { timer } of this.waiting.values()) clearTimeout(timer);
    this.waiting.clear();
    this.listeners.clear();
  }

  private receive(message: Message, buffers: ArrayBuffer[]): void {
    if (typeof message["ev"] === "string") {
      this.emit(message["ev"], message, buffers);
      return;
    }
    const id = String(message["id"]);
    const asked = this.settle(id);
    if (!asked && id.startsWith(`${this.view}:`)) return; // it came too late, or another set was opened
    if (!asked) this.emit(OVERHEARD, message, buffers);
    else if (typeof message["error"] === "string") asked.reject(new Error(message["error"]));
    else asked.resolve({ message: message as never, buffers });
  }

  private emit(name: string, message: Message, buffers: ArrayBuffer[]): void {
    for (const callback of this.listeners.get(name) ?? []) callback(message as never, buffers);
  }

  private giveUp(id: string): void {
    const seconds = Math.round(this.patience / 1000);
    const who = this.host.place === "page" ? "The server" : "Python";
    const sentence = `${who} has not answered for ${seconds} s: it is busy, or was stopped.`;
    this.settle(id)?.reject(new Error(sentence));
  }

  private settle(id: string): Waiting | undefined {
    const asked = this.waiting.get(id);
    clearTimeout(asked?.timer);
    this.waiting.delete(id);
    return asked;
  }
}

/** A row of the tree without anything: those that Python does not give begin with it. */
export const EMPTY_ROW: Row = {
  path: "",
  name: "",
  depth: 0,
  type: "key",
  kind: null,
  size: null,
  target: null,
  origin: null,
  children: 0,
  open: false,
  position: 0,
  siblings: 0,
  form: null,
  label: null,
  strip: null,
  badges: null,
  cause: null,
  changes: null,
};
