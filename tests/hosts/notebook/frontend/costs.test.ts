import assert from "node:assert/strict";
import { test } from "node:test";

import {
  Costs,
  duration,
  placed,
  secondsOf,
  shaded,
  wasteOf,
  type CostsState,
} from "../../../../refexplorer/frontend/src/cost/costs.ts";
import type {
  AccessCost,
  Connection,
  ExplorerWire,
  MergeRules,
  ReaderCost,
  ReadingCosts,
} from "../../../../refexplorer/frontend/src/shared/wire.ts";

const PLACE: Connection = { name: "p", latency: 0.1, stream: 1e6, bandwidth: 4e6, concurrency: null };
const READER: ReaderCost = {
  reader: "zarr",
  requests: 25,
  bytes: 8e6,
  smallest: 1e5,
  largest: 4e5,
  seconds: 99,
  reads: [[25, 8e6, 4e5]],
};

const RULES = [{ name: "zarr", at_once: 10 } as MergeRules];

test("a read waits for its waves, and sends as fast as its lines or the place", () => {
  // three waves of ten, and 8 MB at 4 MB/s
  assert.equal(Number(secondsOf(READER, RULES, PLACE)!.toFixed(9)), 0.3 + 2);
  // two at a time: thirteen waves, 8 MB at 2 MB/s
  assert.equal(Number(secondsOf(READER, RULES, { ...PLACE, concurrency: 2 })!.toFixed(9)), 1.3 + 4);
  // a single request is no faster than its line
  assert.equal(secondsOf({ ...READER, reads: [["1", "3000000", "3000000"]] }, RULES, { ...PLACE, latency: 0 }), 3);
});

test("reads follow each other; of those that are not told the time stays", () => {
  const twice: ReaderCost = {
    ...READER,
    reads: [
      [1, 0, 0],
      [1, 0, 0],
    ],
  };
  assert.equal(secondsOf(twice, RULES, PLACE), 0.2);
  assert.equal(secondsOf({ ...READER, reads: [] }, RULES, PLACE), 0);
  assert.equal(secondsOf({ ...READER, reads: null }, RULES, PLACE), 99);
});

test("times are short", () => {
  const shown = [0, 0.0312, 0.9999, 4.25, 99.6, 7200].map(duration);
  assert.deepEqual(shown, ["0 s", "31 ms", "1 s", "4.3 s", "2 min", "2 h"]);
});

test("waste is told where both sizes are known", () => {
  const bar = { used: 1, decoded: "4" } as AccessCost;
  assert.equal(wasteOf(bar), 0.75);
  assert.equal(wasteOf({ ...bar, used: null }), null);
  assert.equal(wasteOf({ ...bar, decoded: 0 }), null);
});

test("an address says what was chosen, and brings it back", () => {
  const asked: [string, unknown][] = [];
  const wire = {
    on: () => () => undefined,
    job: (op: string, fields: unknown) => {
      asked.push([op, fields]);
      return { id: "1", reply: new Promise(() => undefined) };
    },
  } as unknown as ExplorerWire;
  const costs = new Costs(wire);
  assert.equal(costs.text, "");
  costs.set({ place: "lustre", latency: 0.25, bandwidth: 1234567.89, given: "0, 10:20", access: "as given" });
  const text = costs.text;
  assert.equal(text, "place=lustre&given=0%2C+10%3A20&access=as+given&latency=0.25&bandwidth=1234570");
  const other = new Costs(wire);
  other.restore(text);
  assert.equal(other.text, text);
  assert.deepEqual(asked, [], "nothing is counted before the cost is looked at");
  other.restore("place=lustre&latency=quick&bandwidth=-1");
  assert.deepEqual(
    [other.state.latency, other.state.bandwidth, other.state.place, other.state.given],
    [null, null, "lustre", ""],
  );
  other.change({});
  other.restore("latency=1");
  assert.deepEqual(
    asked.map(([op]) => op),
    ["cost.show"],
  );
  for (const each of [costs, other]) each.close();
});

test("one request is as much slower as all together", () => {
  const cost = { places: [PLACE] } as ReadingCosts;
  const state = { cost, place: "p", latency: 0.2, bandwidth: 2e6 } as CostsState;
  assert.equal(placed(state)!.stream, 5e5);
  assert.equal(placed({ ...state, bandwidth: 4e6 })!.stream, 1e6);
});

test("the chunks are shaded along the first dimension until another access is chosen", () => {
  const bars = ["open", "one slice", "along the first dimension", "all of it"].map((name) => ({
    name,
    path: name === "open" ? "" : "x",
  }));
  const state = { cost: { array: "x", bars }, array: null, access: "", given: "" } as unknown as CostsState;
  assert.equal(shaded(state), "along the first dimension");
  assert.equal(shaded({ ...state, access: "all of it" }), "all of it");
  assert.equal(shaded({ ...state, access: "one time series" }), "along the first dimension");
  assert.equal(shaded({ ...state, access: "as given", given: "0" }), "as given");
  assert.equal(shaded({ ...state, array: "other" }), null);
  assert.equal(shaded({ ...state, cost: null }), null);
});
