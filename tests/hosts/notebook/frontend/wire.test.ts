import assert from "node:assert/strict";
import { test } from "node:test";

import { OVERHEARD, Wire } from "../../../../refexplorer/frontend/src/shared/wire.ts";

type Message = Record<string, unknown>;

/** Two views of one model: what Python says reaches both. */
function model() {
  const sent: Message[] = [];
  const listeners = new Set<(message: Message, buffers: ArrayBuffer[]) => void>();
  return {
    sent,
    say: (message: Message, buffers: ArrayBuffer[] = []) => {
      for (const listener of listeners) listener(message, buffers);
    },
    host: {
      send: (message: Message) => void sent.push(message),
      onMessage: (listener: (message: Message, buffers: ArrayBuffer[]) => void) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
  };
}

test("each view hears only the answers to its own questions", async () => {
  const { sent, say, host } = model();
  const [one, two] = [new Wire(host), new Wire(host)];
  const first = one.request("hello");
  const second = two.request("hello");
  assert.notEqual(sent[0]!["id"], sent[1]!["id"]);
  say({ id: sent[1]!["id"], n: 2 });
  say({ id: sent[0]!["id"], n: 1 });
  assert.equal(((await first) as unknown as Message).n, 1);
  assert.equal(((await second) as unknown as Message).n, 2);
});

test("what another view was answered can be overheard", () => {
  const { sent, say, host } = model();
  const [one, two] = [new Wire(host), new Wire(host)];
  const heard: Message[] = [];
  two.on(OVERHEARD, (message) => heard.push(message));
  void one.request("tree.toggle");
  say({ id: sent[0]!["id"], total: 5, index: 1 });
  assert.equal(heard.length, 1);
});

test("a refusal arrives as its sentence", async () => {
  const { sent, say, host } = model();
  const asked = new Wire(host).request("key.show", { path: "x" });
  say({ id: sent[0]!["id"], error: "The set has nothing at 'x'." });
  await assert.rejects(asked, /nothing at 'x'/);
});

test("silence becomes words", async () => {
  const { host } = model();
  await assert.rejects(new Wire(host, 10).request("hello"), /has not answered/);
});

test("buffers come with the answer, events without a question", async () => {
  const { sent, say, host } = model();
  const wire = new Wire(host);
  const seen: Message[] = [];
  wire.on("progress", (message) => seen.push(message));
  const { id, reply } = wire.job("chunk.read", {}, true);
  say({ ev: "progress", id, done: 1 });
  say({ id: sent[0]!["id"] }, [new Float64Array([1.5]).buffer]);
  assert.equal(new Float64Array((await reply).buffers[0]!)[0], 1.5);
  assert.equal(seen.length, 1);
  wire.close();
  say({ ev: "progress", id, done: 2 });
  assert.equal(seen.length, 1);
});

test("a cancel that Python refuses is nobody's failure", async () => {
  const { sent, say, host } = model();
  const wire = new Wire(host);
  const unheard: unknown[] = [];
  const keep = (reason: unknown) => void unheard.push(reason);
  process.on("unhandledRejection", keep);
  wire.cancel("v:1");
  assert.deepEqual({ ...sent[0], id: "" }, { id: "", op: "cancel", job: "v:1" });
  say({ id: sent[0]!["id"], error: "There is no operation 'cancel'." });
  await new Promise((resolve) => setTimeout(resolve));
  process.off("unhandledRejection", keep);
  assert.deepEqual(unheard, []);
});
