"""The cost of a read, known without a request."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from refexplorer.data.access.urls import Place, protocol_of
from refexplorer.data.decode.chunk_arithmetic import chunks_along
from refexplorer.data.fetch.ranges import Wanted, merged
from refexplorer.errors import LimitError, RefexplorerError
from refexplorer.markup import size_text
from refexplorer.masking import masks_repr
from refexplorer.refset.queries.internals import SetLike
from refexplorer.spec.core.references import Base64, Inline, Range, Url

if TYPE_CHECKING:
    from refexplorer.spec.core.zarr_metadata import ArrayMeta

ESTIMATED_CHUNKS = 10**6
"""Chunks that are looked up to say what reading a part of an array takes."""
_NAMED_TARGETS = 20


@masks_repr
@dataclass(frozen=True, slots=True)
class Estimate:
    """The cost of a read, known without a request.

    Attributes
    ----------
    bytes
        Referenced and inline bytes, as stored; None if whole files are read, whose size is not
        known.
    requests
        Reads of targets after ranges that touch are merged, as `fetch_many` does; inline data
        takes none.
    targets
        The first URLs that are read.
    label
        A sentence for a button: ``"Read 57.3 kB from air.nc"``.
    chunks
        Keys that the set has a reference for.
    """

    bytes: int | None
    requests: int
    targets: tuple[str, ...]
    label: str
    chunks: int = 0


def estimate_selection(
    refs: SetLike, array: ArrayMeta, selection: Sequence[int | slice] = ()
) -> Estimate:
    """Estimate the cost of reading a part of an array.

    Parameters
    ----------
    refs, array
        The set, and an array of it.
    selection
        An integer or a slice for each dimension, as in ``values[0, 10:20]``; those that are left
        out are read whole.

    Raises
    ------
    LimitError
        If the part has values of more than 10^6 chunks.
    RefexplorerError
        If the array has no such part.
    """
    name = array.path or "the root array"
    if len(selection) > len(array.shape):
        raise RefexplorerError(f"{name} has {len(array.shape)} dimensions, not {len(selection)}.")
    parts = [*selection, *[slice(None)] * (len(array.shape) - len(selection))]
    found = list(map(chunks_along, map(places_along, parts, array.shape), array.chunks))
    count = math.prod(number for number, _ in found)
    if count > ESTIMATED_CHUNKS:
        raise LimitError(
            f"This part of {name} has values of {count:,} chunks, more than the "
            f"{ESTIMATED_CHUNKS:,} that are estimated; choose a smaller part."
        )
    indices = itertools.product(*(numbers for _, numbers in found))
    return estimate_keys(refs, map(array.chunk_key, indices))


def places_along(part: int | slice, extent: int) -> range:
    """Return the places of one dimension that a part of it has."""
    if isinstance(part, slice):
        return range(extent)[part]
    if not -extent <= part < extent:
        raise RefexplorerError(
            f"The index {part} is out of bounds for a dimension of size {extent}."
        )
    return range(part % extent, part % extent + 1)


def estimate_keys(refs: SetLike, keys: Iterable[str]) -> Estimate:
    """Estimate the cost of reading some keys; keys that the set does not have cost nothing."""
    references = [found for key in keys if (found := refs.get(key)) is not None]
    held = [reference for reference in references if isinstance(reference, Inline | Base64)]
    remote = [item for item in references if not isinstance(item, Inline | Base64)]
    targets = tuple(dict.fromkeys(item.url or "" for item in remote))
    inside = sum(item.size for item in held)
    outside = sum(item.size or 0 for item in remote)
    unknown = any(item.size is None for item in remote)
    label = _label(len(references), inside, outside, targets, unknown)
    requests = sum(1 for _ in merged(map(_span, remote)))
    shown = targets[:_NAMED_TARGETS]
    size = None if unknown else inside + outside
    return Estimate(size, requests, shown, label, len(references))


def _span(reference: Url | Range) -> Wanted:
    """Return the range to read for a reference, without resolving its URL."""
    place = Place("", "", "", reference.url or "")
    if isinstance(reference, Range):
        start, end = reference.offset, reference.offset + reference.length
        return Wanted("", place.url, place, start, end)
    return Wanted("", place.url, place, 0, None)


def _label(references: int, held: int, size: int, targets: tuple[str, ...], partly: bool) -> str:
    if not references:
        return "Show the fill value: the chunk has no reference"
    if not targets:
        return f"Decode {size_text(held)} held in the set"
    where = short_name(targets[0]) if len(targets) == 1 else f"{len(targets):,} targets"
    if not partly:
        return f"Read {size_text(size)} from {where}"
    return f"Read all of {where}" if not size else f"Read {size_text(size)} and more from {where}"


def short_name(url: str) -> str:
    """Name a target in a few characters: a local file by its name, others by their place."""
    protocol = protocol_of(url)
    if protocol in (None, "file"):
        return url.rstrip("/").rpartition("/")[2] or url
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    return f"{protocol}://{host}" if host else url
