import assert from "node:assert/strict";
import { test } from "node:test";

import { earthState, earthText } from "../../../../refexplorer/frontend/src/geo/earth.ts";
import {
  fitted,
  placed,
  PROJECTIONS,
  projectionOf,
  scaleOf,
  wrapped,
  type EarthView,
  type ProjectionName,
} from "../../../../refexplorer/frontend/src/geo/projecting.ts";
import { cellAt, coarsest, inView, rasterOf, type EarthMesh } from "../../../../refexplorer/frontend/src/geo/raster.ts";

const SIZE = { width: 720, height: 360 };
const NAMES = Object.keys(PROJECTIONS) as ProjectionName[];
const VIEWS: Omit<EarthView, "projection">[] = [
  { longitude: 0, latitude: 0, zoom: 1 },
  { longitude: 179, latitude: 40, zoom: 2 },
  { longitude: -75, latitude: -80, zoom: 1.5 },
];

/** The mesh of a grid of the whole earth, whose first column begins half a step west of a longitude. */
function mesh(rows: number, columns: number, first: number, upward: boolean): EarthMesh {
  const along = (count: number) => Float64Array.from({ length: count * 4 + 1 }, (_, i) => i / 4);
  const [down, across] = [along(rows), along(columns)];
  const longitude = new Float64Array(down.length * across.length);
  const latitude = new Float64Array(down.length * across.length);
  down.forEach((row, i) => {
    across.forEach((column, j) => {
      longitude[i * across.length + j] = first + (360 / columns) * (column - 0.5);
      latitude[i * across.length + j] = (upward ? -1 : 1) * (90 - (180 / rows) * row);
    });
  });
  return { rows: down, columns: across, longitude, latitude };
}

/** Where a round map ends. */
function rim(view: EarthView): number {
  return (
    { orthographic: 1, polar: Math.SQRT2, equirectangular: Infinity, natural: Infinity }[view.projection] *
    scaleOf(view, SIZE)
  );
}

test("points of a mesh are where d3-geo has them", () => {
  for (const projection of NAMES) {
    for (const each of VIEWS) {
      const view = { ...each, projection };
      const project = projectionOf(view, SIZE);
      for (const [longitude, latitude] of [
        [13.4, 52.5],
        [-122.4, 37.8],
        [178, -18],
        [-60, -89],
      ] as const) {
        const { x, y, disk } = placed(Float64Array.of(longitude), Float64Array.of(latitude), view, SIZE);
        if (disk?.hidden[0]) continue; // on the other side of the earth
        const [right, down] = project([longitude, latitude])!;
        assert.ok(Math.hypot(right - x[0]!, down - y[0]!) < 1e-6, `${projection} ${longitude} ${latitude}`);
      }
    }
  }
});

for (const [name, first, upward] of [
  ["0 to 350 from the north", 0, false],
  ["-180 to 170 from the south", -180, true],
  ["40 to 390", 40, false],
] as const) {
  test(`each pixel shows the cell of its place: ${name}`, () => {
    const [rows, columns] = [18, 36];
    const points = mesh(rows, columns, first, upward);
    let seen = 0;
    for (const projection of NAMES) {
      for (const each of VIEWS) {
        const view = { ...each, projection };
        const project = projectionOf(view, SIZE);
        const raster = rasterOf(points, placed(points.longitude, points.latitude, view, SIZE), SIZE, 1);
        for (let x = 5.5; x < SIZE.width; x += 23) {
          for (let y = 5.5; y < SIZE.height; y += 17) {
            const found = project.invert!([x, y])!;
            const back = project(found)!;
            if (!found.every(Number.isFinite) || Math.abs(found[1]) > 90 || Math.hypot(back[0] - x, back[1] - y) > 1e-3)
              continue;
            if (Math.hypot(x - SIZE.width / 2, y - SIZE.height / 2) > rim(view)) continue;
            const row = ((90 - (upward ? -1 : 1) * found[1]) / 180) * rows;
            const column = (((found[0] - first + 5 + 720) % 360) / 360) * columns;
            // Between two cells either is right: a quad of the mesh has straight sides.
            if ([row, column].some((at) => Math.abs(at - Math.round(at)) < 0.12)) continue;
            const cell = cellAt(raster, [x, y], 1);
            assert.deepEqual(cell, [Math.floor(row), Math.floor(column)], `${projection} ${found}`);
            seen++;
          }
        }
      }
    }
    assert.ok(seen > 3000, String(seen));
  });
}

test("a round map is filled up to its rim, and not beyond", () => {
  const points = mesh(9, 18, 0, false);
  for (const projection of ["orthographic", "polar"] as const) {
    const view: EarthView = { projection, longitude: 33, latitude: 21, zoom: 1 };
    const raster = rasterOf(points, placed(points.longitude, points.latitude, view, SIZE), SIZE, 1);
    const radius = SIZE.height / 2 - 4;
    raster.row.forEach((row, pixel) => {
      const from = Math.hypot(
        (pixel % SIZE.width) + 0.5 - SIZE.width / 2,
        Math.floor(pixel / SIZE.width) + 0.5 - SIZE.height / 2,
      );
      assert.equal(row >= 0, from <= radius, `${projection} ${from}`);
    });
  }
});

test("a cell of which one corner is off the earth is cut", () => {
  const points = mesh(2, 2, 0, false);
  points.latitude[0] = NaN;
  const view: EarthView = { projection: "equirectangular", longitude: 0, latitude: 0, zoom: 1 };
  const raster = rasterOf(points, placed(points.longitude, points.latitude, view, SIZE), SIZE, 1);
  assert.equal(cellAt(raster, [190, 6], 1), null);
  assert.deepEqual(cellAt(raster, [222, 44], 1), [0, 0]);
  assert.deepEqual(coarsest({ ...points, rows: Float64Array.of(0, 21, 40), columns: Float64Array.of(0, 8) }), [21, 8]);
});

test("beside the earth and where the mesh has no place there is no cell", () => {
  const points = mesh(18, 36, 0, false);
  points.latitude.fill(NaN, 0, points.latitude.length / 2);
  const view: EarthView = { projection: "equirectangular", longitude: 0, latitude: 0, zoom: 1 };
  const raster = rasterOf(points, placed(points.longitude, points.latitude, view, SIZE), SIZE, 1);
  assert.equal(cellAt(raster, [300, 20], 1), null);
  assert.deepEqual(cellAt(raster, [361, 350], 1), [17, 0]);
  assert.equal(cellAt(raster, [-3, 20], 1), null);
});

test("the first view holds the array, also over the dateline and a pole", () => {
  const of = (longitudes: number[], latitudes: number[]) => {
    const pairs = longitudes.flatMap((longitude) => latitudes.map((latitude) => [longitude, latitude] as const));
    return fitted(
      null,
      Float64Array.from(pairs, ([longitude]) => longitude),
      Float64Array.from(pairs, ([, latitude]) => latitude),
    );
  };
  const whole = mesh(18, 36, 0, false);
  assert.deepEqual(fitted(null, whole.longitude, whole.latitude), {
    projection: "equirectangular",
    longitude: 0,
    latitude: 0,
    zoom: 1,
  });
  const fiji = of([170, 175, 180, -175, -170], [-25, -20, -15]);
  assert.equal(fiji.projection, "equirectangular");
  assert.ok(Math.abs(Math.abs(fiji.longitude) - 180) < 1e-6);
  assert.equal(Math.round(fiji.latitude), -20);
  assert.ok(fiji.zoom > 10);
  const arctic = of([0, 60, 120, 180, 240, 300], [70, 80, 90]);
  assert.deepEqual([arctic.projection, arctic.latitude, arctic.longitude], ["polar", 90, 0]);
});

test("what is in view is part of the array", () => {
  const points = mesh(18, 36, 0, false);
  const spans = (view: EarthView) =>
    inView(rasterOf(points, placed(points.longitude, points.latitude, view, SIZE), SIZE, 1));
  assert.deepEqual(spans({ projection: "natural", longitude: 30, latitude: 0, zoom: 1 }), [
    [0, 18],
    [0, 36],
  ]);
  // 45 degrees across and 22.5 down around 60 E, 40 N
  assert.deepEqual(spans({ projection: "equirectangular", longitude: 60, latitude: 40, zoom: 8 }), [
    [3, 7],
    [4, 9],
  ]);
  points.latitude.fill(NaN);
  assert.equal(spans({ projection: "equirectangular", longitude: 0, latitude: 0, zoom: 1 }), null);
});

test("a longitude is between -180 and 180", () => {
  assert.deepEqual([190, -190, 540, 180, 0, 359].map(wrapped), [-170, 170, -180, -180, 0, -1]);
});

test("a view goes through an address", () => {
  const seen = {
    view: { projection: "polar" as const, longitude: -45.25, latitude: 90, zoom: 3.5 },
    footprints: "file" as const,
  };
  assert.deepEqual(earthState(earthText(seen)), seen);
  assert.deepEqual(earthState(earthText({ view: null, footprints: "none" })), { view: null, footprints: "none" });
  for (const text of ["", "flat,1,2,3", "polar,x,2,3", "polar,1,2"]) assert.equal(earthState(text).view, null);
  assert.equal(earthState("polar,1,200,1e9").view!.latitude, 90);
});
