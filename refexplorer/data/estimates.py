"""What a read takes, known without a request."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from refexplorer.data.grid import Index, chunk_indices
from refexplorer.data.opened import Opened
from refexplorer.data.places import protocol_of
from refexplorer.markup import size_text
from refexplorer.spec.references import Base64, Inline

if TYPE_CHECKING:
    from refexplorer.spec.arrays import ArrayMeta

_NAMED_TARGETS = 20


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a read takes, known without a request.

    Attributes
    ----------
    bytes
        Referenced and inline bytes, as stored; whole-URL references count 0, since their
        size is not known.
    requests
        Reads of targets; inline data takes none.
    targets
        The first URLs that are read.
    label
        A sentence for a button: ``"Read 57.3 kB from air.nc"``.
    """

    bytes: int
    requests: int
    targets: tuple[str, ...]
    label: str


def estimate(refs: Opened, array: ArrayMeta, index: Index | None = None) -> Estimate:
    """Say what reading one chunk, or the whole array, takes.

    The whole of an array that `is_small` refuses is counted chunk by chunk: ask that first.
    """
    indices = [index] if index is not None else chunk_indices(array)
    return estimate_keys(refs, map(array.chunk_key, indices))


def estimate_keys(refs: Opened, keys: Iterable[str]) -> Estimate:
    """Say what reading some keys takes; keys that the set does not have take nothing."""
    references = [found for key in keys if (found := refs.get(key)) is not None]
    held = [reference for reference in references if isinstance(reference, Inline | Base64)]
    remote = [item for item in references if not isinstance(item, Inline | Base64)]
    targets = tuple(dict.fromkeys(item.url or "" for item in remote))
    inside = sum(item.size for item in held)
    outside = sum(item.size or 0 for item in remote)
    unknown = any(item.size is None for item in remote)
    label = _label(len(references), inside, outside, targets, unknown)
    return Estimate(inside + outside, len(remote), targets[:_NAMED_TARGETS], label)


def _label(references: int, held: int, size: int, targets: tuple[str, ...], partly: bool) -> str:
    if not references:
        return "Show the fill value: the set has no reference here"
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
