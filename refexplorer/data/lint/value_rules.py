"""Inline data: chunks that cannot be decoded, and values that xarray reads as missing.

What is inline is part of the set, so nothing is fetched. Codecs run only as far as the limits of
the set and of this module allow, and none of those whose output cannot be known beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from refexplorer.data.decode.chunk_arithmetic import POINTER, region
from refexplorer.data.decode.decoding import said, steps
from refexplorer.data.decode.inflating import is_bounded
from refexplorer.data.decode.pipelines import VALUES
from refexplorer.errors import LimitError
from refexplorer.markup import counted
from refexplorer.refset.columns.reference_columns import BASE64
from refexplorer.refset.lint.metadata_rules import attributes_of
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.spec.core.diagnostics import Findings, pointer
from refexplorer.spec.core.references import Base64, Inline
from refexplorer.spec.core.zarr_metadata import ArrayMeta
from refexplorer.spec.document.attribute_rules import may_be_a_value
from refexplorer.spec.document.lint_rules import is_metadata

if TYPE_CHECKING:
    from refexplorer.limits import Limits

DECODED_CHUNKS = 2_000
DECODED_BYTES = 2**26
"""Inline chunks that are looked at and what they decode to, so that it takes less than a second."""


@dataclass
class _Seen:
    """What the inline chunks of one array hold.

    Attributes
    ----------
    chunks
        How many were decoded.
    values, masked
        How many values are in them, and how many of these equal the fill value.
    failed
        The keys of those that cannot be decoded.
    reason
        Why the first of them cannot.
    """

    array: ArrayMeta
    chunks: int = 0
    values: int = 0
    masked: int = 0
    failed: list[str] = field(default_factory=list)
    reason: str = ""


def lint_values(
    opened: OpenedSet, limits: Limits, decodable: Collection[str], base: str, findings: Findings
) -> None:
    """Note inline chunks that cannot be decoded, and values that are, or may be, masked.

    Parameters
    ----------
    limits
        What a chunk may take.
    decodable
        The paths of the arrays whose codecs are there.
    """
    seen = _look(opened, limits, decodable)
    for found in seen.values():
        if found.failed:
            key = found.failed[0]
            findings.add(
                "undecodable-inline",
                base + pointer(key),
                f"The inline data of `{key}` is no chunk of `{found.array.path}`: {found.reason}",
                key=key,
                count=len(found.failed),
            )
    for array in opened.arrays.below(opened.tree.root):
        if may_be_a_value(array, attributes_of(opened.table, array)):
            _note_masked(opened, seen.get(array.path, _Seen(array)), base, findings)


def _look(opened: OpenedSet, limits: Limits, decodable: Collection[str]) -> dict[str, _Seen]:
    """Decode the first inline chunks of a set."""
    found: dict[str, _Seen] = {}
    left = DECODED_CHUNKS
    room = DECODED_BYTES
    for part, columns in opened.columns():
        for row in np.flatnonzero(columns.kinds <= BASE64):
            key = part.key_at(int(row))
            of_array = None if is_metadata(key) else opened.arrays.of_key(key)
            if of_array is None or of_array[0].path not in decodable:
                continue
            array, index = of_array
            room -= math.prod(array.chunks) * (array.itemsize or POINTER)
            left -= 1
            if left < 0 or room < 0:
                return found
            reference = columns.reference_at(int(row))
            assert isinstance(reference, Inline | Base64)
            if array.contains(index):
                _decode(found.setdefault(array.path, _Seen(array)), key, index, reference, limits)
    return found


def _decode(
    seen: _Seen, key: str, index: tuple[int, ...], reference: Inline | Base64, limits: Limits
) -> None:
    array, size = seen.array, seen.array.encoded_size
    if reference.size == 0 or (size is not None and reference.size != size):
        return  # told without decoding, by the rules of lengths
    try:
        data: Any = reference.data
        for step in steps(array, limits):
            if step.stage.name != VALUES and not is_bounded(step.stage.name):
                return
            data = step.run(data)
        values = np.asarray(data).reshape(array.chunks)
    except LimitError:
        return
    except Exception as error:  # codecs raise what they like
        seen.failed.append(key)
        seen.reason = seen.reason or said(error)
        return
    spans = (slice(0, part.stop - part.start) for part in region(array, index))
    inside = np.asarray(values[tuple(spans)])
    seen.chunks += 1
    seen.values += inside.size
    if values.dtype.kind in "iuf" and isinstance(array.fill_value, int | float):
        seen.masked += int(np.count_nonzero(inside == array.fill_value))


def _note_masked(opened: OpenedSet, seen: _Seen, base: str, findings: Findings) -> None:
    array, key = seen.array, seen.array.metadata_key
    value = array.fill_value
    if seen.masked:
        findings.add(
            "fill-value-masks",
            base + pointer(key),
            f"xarray reads {seen.masked:,} of {counted(seen.values, 'value')} of `{array.path}` as "
            f"missing, since they equal the fill value {value!r}.",
            'Write "fill_value": null if the array has no missing values.',
            key=key,
        )
    elif seen.chunks < (opened.arrays.present(array) or math.inf):
        findings.add(
            "fill-value-may-mask",
            base + pointer(key),
            f"xarray reads each {value!r} of `{array.path}` as missing, since it is the fill "
            "value; whether its data has one was not checked.",
            'Write "fill_value": null if the array has no missing values.',
            key=key,
        )
