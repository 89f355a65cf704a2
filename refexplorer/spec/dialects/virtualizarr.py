"""VirtualiZarr's `KerchunkJSONParser`: the rules of version 2.5, and what later ones changed.

It reads ``refs`` alone: arrays directly below the root, whose Zarr v2 metadata is text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum

import numpy as np

from refexplorer.spec.dialects.judging import (
    ExplicitEntry,
    ReaderRules,
    Refusal,
    Theirs,
    VerdictTally,
    absent,
    drop_gen,
    unknown,
)
from refexplorer.spec.dialects.survey import (
    EntryForm,
    EntryGroup,
    Link,
    Shape,
    Survey,
    form_of,
    group_entries,
)
from refexplorer.spec.dialects.verdicts import Basis

_ROOT = (".zgroup", ".zattrs", ".zmetadata")
_CHUNK = re.compile(r"[0-9]+(?:\.[0-9]+)*", re.ASCII)
_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.\-]*:")
_LONG = "gG"
_NESTED = "Only arrays directly below the root are read, and only those with a `.zarray`."
_NOT_RENDERED = "Templates are not rendered: the braces are kept as they are."
_CUT = "Only the first two segments of a key are read, so x/0/1 becomes x/0."


class Role(StrEnum):
    """The role of a key in VirtualiZarr."""

    METADATA = "metadata"
    CHUNK = "chunk"
    CUT = "chunk whose indices are separated by /"
    UNREAD = "not read"


class VirtualiZarr(ReaderRules):
    """The rules of VirtualiZarr."""

    name = "VirtualiZarr"
    basis = Basis("VirtualiZarr 2.5.1", "2026-11-21", "run")

    def open(self, survey: Survey, tally: VerdictTally) -> None:
        """Refuse V0, keys beside the metadata of the root, and arrays that it cannot describe."""
        refs = survey.written.get("refs")
        if not isinstance(refs, Mapping):
            raise Refusal("There is no object `refs`, and only V1 is read (KeyError).")
        if not survey.document.version:
            reason = "`refs` is read as in V1, even without `version`."
            tally.compare("refs", survey.ours(*_group_of("refs", refs)), unknown(reason))
            return
        _check_ranks(refs, check_metadata(refs))

    def groups(self, survey: Survey) -> Iterable[EntryGroup]:
        """Group the entries also by what their key is."""
        refs = survey.document.refs if survey.document.version else {}
        form = self.forms(survey)
        return group_entries((form(key, value), key, value) for key, value in refs.items())

    def forms(self, survey: Survey) -> Callable[[str, object], EntryForm]:
        """Tell forms that name the role of the key."""
        arrays = _arrays(survey.document.refs)
        return lambda key, value: form_of(key, value, 1)._replace(role=_role(str(key), arrays))

    def read(self, entry: ExplicitEntry, survey: Survey, tally: VerdictTally) -> Theirs:
        """Read metadata and chunks; the rest is left out."""
        role = Role(entry.form.role)
        if role is Role.UNREAD:
            return absent(_NESTED)
        if role is Role.METADATA:
            return Theirs(entry.ours)
        name = entry.key.split("/")[1]
        if not _CHUNK.fullmatch(name) and not (role is Role.CUT and name == "c"):
            raise Refusal(f"`{entry.key}` does not end in a chunk index (ValueError).")
        theirs = _chunk(entry, tally)
        return absent(_CUT) if role is Role.CUT else theirs

    def generate(self, survey: Survey, tally: VerdictTally) -> None:
        """Drop ``gen``."""
        drop_gen(survey, tally, "`gen` is not read, without a warning.")


def check_metadata(refs: Mapping[str, object]) -> set[str]:
    """Return the arrays that are read; raises `Refusal` if the metadata of one is not read."""
    for key in refs:
        if "/" not in str(key) and key not in _ROOT:
            later = "; 2.8 reads Zarr 3" if key == "zarr.json" else ""
            raise Refusal(
                f"The root has a key `{key}` that is not group metadata (ValueError){later}."
            )
    for key in _ROOT:
        _metadata(key, refs)
    arrays = _arrays(refs)
    for name in arrays:
        _check_array(name, refs)
    return arrays


def _group_of(key: str, value: object) -> tuple[EntryGroup, object]:
    (group,) = group_entries([(form_of(key, value, 0), key, value)])
    return group, value


def _arrays(refs: Mapping[str, object]) -> set[str]:
    parts = (str(key).split("/") for key in refs if "/.zarray" in str(key))
    return {found[0] for found in parts if found[1] == ".zarray"}


def _role(key: str, arrays: set[str]) -> Role:
    first, slash, rest = key.partition("/")
    if not slash:
        return Role.METADATA
    if first not in arrays:
        return Role.UNREAD
    if rest.startswith("."):
        return Role.METADATA
    return Role.CUT if "/" in rest else Role.CHUNK


def _metadata(key: str, refs: Mapping[str, object]) -> Mapping[str, object]:
    """Return parsed metadata; only text is parsed."""
    value = refs.get(key, "{}")
    if not isinstance(value, str):
        raise Refusal(
            f"`{key}` is not a string; metadata given as an object is not read (TypeError)."
        )
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        raise Refusal(f"`{key}` does not hold valid JSON (JSONDecodeError).") from None
    return parsed if isinstance(parsed, Mapping) else {}


def _check_array(name: str, refs: Mapping[str, object]) -> None:
    if "_ARRAY_DIMENSIONS" not in _metadata(f"{name}/.zattrs", refs):
        raise Refusal(f"The array `{name}` has no `_ARRAY_DIMENSIONS` (KeyError).")
    array = _metadata(f"{name}/.zarray", refs)
    for field in ("shape", "chunks", "dtype", "fill_value", "zarr_format"):
        if field not in array:
            raise Refusal(f"`{name}/.zarray` has no `{field}` (KeyError).")
    _check_dtype(name, array["dtype"])
    if isinstance(array.get("compressor"), Mapping) and array["compressor"]:
        raise Refusal(
            f"`{name}/.zarray` has a `compressor`; before 2.8 only `filters` are read (TypeError)."
        )


def _check_dtype(name: str, dtype: object) -> None:
    """Refuse what numpy or Zarr's data types do not make of the text that JSON has."""
    if isinstance(dtype, list):
        raise Refusal(
            f"`{name}/.zarray` has a structured `dtype`, a list of fields; since 2.7.1 those that "
            "Zarr knows are read (TypeError)."
        )
    if dtype is None or isinstance(dtype, Mapping):
        return
    try:
        known = np.dtype(dtype)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise Refusal(f"The `dtype` of `{name}/.zarray` is not valid (TypeError).") from None
    if known.hasobject:
        raise Refusal(f"The `dtype` of `{name}/.zarray` is object (ValueError).")
    if known.char in _LONG or not known.itemsize:
        raise Refusal(f"The `dtype` of `{name}/.zarray` does not exist in Zarr 3 (ValueError).")


def _check_ranks(refs: Mapping[str, object], arrays: set[str]) -> None:
    ranks: dict[str, int] = {}
    for key in refs:
        first, _, rest = str(key).partition("/")
        if first in arrays and not rest.startswith("."):
            rank = rest.partition("/")[0].count(".")
            if ranks.setdefault(first, rank) != rank:
                raise Refusal(
                    f"`{key}` has a different number of indices than other chunks (ValueError)."
                )


def _chunk(entry: ExplicitEntry, tally: VerdictTally) -> Theirs:
    form, value = entry.form, entry.value
    if isinstance(value, str):
        raise Refusal(
            f"`{entry.key}` is inline data, which is supported since 2.7 (NotImplementedError)."
        )
    if not isinstance(value, list) or len(value) not in (1, 3):
        raise Refusal(f"`{entry.key}` is not a list of one or three elements.")
    if form.link in (Link.NULL, Link.ODD):
        raise Refusal(f"The URL of `{entry.key}` is not a string (TypeError).")
    if not all(isinstance(number, int) and number >= 0 for number in value[1:]):
        raise Refusal(f"`{entry.key}` has an offset or length that is not an integer.")
    if value[2:] == [0]:
        tally.note("Since 2.8 a range of 0 bytes is rejected.")
    if form.shape is Shape.WHOLE:
        tally.note("Opening asks the target of each [url] for its size, and fails without it.")
    return _linked(entry)


def _linked(entry: ExplicitEntry) -> Theirs:
    assert isinstance(entry.value, list)
    link, url = entry.form.link, entry.value[0]
    if link is Link.RELATIVE or (link is Link.TEMPLATE and not _ABSOLUTE.match(url)):
        raise Refusal(f"The URL of `{entry.key}` is relative, and no `fs_root` is given.")
    if link is Link.EMPTY:
        return absent("An empty URL stands for a chunk without a reference.")
    return Theirs(entry.value, _NOT_RENDERED)
