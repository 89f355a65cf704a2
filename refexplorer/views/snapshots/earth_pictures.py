"""The map of the earth as an image: cells by value or chunks by state, with coastlines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from PIL import Image, ImageDraw

from refexplorer.data.earth.places import Mesh
from refexplorer.views.geo.land import land
from refexplorer.views.snapshots.pictures import PAPER, WIDTH

_TALLEST = 360
_DENSE = 3 * WIDTH // 2
"""Points along each side of an array, so that each pixel has one."""
_GAP = 30
"""Degrees without a value from which on a map is of a part of the earth."""
_LEAST = 2.0
"""Degrees of a map at least."""
_INK, _EDGE = (40, 44, 52), (110, 110, 110)

_HOLE = 2
"""Pixels that are filled in a row, where cells are large at the edge of a disk."""

Inks = np.ndarray
"""Red, green and blue of each row and column."""


@dataclass(frozen=True)
class _MapFrame:
    """Degrees of the left and the upper side of a map, and pixels of a degree."""

    west: float
    north: float
    scale: float
    width: int
    height: int

    def pixels(self, longitude: np.ndarray, latitude: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where points are, from left and from above."""
        return (longitude - self.west) % 360 * self.scale, (self.north - latitude) * self.scale


def earth_map(
    mesh: Mesh, chunks: tuple[int, int], inks: Inks, step: tuple[int, int]
) -> Image.Image:
    """Draw an array, equirectangular, north above.

    Parameters
    ----------
    mesh
        Where its cells are.
    chunks
        Rows and columns of a chunk, around which lines are drawn.
    inks
        The colours, shape ``(rows, columns, 3)``.
    step
        Rows and columns of the array that share a colour.
    """
    rows, columns, longitude, latitude = _dense(mesh)
    frame = _frame(longitude, latitude)
    is_there = np.isfinite(longitude)
    x, y = (each[is_there].astype(int) for each in frame.pixels(longitude, latitude))
    x, y = np.clip(x, 0, frame.width - 1), np.clip(y, 0, frame.height - 1)
    row, column = (np.full((frame.height, frame.width), -1) for _ in "rc")
    down, across = (
        each[is_there].astype(int) for each in np.meshgrid(rows, columns, indexing="ij")
    )
    row[y, x], column[y, x] = down, across
    _fill(row, column)
    pixels = np.full((frame.height, frame.width, 3), PAPER, np.uint8)
    has = row >= 0
    places = [
        np.minimum(at[has] // by, size - 1)
        for at, by, size in zip((row, column), step, inks.shape, strict=False)
    ]
    pixels[has] = inks[places[0], places[1]]
    pixels[_edges(row // chunks[0], column // chunks[1], has)] = _EDGE
    picture = Image.fromarray(pixels, "RGB")
    draw = ImageDraw.Draw(picture)
    for line in _coast():
        for part in _drawn(frame, line):
            draw.line(part, fill=_INK)
    draw.rectangle([0, 0, frame.width - 1, frame.height - 1], outline=_EDGE)
    return picture


def _fill(row: np.ndarray, column: np.ndarray) -> None:
    """Give pixels that no point fell into the cell beside them, if they are between two."""
    for _ in range(_HOLE):
        for axis in (0, 1):
            before, after = (np.roll(row, by, axis) >= 0 for by in (1, -1))
            is_hole = (row < 0) & before & after
            for side in (row, column):
                side[is_hole] = np.roll(side, 1, axis)[is_hole]


def _dense(mesh: Mesh) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return points between those of a mesh: rows, columns, and the places of each pair."""
    shape = len(mesh.rows), len(mesh.columns)
    east, north = (np.radians(each).reshape(shape) for each in (mesh.longitude, mesh.latitude))
    # vectors, so that the dateline and the poles are places as all others
    found = np.stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)])
    sides = []
    for axis, places in ((1, mesh.rows), (2, mesh.columns)):
        dense = np.linspace(places[0], places[-1], _DENSE, endpoint=False)
        dense += (dense[1] - dense[0]) / 2
        at = np.clip(np.searchsorted(places, dense, "right") - 1, 0, len(places) - 2)
        share = (dense - places[at]) / (places[at + 1] - places[at])
        share = share[:, None] if axis == 1 else share
        found = np.take(found, at, axis) * (1 - share) + np.take(found, at + 1, axis) * share
        sides.append(dense)
    longitude = np.degrees(np.arctan2(found[1], found[0]))
    latitude = np.degrees(np.arctan2(found[2], np.hypot(found[0], found[1])))
    return sides[0], sides[1], longitude, latitude


def _frame(longitude: np.ndarray, latitude: np.ndarray) -> _MapFrame:
    """Return the map that holds all points."""
    east = np.unique(np.round(longitude[np.isfinite(longitude)] % 360, 2))
    gaps = np.diff([*east, east[0] + 360])
    after = int(gaps.argmax())
    is_part = gaps[after] > _GAP
    west = float(east[(after + 1) % len(east)]) if is_part else -180.0
    across = max(360 - float(gaps[after]), _LEAST) if is_part else 360.0
    north, south = float(np.nanmax(latitude)), float(np.nanmin(latitude))
    down = max(north - south, _LEAST)
    scale = min(WIDTH / across, _TALLEST / down)
    return _MapFrame(west, north, scale, max(8, round(across * scale)), max(8, round(down * scale)))


def _edges(down: np.ndarray, across: np.ndarray, has: np.ndarray) -> np.ndarray:
    """Return where a chunk begins to the right of another or below it."""
    found = np.zeros(has.shape, bool)
    for axis in (0, 1):
        here, before = (
            tuple(part if each == axis else slice(None) for each in (0, 1))
            for part in (slice(1, None), slice(None, -1))
        )
        is_other = (down[here] != down[before]) | (across[here] != across[before])
        found[here] |= is_other & has[here] & has[before]
    return found


@cache
def _coast() -> list[np.ndarray]:
    """Return the lines of the coast: longitudes and latitudes."""
    topology = json.loads(land("110m"))
    scale, translate = (np.array(topology["transform"][name]) for name in ("scale", "translate"))
    return [(np.cumsum(arc, axis=0) * scale + translate).T for arc in topology["arcs"]]


def _drawn(frame: _MapFrame, line: np.ndarray) -> Iterator[list[tuple[float, float]]]:
    """Yield the parts of a line that no side of the map cuts."""
    x, y = frame.pixels(*line)
    cuts = np.flatnonzero(np.abs(np.diff(x)) > 180 * frame.scale) + 1
    for across, down in zip(np.split(x, cuts), np.split(y, cuts), strict=True):
        if len(across) > 1:
            yield list(zip(across.tolist(), down.tolist(), strict=True))
