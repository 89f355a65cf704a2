"""Map of the earth and two parts side by side where no script runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from refexplorer.markup import shown
from refexplorer.views.beside.beside_controller import BesideController
from refexplorer.views.geo.map_controller import MapController
from refexplorer.views.maps.chunk_map import ChunkMap
from refexplorer.views.preview.reader import PreviewReader
from refexplorer.views.snapshots import pictures
from refexplorer.views.snapshots.earth_pictures import earth_map
from refexplorer.views.snapshots.explorer_snapshot import reading_html

if TYPE_CHECKING:
    from refexplorer.views.snapshots.explorer_snapshot import SnapshotExplorer
    from refexplorer.views.wire.explorer.map_messages import EarthMap

_NAME = 160


def map_section(controller: SnapshotExplorer) -> str:
    """Return the array that was last on the map, with its values if they are the last read."""
    if (last := controller.part(MapController).last) is None:
        return ""
    earth, mesh = last
    if earth.axes is None or earth.chunks is None:
        return ""
    (rows, down), (columns, across) = ((int(size), int(chunk)) for size, chunk in earth.chunks)
    found = _values(controller, earth) or _states(controller, earth)
    inks, step, said = found or (np.full((1, 1, 3), pictures.PAPER), (rows, columns), "outlines")
    picture = earth_map(mesh, (down, across), inks, step)
    words = f"{earth.array or '/'} on the map of the earth: {said}"
    return (
        f"<p>{shown(words, _NAME)}, with coastlines and the edges of chunks of {down:,} "
        f"\N{MULTIPLICATION SIGN} {across:,} values. {shown(earth.source or '')}<br>"
        f"{pictures.element(picture, words)}</p>"
    )


_Drawn = tuple[np.ndarray, tuple[int, int], str]


def _values(controller: SnapshotExplorer, earth: EarthMap) -> _Drawn | None:
    """Return the colours of the values, if all rows and columns of the array were read."""
    last = controller.part(PreviewReader).last
    if last is None or last[1] is None or earth.axes is None or earth.chunks is None:
        return None
    reading, buffer = last
    if reading.array != earth.array or reading.minimum is None or reading.maximum is None:
        return None
    sides = [reading.region[axis] for axis in earth.axes]
    is_whole = all(
        start == 0 and stop >= size
        for (start, stop, _), (size, _) in zip(sides, earth.chunks, strict=True)
    )
    if not is_whole:
        return None
    values = np.frombuffer(buffer or b"", "<f8").reshape(reading.shape)
    first = tuple(slice(None) if axis in earth.axes else 0 for axis in range(values.ndim))
    part = values[first]
    if earth.axes[0] > earth.axes[1]:
        part = part.T
    inks = pictures.inks_of(part, reading.minimum, reading.maximum)
    return inks, (sides[0][2], sides[1][2]), f"values of {', '.join(reading.slices)}"


def _states(controller: SnapshotExplorer, earth: EarthMap) -> _Drawn | None:
    """Return the colours of chunks with and without a reference, if their map is of the same."""
    last = controller.part(ChunkMap).last
    if last is None or earth.chunks is None:
        return None
    grid, buffers = last
    is_whole = all(
        start == 0 and stop == size
        for (start, stop), size in zip(grid.window, grid.grid, strict=True)
    )
    if grid.array != earth.array or grid.axes != earth.axes or not is_whole:
        return None
    counts = np.frombuffer(buffers[0], "<f8").reshape(-1, grid.rows, grid.columns)
    inks = np.full((grid.rows, grid.columns, 3), pictures.colour(0))
    inks[~counts[1:].any(0)] = pictures.PAPER
    inks[counts[-1] > 0] = pictures.FAILED
    down, across = (
        int(step) * int(chunk) for step, (_, chunk) in zip(grid.steps, earth.chunks, strict=True)
    )
    return inks, (down, across), "chunks with a reference blue, without one grey, failed red"


def beside_section(controller: SnapshotExplorer) -> str:
    """Return the two parts that were read last, and their difference."""
    if (last := controller.part(BesideController).last) is None:
        return ""
    read, buffers = last
    sides = zip(("Left", "Right"), (read.left, read.right), buffers, strict=False)
    parts = [
        f"<p><b>{name}</b></p>{reading_html(side, data or None)}" for name, side, data in sides
    ]
    if read.low is not None and read.high is not None:
        far = max(abs(read.low), abs(read.high))
        gap = reading_html(read.left, buffers[2], (-far, far))
        parts.append(f"<p><b>Difference</b>, {read.low:g} to {read.high:g}</p>{gap}")
    return f"{''.join(parts)}<p>{shown(read.said)}</p>"
