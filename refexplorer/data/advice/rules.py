"""What would make accesses cheaper, by how much, and which command or function does it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from refexplorer.data.advice.access_costs import AccessCost, ArrayCosts
from refexplorer.data.advice.connections import OURS, ZARR, Connection
from refexplorer.data.advice.findings import AdviceFinding, LayoutBound
from refexplorer.data.advice.selections import PartOfArray
from refexplorer.markup import counted, size_text
from refexplorer.refset.write.reshaping import is_divisible
from refexplorer.spec.core.zarr_metadata import ArrayMeta

MORE_AT_ONCE = 64
"""Requests at a time that far stores bear; zarr asks for ten."""
GOOD_CHUNK = 2**23
"""Bytes of a chunk that takes about as long to come as to be waited for."""
_SMALL_CHUNK = 2**20
_MANY_REQUESTS = 100
_LITTLE = 0.05
"""Part of what is decoded that is too small to be worth fetching all."""
_LEAST_GAIN = 1.05
"""A smaller factor of time is not worth a sentence."""


def inline_coordinates(
    cost: AccessCost, coordinates: Sequence[str], arrays: Sequence[ArrayMeta], name: str
) -> Iterator[AdviceFinding]:
    """Find coordinates that opening reads from targets.

    Parameters
    ----------
    cost, coordinates
        Of opening a group, and the arrays that it reads from targets.
    arrays
        Those of the group.
    name
        Of the set.
    """
    found = cost.reader(ZARR)
    if not coordinates or not found.requests:
        return
    sizes = [
        None if each.itemsize is None else math.prod(each.shape) * each.itemsize
        for each in arrays
        if each.path in coordinates
    ]
    known = [size for size in sizes if size is not None]
    is_known = len(known) == len(sizes)
    grows = f"by up to about {_base64(sum(known))}" if is_known else "by an unknown size"
    where = f" of group {cost.path}" if cost.path else ""
    names = ", ".join(coordinates[:5]) + (", …" if len(coordinates) > 5 else "")
    yield AdviceFinding(
        "inline-coordinates",
        cost.path,
        cost.name,
        f"Opening{where} with xarray reads {names} in {counted(found.requests, 'request')}; held "
        f"in the set they take none, and it grows {grows}.",
        f"refexplorer convert {name} out.json --inline-coordinates; "
        f"{_inlining(arrays, coordinates)}",
        found.requests,
        0,
        found.bytes,
        None if found.bytes is None else 0,
        found.seconds,
    )


def _inlining(arrays: Sequence[ArrayMeta], coordinates: Sequence[str]) -> str:
    """Say how others bring coordinates into a set; kerchunk's function is for Zarr v2 alone."""
    names = [path.rpartition("/")[2] for path in coordinates]
    dotted = [path.replace("/", ".") for path in coordinates]
    loaded = f"VirtualiZarr, when the set is made: loadable_variables={names!r}"
    if any(array.zarr_format != 2 for array in arrays):
        return f"{loaded}."
    return f"kerchunk.utils.inline_array(refs.to_v0(), threshold=0, names={dotted!r}); {loaded}."


def subchunk(
    costs: ArrayCosts, cost: AccessCost, part: PartOfArray, name: str
) -> Iterator[AdviceFinding]:
    """Find uncompressed chunks of which an access needs one place along their slowest dimension."""
    array, found = costs.array, cost.reader(ZARR)
    axis = next((axis for axis, step in enumerate(array.chunks) if step > 1), None)
    if axis is None or found.bytes is None or not found.requests or len(part.places[axis]) != 1:
        return
    if not is_divisible(array) or not costs.is_uniform:
        return
    # the last chunk is divided like the others, and it is as long as they are
    factor = array.chunks[axis]
    remedy = f"refexplorer convert {name} out.json --subchunk {array.path}={factor}"
    if array.zarr_format == 2:
        remedy += f"; kerchunk.utils.subchunk(refs.to_v0(), {array.path!r}, {factor})"
    yield AdviceFinding(
        "subchunk",
        array.path,
        cost.name,
        f"{array.path}, {cost.name}: the chunks are not compressed, so the set can divide each "
        f"into {factor:,}: {size_text(found.bytes // factor)} instead of {size_text(found.bytes)} "
        f"are fetched; the array then has {array.chunk_count * factor:,} chunks.",
        f"{remedy}.",
        found.requests,
        found.requests,
        found.bytes,
        found.bytes // factor,
        _gain(found.seconds, found.requests, found.bytes // factor, costs.place),
    )


def asked_apart(cost: AccessCost) -> Iterator[AdviceFinding]:
    """Find ranges that lie next to each other in their file and are asked for one by one."""
    alone, merged = cost.reader(ZARR), cost.reader(OURS)
    if alone.requests is None or merged.requests is None:
        return
    if alone.seconds is None or merged.seconds is None:
        return
    if merged.requests >= alone.requests or alone.seconds < merged.seconds * _LEAST_GAIN:
        return
    yield AdviceFinding(
        "asked-apart",
        cost.path,
        cost.name,
        f"{cost.path}, {cost.name}: Zarr asks for {counted(alone.requests, 'range')} one by one; "
        f"those that lie together, asked for together, take {counted(merged.requests, 'request')}.",
        "refs.filesystem().cat(keys) merges them all; refs.to_xarray() merges what Zarr asks for "
        "together, which zarr.config.set({'async.concurrency': 64}) makes more.",
        alone.requests,
        merged.requests,
        alone.bytes,
        merged.bytes,
        alone.seconds - merged.seconds,
    )


def few_at_a_time(cost: AccessCost, place: Connection) -> Iterator[AdviceFinding]:
    """Find accesses that wait because Zarr asks for ten chunks at a time."""
    found = cost.reader(ZARR)
    if found.requests is None or found.bytes is None or found.seconds is None:
        return
    if found.requests <= ZARR.at_once or found.largest is None:
        return
    seconds = place.seconds_of_one(found.requests, found.bytes, found.largest, MORE_AT_ONCE)
    if found.seconds < seconds * _LEAST_GAIN:
        return
    yield AdviceFinding(
        "few-at-a-time",
        cost.path,
        cost.name,
        f"{cost.path}, {cost.name}: {counted(found.requests, 'request')}, ten at a time, take "
        f"about {found.seconds:.2g} s; {MORE_AT_ONCE} at a time {seconds:.2g} s.",
        f"zarr.config.set({{'async.concurrency': {MORE_AT_ONCE}}}).",
        found.requests,
        found.requests,
        found.bytes,
        found.bytes,
        found.seconds - seconds,
    )


def small_chunks(whole: AccessCost, place: Connection) -> Iterator[AdviceFinding]:
    """Find an array of which all is read mostly by waiting for the next of many small chunks."""
    found = whole.reader(ZARR)
    if not found.requests or not found.bytes or found.seconds is None:
        return
    size = found.bytes / found.requests
    after = math.ceil(found.bytes / GOOD_CHUNK)
    seconds = place.seconds_of_one(after, found.bytes, found.bytes / after, ZARR.at_once)
    if size >= _SMALL_CHUNK or found.requests < _MANY_REQUESTS or found.seconds < 2 * seconds:
        return
    yield AdviceFinding(
        "small-chunks",
        whole.path,
        whole.name,
        f"{whole.path}, {whole.name}: {found.requests:,} chunks of {size_text(round(size))} on "
        f"average; in chunks of {size_text(GOOD_CHUNK)} it takes {counted(after, 'request')}."
        f"{_copying(whole, place)}",
        f"refs.to_xarray(chunks={{}})[[{_name(whole)!r}]].chunk(…).to_zarr(…) writes a copy.",
        found.requests,
        after,
        found.bytes,
        found.bytes,
        found.seconds - seconds,
    )


def large_chunks(cost: AccessCost, whole: AccessCost, place: Connection) -> Iterator[AdviceFinding]:
    """Find an access that takes little of the large chunks that it fetches."""
    found = cost.reader(ZARR)
    if not found.requests or not found.bytes or found.seconds is None:
        return
    if not cost.decoded or not cost.used or cost.used > _LITTLE * cost.decoded:
        return
    size = math.ceil(found.bytes * (cost.used / cost.decoded))
    requests = math.ceil(size / GOOD_CHUNK)
    seconds = place.seconds_of_one(requests, size, size / requests, ZARR.at_once)
    if found.bytes < GOOD_CHUNK or found.seconds < 2 * seconds:
        return
    yield AdviceFinding(
        "large-chunks",
        cost.path,
        cost.name,
        f"{cost.path}, {cost.name}: of {size_text(found.bytes)} in "
        f"{counted(found.requests, 'chunk')}, {_share(cost.used / cost.decoded)} are used; in "
        f"chunks made for it about {size_text(size)} are fetched.{_copying(whole, place)}",
        f"refs.to_xarray(chunks={{}})[[{_name(cost)!r}]].chunk(…).to_zarr(…) writes a copy.",
        found.requests,
        requests,
        found.bytes,
        size,
        found.seconds - seconds,
    )


def _share(part: float) -> str:
    """Return a small share in per cent; never one of 0, which would be none."""
    return "less than 0.01%" if part < 0.00005 else f"{part:.2%}"


def _name(cost: AccessCost) -> str:
    return cost.path.rpartition("/")[2]


def _copying(whole: AccessCost, place: Connection) -> str:
    """Say what a copy of an array takes, or nothing where that is not known."""
    seconds = copy_seconds(whole, place)
    return "" if seconds is None else f" Writing a copy takes about {seconds:.2g} s."


def copy_seconds(whole: AccessCost, place: Connection) -> float | None:
    """Return the time to read all of an array and write it, uncompressed, to the same place."""
    found = whole.reader(ZARR)
    if found.seconds is None or whole.decoded is None:
        return None
    count = max(math.ceil(whole.decoded / GOOD_CHUNK), 1)
    writing = place.seconds_of_one(count, whole.decoded, whole.decoded / count, ZARR.at_once)
    return found.seconds + writing


def layout_bound(
    cost: AccessCost, whole: AccessCost, size: int | None, place: Connection
) -> Iterator[LayoutBound]:
    """Find what cannot be helped about an access that one request does not answer.

    Parameters
    ----------
    cost, whole
        Of the access, and of reading all of the array.
    size
        Decoded bytes of the array.
    place
        Where the targets are, and a copy would be.
    """
    found = cost.reader(ZARR)
    if found.requests is None or cost.least_requests is None or cost.least_requests < 2:
        return
    copied = gained = None
    if cost.decoded and cost.used and cost.chunks:
        copied = math.ceil(cost.used / (cost.decoded / (cost.chunks + (cost.held or 0))))
        if found.seconds is not None and found.bytes is not None:
            fetched = found.bytes * (cost.used / cost.decoded)
            after = place.seconds_of_one(copied, fetched, fetched / copied, ZARR.at_once)
            gained = found.seconds - after
    yield LayoutBound(
        cost.path,
        cost.name,
        found.requests,
        found.bytes,
        cost.least_requests,
        cost.least_bytes,
        copied,
        size,
        copy_seconds(whole, place),
        gained,
    )


def _gain(seconds: float | None, requests: int, size: int, place: Connection) -> float | None:
    """Return what is gained by as many requests of one read for fewer bytes."""
    if seconds is None:
        return None
    return seconds - place.seconds_of_one(requests, size, size / requests, ZARR.at_once)


def _base64(size: int) -> str:
    return size_text(-(-size // 3) * 4)
