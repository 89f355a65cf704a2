import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { pointerOf } from "../../../../refexplorer/frontend/src/text/assistance.ts";
import { series } from "../../../../refexplorer/frontend/src/shared/palette.ts";
import * as Plot from "../../../../refexplorer/frontend/node_modules/@observablehq/plot/src/index.js";
import { escaped } from "../../../../refexplorer/frontend/src/shared/escaping.ts";
import * as format from "../../../../refexplorer/frontend/src/shared/format.ts";

/** What Python writes, too: `test_formats.py` reads the same table. */
const cases = JSON.parse(readFileSync(new URL("../../../cases/formats.json", import.meta.url), "utf8"));

function agree(name: string, write: (...given: never[]) => string): void {
  test(`${name} are those of Python`, () => {
    assert.ok(cases[name].length > 0);
    for (const row of cases[name])
      assert.equal(write(...(row.slice(0, -1) as never[])), row.at(-1), JSON.stringify(row));
  });
}

agree("sizes", format.bytes);
agree("counts", format.counted);
agree("milliseconds", format.milliseconds);
agree("numbers", format.value);
agree("exact", (number: number, type: string, integer: string | null) =>
  format.exact(number, type, integer === null ? undefined : BigInt(integer)),
);
agree("moments", format.moment);
agree("escapes", (text: string) => escaped(text));
agree("pointers", pointerOf);

test("what is no number", () => {
  const found = [NaN, Infinity, -Infinity];
  assert.deepEqual(found.map(format.value), ["NaN", "inf", "-inf"]);
  assert.deepEqual(found.map(format.moment), ["NaT", "NaT", "NaT"]);
});

test("ticks of an axis may be fractions", () => {
  assert.deepEqual([0.25, 2500.5, 1e21].map(format.bytes), ["0.25 B", "2.50 kB", "1,000 EB"]);
});

test("colours are those of Python", () => {
  const found = [...cases.series.keys(), cases.series.length].map((place) => series(place).colour);
  assert.deepEqual(found, [...cases.series, cases.series[0]]);
  assert.equal(series(-1).colour, cases.beside);
  const last = cases.viridis.length - 1;
  const { apply } = Plot.scale({ color: { type: "linear", scheme: "viridis", domain: [0, last] } });
  assert.deepEqual([...cases.viridis.keys()].map(apply), cases.viridis);
});
