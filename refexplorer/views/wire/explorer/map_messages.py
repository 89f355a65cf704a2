"""An array on the map of the earth."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from refexplorer.views.wire.messages import Count, Request
from refexplorer.views.wire.models import ChunkRuns, EstimateModel


class EarthMap(Struct, frozen=True):
    """Where on earth an array is; a mesh of points travels beside it.

    Attributes
    ----------
    state
        ``none``: nothing says where it is. ``offer``: its coordinates are to be read.
    arrays
        The first that have a place.
    grant
        State ``ask``: what `allow` needs.
    estimate
        State ``offer``: what reading the coordinates takes.
    source
        Which coordinates say where it is, in words.
    axes
        The dimensions along which they run: down and across.
    chunks
        Along these, how many values there are in all and in a chunk.
    chunk_runs
        Along these, as in `ReadingModel`.
    """

    array: str
    state: Literal["none", "offer", "ask", "failed", "fetched"]
    message: str | None
    arrays: tuple[str, ...]
    grant: str | None = None
    estimate: EstimateModel | None = None
    source: str | None = None
    axes: tuple[int, int] | None = None
    chunks: tuple[tuple[Count, Count], tuple[Count, Count]] | None = None
    chunk_runs: ChunkRuns | None = None


class EarthShown(Struct, frozen=True):
    """An array on the map of the earth."""

    earth: EarthMap


class ShowEarth(Request, frozen=True, tag="earth.show"):
    """Say where on earth an array is.

    Attributes
    ----------
    array
        Null: the largest that has a place.
    window
        Start and stop along the two dimensions; null: all of them.
    read
        Whether coordinates may be fetched that are not here.
    """

    reply = EarthShown
    is_later = True
    buffers = (
        "If `fetched`: the rows and the columns of a mesh, which are places in the array between "
        "its values, and longitude and latitude of each pair, NaN off the earth; float64."
    )

    array: str | None = None
    window: tuple[tuple[int, int], tuple[int, int]] | None = None
    read: bool = False


class PointFound(Struct, frozen=True):
    """The value whose cell holds a point.

    Attributes
    ----------
    index, key
        Its place in the array, and its chunk; null if no cell holds the point.
    chunks
        How many chunks hold the point, along all other dimensions.
    """

    latitude: float
    longitude: float
    index: tuple[int, ...] | None
    key: str | None
    chunks: Count
    sentence: str


class FindOnEarth(Request, frozen=True, tag="earth.find"):
    """Find the value at a point of the earth.

    Attributes
    ----------
    text
        Such as ``52.5, 13.4`` or ``52.5N 13.4E``.
    index
        Where along the other dimensions; one number for each dimension of the array.
    """

    reply = PointFound
    is_later = True

    array: str
    text: str
    index: tuple[int, ...] = ()


class LandShown(Struct, frozen=True):
    """The coastlines, in this detail."""

    detail: Literal["110m", "50m"]


class ShowLand(Request, frozen=True, tag="earth.land"):
    """Get the land of Natural Earth, generalised for a scale of 1 to 110 or 50 million."""

    reply = LandShown
    is_later = True
    buffers = "TopoJSON of world-atlas."

    detail: Literal["110m", "50m"]
