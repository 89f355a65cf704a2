import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";

import {
  draftOf,
  forgetDraft,
  forgetDrafts,
  keepDraft,
  type Opened,
} from "../../../../refexplorer/frontend/src/editor/drafts.ts";
import { fragmentOf, LARGEST, linkedBy, LONGEST } from "../../../../refexplorer/frontend/src/editor/links.ts";
import { EditorSession } from "../../../../refexplorer/frontend/src/editor/session.ts";
import type { Host, Message } from "../../../../refexplorer/frontend/src/shared/host.ts";

const TEXT = '{"version": 1, "templates": {"u": "s3://bucket/ü☃𝒳"}, "refs": {"a&b=c#d": ["{{u}}/f", 1, 2]}}\n';
const packed = (bytes: Uint8Array | string) => deflateRawSync(bytes).toString("base64url");

test("a link gives back its exercise and its text", async () => {
  for (const linked of [
    { exercise: null, text: TEXT },
    { exercise: "07-first-gen", text: TEXT },
    { exercise: "of my own & more", text: null },
    { exercise: null, text: "" },
  ]) {
    const fragment = await fragmentOf(linked);
    assert.match(fragment, /^#[A-Za-z0-9_.+%&=-]+$/);
    assert.deepEqual(await linkedBy(fragment), linked);
  }
  assert.equal(await linkedBy(""), null);
  assert.equal(await linkedBy("#elsewhere"), null);
});

test("what would be cut on its way is refused with a sentence", async () => {
  const noise = Array.from({ length: 40_000 }, () => Math.random().toString(36)[2]).join("");
  await assert.rejects(fragmentOf({ exercise: null, text: noise }), /^Error: The link would have .* save the text/);
  await assert.rejects(
    fragmentOf({ exercise: null, text: "a".repeat(LARGEST + 1) }),
    /^Error: The text has 1,000,001 bytes/,
  );
  assert.ok((await fragmentOf({ exercise: null, text: "a".repeat(LARGEST) })).length < LONGEST);
});

test("a link of a stranger is bounded, and gives a sentence where it is no text", async () => {
  const bomb = deflateRawSync(Buffer.alloc(20 * LARGEST), { level: 9 }).toString("base64url");
  assert.ok(bomb.length < LONGEST);
  const cases: [string, RegExp][] = [
    [`#text=${bomb}`, /text of the link has more than the 1,000,000 bytes/],
    [`#text=${"A".repeat(LONGEST)}`, /at most 30,000 are allowed/],
    ["#text=%%%", /cannot be unpacked. It was cut/],
    [`#text=${packed(TEXT).slice(0, -9)}`, /cannot be unpacked. It was cut/],
    [`#text=${packed(Uint8Array.of(0xff, 0xfe, 0x00))}`, /does not contain text. It was cut/],
  ];
  for (const [fragment, sentence] of cases) await assert.rejects(linkedBy(fragment), sentence, fragment.slice(0, 40));
});

class Kept implements Storage {
  [name: string]: unknown;
  readonly kept = new Map<string, string>();
  private readonly room: number;
  constructor(room: number) {
    this.room = room;
  }
  get length() {
    return this.kept.size;
  }
  clear() {
    this.kept.clear();
  }
  key(at: number) {
    return [...this.kept.keys()][at] ?? null;
  }
  getItem(name: string) {
    return this.kept.get(name) ?? null;
  }
  removeItem(name: string) {
    this.kept.delete(name);
  }
  setItem(name: string, text: string) {
    const others = [...this.kept].filter(([each]) => each !== name).reduce((sum, [, each]) => sum + each.length, 0);
    if (others + text.length > this.room) throw new DOMException("", "QuotaExceededError");
    this.kept.set(name, text);
  }
}

function browser(room: number | null, hash = ""): { session: Kept; local: Kept } {
  const kept = { session: new Kept(room ?? 0), local: new Kept(room ?? 0) };
  const refused = () => {
    throw new DOMException("", "SecurityError");
  };
  Object.defineProperty(globalThis, "sessionStorage", {
    configurable: true,
    get: () => (room === null ? refused() : kept.session),
  });
  Object.defineProperty(globalThis, "localStorage", {
    configurable: true,
    get: () => (room === null ? refused() : kept.local),
  });
  const place = { hash, origin: "http://h", pathname: "/p", search: "?token=secret" };
  Object.defineProperty(globalThis, "location", { configurable: true, value: place });
  Object.defineProperty(globalThis, "history", {
    configurable: true,
    value: { replaceState: (_: unknown, __: string, url: string) => (place.hash = new URL(url, "http://h").hash) },
  });
  for (const name of ["addEventListener", "removeEventListener"])
    Object.defineProperty(globalThis, name, { configurable: true, value: () => undefined });
  return kept;
}

const opened = (document: string, more = {}) => ({ document, window: null, ...more }) as Opened;

test("each text has its draft, the oldest make room, and all can be forgotten", () => {
  const { session, local } = browser(5000);
  keepDraft(opened("a"), "mine");
  keepDraft(opened("b"), "also mine");
  session.clear(); // another tab, or another day
  assert.equal(draftOf(opened("a")), "mine");
  assert.equal(draftOf(opened("b")), "also mine");
  assert.equal(draftOf(opened("c")), null);
  assert.equal(draftOf(opened("b", { linked: true, task: { name: "b" } })), null);
  forgetDraft(opened("b"));
  assert.equal(draftOf(opened("b")), null);
  keepDraft(opened("b"), "again");
  keepDraft(opened("c"), "x".repeat(4850));
  assert.equal(draftOf(opened("a")), null);
  assert.equal(draftOf(opened("c"))?.length, 4850);
  keepDraft(opened("d"), "y".repeat(6000)); // no room even alone: the others had to go, and nothing fails
  assert.equal(draftOf(opened("d")), null);
  local.setItem("others", "stay");
  keepDraft(opened("e"), "e");
  forgetDrafts();
  assert.deepEqual([...local.kept.values()].sort(), ["[]", "stay"]);
});

test("two tabs on one text keep each its own", () => {
  const { session } = browser(5000);
  keepDraft(opened("a"), "of this tab");
  const own = new Map(session.kept);
  session.clear();
  keepDraft(opened("a"), "of the other tab");
  session.kept.clear();
  for (const [name, text] of own) session.setItem(name, text);
  assert.equal(draftOf(opened("a")), "of this tab");
});

async function until(isSo: () => boolean) {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve));
}

/** The editor on a page whose Python takes every text. */
async function editor(names: string[] = []) {
  const asked: Message[] = [];
  let document = "{}";
  let name = names[0];
  const listeners = new Set<(message: Message, buffers: ArrayBuffer[]) => void>();
  const state = () => ({
    version: asked.length,
    good: true,
    form: "V1",
    shown: 0,
    total: 0,
    window: null,
    wrap: null,
    document,
    exercises: names.map((each) => ({ name: each })),
    ...(name === undefined ? {} : { task: { name }, result: { passed: false }, solved: [], shown_solutions: [] }),
  });
  const host: Host = {
    place: "page",
    isMain: true,
    get: () => undefined,
    set: () => undefined,
    send: (message) => {
      asked.push(message);
      if (message["op"] === "exercise") name = String(message["name"]);
      if (["exercise", "restart"].includes(String(message["op"]))) document = `start of ${name}`;
      const answer = {
        ...state(),
        ...(message["op"] === "text" ? { document: "{}" } : {}),
        ...(message["op"] === "notes" ? { notes: [] } : {}),
      };
      if (message["op"] === "edit") document = String(message["document"]);
      queueMicrotask(() => {
        for (const listener of listeners) listener({ id: message["id"], ...answer }, []);
      });
    },
    onChange: () => () => undefined,
    onMessage: (callback) => {
      listeners.add(callback);
      return () => listeners.delete(callback);
    },
    child: () => Promise.resolve(null),
  };
  const session = new EditorSession(host);
  const settle = () => until(() => !session["busy"]);
  await until(() => session.state.help !== null || session.state.failure !== null);
  await settle();
  const edits = () => asked.filter(({ op }) => op === "edit").map(({ document: text, given }) => [text, given]);
  return { session, edits, settle };
}

test("a link takes the place of the text, and what is written over it is kept for it alone", async () => {
  browser(1e6, await fragmentOf({ exercise: null, text: TEXT }));
  const first = await editor();
  assert.equal(first.session.document, TEXT);
  assert.equal(first.session.state.origin?.leads, "link");
  assert.deepEqual(first.edits(), [[TEXT, true]]);
  first.session.edited("my own");
  await first.settle();
  first.session.close();
  const again = await editor();
  assert.equal(again.session.document, "my own");
  assert.deepEqual(again.edits(), [["my own", false]]);
  assert.equal(again.session.state.origin?.leads, "draft");
  await again.session.goBack();
  assert.equal(again.session.document, TEXT);
  await again.settle();
  await again.session.goBack();
  assert.equal(again.session.document, "{}");
  assert.equal(location.hash, "");
  assert.equal(again.session.state.origin, null);
  const link = await again.session.link();
  assert.match(link, /^http:\/\/h\/p\?view=editor#text=/); // and no token
  assert.deepEqual(await linkedBy(link.slice(link.indexOf("#"))), { exercise: null, text: "{}" });
  again.session.close();
});

test("a link opens an exercise, and says what it cannot", async () => {
  browser(1e6, await fragmentOf({ exercise: "two", text: null }));
  const untouched = await editor(["one", "two"]);
  assert.equal(untouched.session.document, "start of two");
  assert.equal(untouched.session.state.origin, null);
  assert.equal(await untouched.session.link(), "http://h/p?view=exercises#exercise=two");
  untouched.session.close();
  browser(1e6, "#exercise=two&text=%%%");
  const broken = await editor(["one", "two"]);
  assert.match(broken.session.state.origin!.sentence, /cannot be unpacked/);
  assert.equal(broken.session.state.origin!.leads, null);
  assert.equal(broken.session.state.task, undefined);
  assert.equal(broken.session.document, "{}");
  broken.session.close();
  browser(null, await fragmentOf({ exercise: null, text: TEXT }));
  const refused = await editor();
  assert.equal(refused.session.document, TEXT);
  refused.session.edited("goes on");
  await refused.settle();
  assert.deepEqual(refused.edits().at(-1), ["goes on", false]);
  refused.session.close();
  const tasks = await editor(["one"]); // a text without an exercise is for the editor
  assert.equal(tasks.session.document, "{}");
  tasks.session.close();
});
