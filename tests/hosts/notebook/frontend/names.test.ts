import assert from "node:assert/strict";
import { test } from "node:test";

import { apart, common, isAlike } from "../../../../refexplorer/frontend/src/maps/intervals.ts";

function cut(names: string[]): string[] {
  const shared = common(names);
  return names.map((name) => apart(name, shared));
}

test("names lose what all of them begin with, up to a mark", () => {
  const months = [1, 2, 3].map((month) => `sea_surface_temperature_2000-0${month}.nc`);
  assert.deepEqual(cut(months), ["…2000-01.nc", "…2000-02.nc", "…2000-03.nc"]);
  assert.deepEqual(cut(months.slice(1)), months.slice(1));
});

test("what is left of a name still names it", () => {
  const numbered = [0, 1, 2].map((number) => `a-chunk-of-the-archive-${number}`);
  assert.deepEqual(cut(numbered), ["…archive-0", "…archive-1", "…archive-2"]);
});

test("short hosts stay whole, long ones are cut, and folders are cut between folders", () => {
  const hosts = [0, 1, 2].map((number) => `s3://era5-archive-${number}`);
  assert.deepEqual(cut(hosts), hosts);
  const regions = [0, 1, 2].map((number) => `https://noaa-goes16-region-0${number}.s3.amazonaws.com`);
  assert.deepEqual(cut(regions)[1], "…01.s3.amazonaws.com");
  const years = [2000, 2001, 2002].map((year) => `s3://archive/monthly/${year}`);
  assert.deepEqual(cut(years), ["…monthly/2000", "…monthly/2001", "…monthly/2002"]);
});

test("names that end alike are told, so that they are cut there", () => {
  const hours = [1, 2].map((hour) => `20230101${hour}00_FIN-ACRR24H-3067-1KM.tif`);
  assert.equal(isAlike(hours), true);
  assert.equal(isAlike(["sst_2000.nc", "sst_2001.nc"]), false);
  assert.equal(isAlike(hours.slice(1)), false);
});
