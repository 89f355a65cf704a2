"""Whether two sets make the same references; by sample where there are too many to go through."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from refexplorer.referenceset import ReferenceSet
from refexplorer.spec.references import Base64, Inline, Kind, Range, Reference, Url

_ALL = 10_000
"""Keys up to which each of them is compared."""
_SAMPLE = 400
_KINDS = {
    Kind.INLINE: "inline data",
    Kind.BASE64: "base64",
    Kind.URL: "a whole file",
    Kind.RANGE: "a byte range",
}


class OddReference(NamedTuple):
    """The first reference that differs, and how."""

    sentence: str
    key: str | None = None
    is_missing: bool = False


def difference(
    found: ReferenceSet, wanted: ReferenceSet, bends: Sequence[int] = ()
) -> OddReference | None:
    """Find the first reference of a set that is not as wanted.

    Parameters
    ----------
    bends
        Numbers of keys of the set that are looked at even where not all are.
    """
    if wanted.count > _ALL and found.count != wanted.count:
        return OddReference(
            f"There are {found.count:,} keys, but there should be {wanted.count:,}."
        )
    for key in _looked_at(wanted):
        reference = found.get(key)  # a key that a gen item makes may fail when it is looked at
        if reference is None:
            return OddReference(f"There is no key `{key}` yet.", key, is_missing=True)
        said = _said(reference, wanted[key])
        if said is not None:
            return OddReference(f"`{key}`: {said}", key)
    more = bends if wanted.count > _ALL else ()
    for key in chain(_looked_at(found), (key for n in more for key in found.keys_at(n, n + 1))):
        if key not in wanted:
            return OddReference(f"The key `{key}` is not part of the solution.", key)
        # keys that are also those of the solution were compared above, but for the bends
        reference = found.get(key) if more else None
        said = None if reference is None else _said(reference, wanted[key])
        if said is not None:
            return OddReference(f"`{key}`: {said}", key)
    if found.count > wanted.count:
        return OddReference(
            f"There are {found.count:,} keys, but there should be {wanted.count:,}."
        )
    return None


def _looked_at(refs: ReferenceSet) -> Iterable[str]:
    """Return all keys, or the first, the last, and others from everywhere between them."""
    if refs.count <= _ALL:
        return refs.keys_at(0, _ALL)
    # the same in each process, so that an answer is judged alike today and tomorrow
    numbers = random.Random(refs.count).sample(range(refs.count), _SAMPLE)
    ends = (*range(3), *range(refs.count - 3, refs.count))
    return (key for n in (*ends, *numbers) for key in refs.keys_at(n, n + 1))


def _said(found: Reference, right: Reference) -> str | None:
    """Say in which part a reference is another one."""
    if isinstance(found, Inline) and isinstance(right, Inline):
        same = meaning(found.text) == meaning(right.text)
        return None if same else "the text differs from the solution."
    if isinstance(found, Inline | Base64) and isinstance(right, Inline | Base64):
        if _data(found) == _data(right):
            return None
        if found.kind == right.kind:
            return "the data differ from the solution."
    if found.kind != right.kind:
        return f"it is {_KINDS[found.kind]}, but should be {_KINDS[right.kind]}."
    if isinstance(found, Url | Range) and isinstance(right, Url | Range) and found.url != right.url:
        return f"the URL `{found.url}` is not right."
    if isinstance(found, Range) and isinstance(right, Range):
        for name in ("offset", "length"):
            if (value := getattr(found, name)) != getattr(right, name):
                return f"the {name} {value:,} is not right."
    return None


def _data(reference: Inline | Base64) -> str | bytes:
    """Return what reading the key returns, whichever way it is written."""
    try:
        return meaning(reference.data.decode())
    except UnicodeDecodeError:
        return reference.data


def meaning(text: str) -> str:
    """Return a text; of a JSON object one spelling, so that order and spaces do not count."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return json.dumps(value, sort_keys=True) if isinstance(value, dict) else text
