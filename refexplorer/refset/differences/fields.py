"""Metadata compared field by field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from refexplorer.masking import masks_repr
from refexplorer.spec.core.diagnostics import pointer

_ABSENT = object()


@masks_repr
class FieldChange(NamedTuple):
    """A field of the metadata of one key, as JSON; None where there is none.

    Attributes
    ----------
    key
        The metadata key.
    field
        JSON pointer to the field.
    """

    key: str
    field: str
    before: str | None
    after: str | None


def field_changes(key: str, before: object, after: object, at: str = "") -> Iterator[FieldChange]:
    """Yield the innermost fields that differ between two parsed documents."""
    if before == after and type(before) is type(after):
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in dict.fromkeys([*before, *after]):
            inner = before.get(name, _ABSENT), after.get(name, _ABSENT)
            yield from field_changes(key, *inner, at + pointer(name))
    elif _are_alike(before, after):
        for position, (first, second) in enumerate(zip(before, after, strict=True)):  # type: ignore[call-overload]
            yield from field_changes(key, first, second, at + pointer(position))
    else:
        yield FieldChange(key, at, _text(before), _text(after))


def _are_alike(before: object, after: object) -> bool:
    """Say whether two lists hold as many objects each, such as codecs."""
    lists = isinstance(before, list) and isinstance(after, list) and len(before) == len(after)
    return lists and all(isinstance(part, dict) for part in [*before, *after])  # type: ignore[misc]


def _text(value: object) -> str | None:
    return None if value is _ABSENT else json.dumps(value, ensure_ascii=False)
