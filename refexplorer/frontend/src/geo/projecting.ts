/** Projections of the map: what d3-geo draws outlines with, and the same for points of a mesh. */

import {
  geoAzimuthalEqualArea,
  geoEquirectangular,
  geoEquirectangularRaw,
  geoNaturalEarth1,
  geoNaturalEarth1Raw,
  geoOrthographic,
  type GeoProjection,
} from "d3-geo";

export const PROJECTIONS = {
  equirectangular: "equirectangular",
  natural: "Natural Earth",
  orthographic: "globe",
  polar: "equal area (polar)",
} as const;
export type ProjectionName = keyof typeof PROJECTIONS;

/** What is in the middle of the map, degrees, and how often it is larger than the whole. */
export interface EarthView {
  projection: ProjectionName;
  longitude: number;
  latitude: number;
  zoom: number;
}

export interface Size {
  width: number;
  height: number;
}

const RADIANS = Math.PI / 180;
/** Half of the width and of the height of the whole, where one radian is 1. */
const HALVES: Record<ProjectionName, [number, number]> = {
  equirectangular: [Math.PI, Math.PI / 2],
  natural: [geoNaturalEarth1Raw(Math.PI, 0)[0], geoNaturalEarth1Raw(0, Math.PI / 2)[1]],
  orthographic: [1, 1],
  polar: [Math.SQRT2, Math.SQRT2],
};
const MARGIN = 4;
export const DEEPEST = 400;

export function isRound(name: ProjectionName): boolean {
  return name === "orthographic" || name === "polar";
}

/** Pixels of a radian in the middle. */
export function scaleOf({ projection, zoom }: EarthView, { width, height }: Size): number {
  const [across, down] = HALVES[projection];
  return zoom * Math.min((width / 2 - MARGIN) / across, (height / 2 - MARGIN) / down);
}

export function projectionOf(view: EarthView, size: Size): GeoProjection {
  const { projection, longitude, latitude } = view;
  const scale = scaleOf(view, size);
  const middle: [number, number] = [size.width / 2, size.height / 2];
  if (projection === "orthographic")
    return geoOrthographic().rotate([-longitude, -latitude]).scale(scale).translate(middle).clipAngle(90);
  if (projection === "polar")
    return geoAzimuthalEqualArea().rotate([-longitude, -latitude]).scale(scale).translate(middle).clipAngle(90);
  const made = projection === "natural" ? geoNaturalEarth1() : geoEquirectangular();
  return made
    .rotate([-longitude, 0])
    .scale(scale)
    .translate([middle[0], middle[1] + scale * heightOf(projection, latitude)]);
}

/** How far above the equator a latitude is, where one radian is 1. */
function heightOf(projection: ProjectionName, latitude: number): number {
  const raw = projection === "natural" ? geoNaturalEarth1Raw : geoEquirectangularRaw;
  return raw(0, latitude * RADIANS)[1];
}

/** Points of a mesh on the map: `turn` is how far a point moves to the right for a whole turn. */
export interface Placed {
  x: Float64Array;
  y: Float64Array;
  turn: Float64Array | null;
  /** Degrees east of the middle, -180 to 180; of a round map null. */
  east: Float64Array | null;
  /** Of a round map: where it ends, and which points lie behind the earth, which is beyond that: 1 at the rim, 2 farther. */
  disk: { radius: number; hidden: Uint8Array } | null;
}

export function placed(longitude: Float64Array, latitude: Float64Array, view: EarthView, size: Size): Placed {
  return isRound(view.projection)
    ? onDisk(longitude, latitude, view, size)
    : onCylinder(longitude, latitude, view, size);
}

function onCylinder(longitude: Float64Array, latitude: Float64Array, view: EarthView, size: Size): Placed {
  const scale = scaleOf(view, size);
  const top = size.height / 2 + scale * heightOf(view.projection, view.latitude);
  const raw = view.projection === "natural" ? geoNaturalEarth1Raw : geoEquirectangularRaw;
  const [x, y, turn, east] = [0, 1, 2, 3].map(() => new Float64Array(longitude.length)) as [
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  for (let i = 0; i < longitude.length; i++) {
    const [wide, high] = raw(1, latitude[i]! * RADIANS);
    const from = wrapped(longitude[i]! - view.longitude);
    east[i] = from;
    x[i] = size.width / 2 + scale * wide * from * RADIANS;
    y[i] = top - scale * high;
    turn[i] = scale * wide * 2 * Math.PI;
  }
  return { x, y, turn, east, disk: null };
}

function onDisk(longitude: Float64Array, latitude: Float64Array, view: EarthView, size: Size): Placed {
  const scale = scaleOf(view, size);
  const [sine, cosine] = [Math.sin(view.latitude * RADIANS), Math.cos(view.latitude * RADIANS)];
  const isEqual = view.projection === "polar";
  const [x, y] = [new Float64Array(longitude.length), new Float64Array(longitude.length)];
  const hidden = new Uint8Array(longitude.length);
  for (let i = 0; i < longitude.length; i++) {
    const [east, north] = [(longitude[i]! - view.longitude) * RADIANS, latitude[i]! * RADIANS];
    const [up, out] = [Math.sin(north), Math.cos(north)];
    const near = sine * up + cosine * out * Math.cos(east);
    hidden[i] = near < RIM ? 2 : near < 0 ? 1 : 0;
    const factor = scale * (isEqual ? Math.sqrt(2 / Math.max(1e-6, 1 + near)) : near < 0 ? beyond(near) : 1);
    x[i] = size.width / 2 + factor * out * Math.sin(east);
    y[i] = size.height / 2 - factor * (cosine * up - sine * out * Math.cos(east));
  }
  return { x, y, turn: null, east: null, disk: { radius: scale * HALVES[view.projection][0], hidden } };
}

/** Between the sides of cells and the round rim there is room, which the cells behind it fill. */
const RIM = -0.3;

/** Puts a point behind the globe as far outside as it would be inside: a cell at the rim reaches over it, and is cut there. */
function beyond(near: number): number {
  const from = Math.sqrt(Math.max(1e-6, 1 - near * near));
  return (2 - from) / from;
}

/** Longitude between -180 and 180. */
export function wrapped(longitude: number): number {
  return longitude - 360 * Math.floor((longitude + 180) / 360);
}

/** The view after a drag by pixels: what was below the pointer stays there, roughly where the map is bent. */
export function dragged(view: EarthView, [right, down]: [number, number], size: Size): EarthView {
  const degrees = 1 / (scaleOf(view, size) * RADIANS);
  const shrink = isRound(view.projection) ? Math.max(0.2, Math.cos(view.latitude * RADIANS)) : 1;
  return {
    ...view,
    longitude: wrapped(view.longitude - (right * degrees) / shrink),
    latitude: Math.max(-90, Math.min(90, view.latitude + down * degrees)),
  };
}

export function zoomedBy(view: EarthView, factor: number): EarthView {
  return { ...view, zoom: Math.max(1, Math.min(DEEPEST, view.zoom * factor)) };
}

/** The view that holds all points of a mesh: its middle, and as large as its farthest point allows. */
export function fitted(projection: ProjectionName | null, longitude: Float64Array, latitude: Float64Array): EarthView {
  const sum = [0, 0, 0];
  const vectors: number[][] = [];
  const every = Math.max(1, Math.floor(longitude.length / 4000));
  for (let i = 0; i < longitude.length; i += every) {
    const [east, north] = [longitude[i]! * RADIANS, latitude[i]! * RADIANS];
    if (Number.isNaN(east)) continue;
    const vector = [Math.cos(north) * Math.cos(east), Math.cos(north) * Math.sin(east), Math.sin(north)];
    vectors.push(vector);
    // As much as its cell is large, so that a regular grid does not lean to the poles.
    for (let axis = 0; axis < 3; axis++) sum[axis]! += vector[axis]! * Math.max(0.01, Math.cos(north));
  }
  const length = Math.hypot(...sum);
  if (vectors.length === 0 || length < 0.2 * vectors.length * 0.5) {
    return { projection: projection ?? "equirectangular", longitude: 0, latitude: 0, zoom: 1 };
  }
  const middle = sum.map((part) => part / length);
  const far = Math.max(
    ...vectors.map((vector) =>
      Math.acos(Math.max(-1, Math.min(1, vector[0]! * middle[0]! + vector[1]! * middle[1]! + vector[2]! * middle[2]!))),
    ),
  );
  const north = Math.asin(middle[2]!) / RADIANS;
  const isPolar = Math.abs(north) > 60;
  // A disk as a satellite sees it is drawn as one.
  const isDisk = far > Math.PI / 3 && far < 0.55 * Math.PI;
  const chosen = projection ?? (isPolar ? "polar" : isDisk ? "orthographic" : "equirectangular");
  const east = Math.atan2(middle[1]!, middle[0]!) / RADIANS;
  if (!isRound(chosen)) {
    return far > Math.PI / 3
      ? { projection: chosen, longitude: wrapped(east), latitude: 0, zoom: 1 }
      : framed(chosen, east, longitude, latitude);
  }
  const reach = Math.min(far, Math.PI / 2);
  const needed = chosen === "polar" ? 2 * Math.sin(reach / 2) : Math.sin(reach);
  const isPole = Math.abs(north) > 85;
  return {
    projection: chosen,
    longitude: isPole ? 0 : wrapped(east),
    latitude: isPole ? 90 * Math.sign(north) : north,
    zoom: Math.max(1, Math.min(DEEPEST, (0.95 * HALVES[chosen][0]) / needed)),
  };
}

/** The view of a frame around all points, seen from a longitude among them. */
function framed(projection: ProjectionName, east: number, longitude: Float64Array, latitude: Float64Array): EarthView {
  let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < longitude.length; i++) {
    if (Number.isNaN(longitude[i]!)) continue;
    const from = wrapped(longitude[i]! - east);
    [left, right] = [Math.min(left, from), Math.max(right, from)];
    [bottom, top] = [Math.min(bottom, latitude[i]!), Math.max(top, latitude[i]!)];
  }
  const zoom = 0.9 * Math.min(360 / (right - left), 180 / (top - bottom));
  return {
    projection,
    longitude: wrapped(east + (left + right) / 2),
    latitude: (bottom + top) / 2,
    zoom: Math.max(1, Math.min(DEEPEST, zoom)),
  };
}
