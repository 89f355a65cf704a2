"""A few URLs that stand for all targets of a set: one for each protocol, host and kind of path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.segments.segment import Generated
from refexplorer.spec.core.references import Range, Url

_LOOKED_AT = 100_000
_GENERATED = 16
_START = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/*[^/]*|/|", re.ASCII)


def example_urls(opened: OpenedSet) -> tuple[str | None, ...]:
    """Return the first URL with each start: a protocol with its host, a slash, or neither.

    Of very many URLs the first ones are looked at, of a gen item some that lie far apart. None
    stands for a reference that names no target.
    """
    found: dict[str | None, str | None] = {}
    for url in _urls(opened):
        match = None if url is None else _START.match(url)
        found.setdefault(None if match is None else match[0], url)
    return tuple(found.values())


def _urls(opened: OpenedSet) -> Iterator[str | None]:
    for _, columns in opened.columns():
        yield from islice(columns.urls, _LOOKED_AT)
    for part in opened.segments:
        if isinstance(part, Generated) and part.count:
            step = max((part.count - 1) // _GENERATED, 1)
            for row in {*range(0, part.count, step), part.count - 1}:
                reference = part.reference_at(row)
                if isinstance(reference, Url | Range):
                    yield reference.url
