"""The contents of an opened set, as they travel to other processes."""

from __future__ import annotations

import pickle
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4
from weakref import WeakSet, WeakValueDictionary

import numpy as np
import pyarrow.compute as pc

from refexplorer.core.errors import InternalError, LimitError
from refexplorer.formats.columns.arrow import flags_of, number_column
from refexplorer.formats.columns.table import Entries
from refexplorer.refset.numbered_segment import Records
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.refset.segments import Generated, Segment
from refexplorer.refset.summary import ArrayStates, array_states
from refexplorer.refset.targets import TargetIndex, example_urls
from refexplorer.spec.document import Document
from refexplorer.spec.findings import Findings
from refexplorer.spec.gen.item import GenItem
from refexplorer.spec.references import Reference
from refexplorer.spec.templates.template import Template, is_template

if TYPE_CHECKING:
    from collections.abc import Iterator

    from refexplorer.core.limits import Limits
    from refexplorer.formats.source import Source
    from refexplorer.refset.summary import Summary
    from refexplorer.refset.tree import Page
    from refexplorer.spec.findings import Finding
    from refexplorer.spec.zarr_metadata import ArrayMeta

_SAMPLED = 64
"""Keys of a segment that are looked up; all of a table are compared by their hashes."""
_trusted: WeakSet[OpenedSet] = WeakSet()


def require_lookup(opened: OpenedSet) -> None:
    """Do as `check_lookup`, once for a set in a process."""
    if opened not in _trusted:
        check_lookup(opened)
        _trusted.add(opened)


def check_lookup(opened: OpenedSet) -> None:
    """Compare look-up with the keys that are listed; record files that were not read stay so.

    Takes about as long as building the index: 0.1 s for 10^6 keys.
    """
    if not opened.table.index.is_sound:
        raise _broken(f"the index of its {opened.table.count:,} explicit keys")
    for part in opened.parts:
        for key in _sample(part):
            found = _key_found_by_look_up(part, key)
            if found is not None and found != key:
                raise _broken(f"{key!r}, a key of {part.origin}")


def _broken(what: str) -> InternalError:
    return InternalError(
        f"refexplorer cannot look up keys that the set has ({what}), so chunks would wrongly "
        "read as fill values. This is a bug: please report it, and open the set again."
    )


def _sample(part: Segment) -> Iterator[str]:
    """Yield keys from the whole of a segment that have a reference."""
    if isinstance(part, Records) and not part.is_read:
        return
    step = max(part.count // _SAMPLED, 1)
    for row in range(0, part.count, step):
        if part.reference_at(row) is not None:
            yield part.key_at(row)


def _key_found_by_look_up(part: Segment, key: str) -> str | None:
    """Return the key that look-up leads to, ``""`` if to none; None if it cannot be asked."""
    try:
        row = part.find(key)
    except LimitError:  # told to whoever asks, so nothing passes for missing
        return None
    return "" if row is None else part.key_at(row)


Forms = dict[str, tuple[str, int]]
"""By its name, the first key that is written so, and how many are."""
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_WORD = re.compile(_NAME, re.ASCII)
_LITERAL = r"(?:'[^'{}]*'|\"[^\"{}]*\"|[0-9]+)"
_CALL = re.compile(rf"{_NAME}\((?:{_NAME}={_LITERAL}(?:,\s*{_NAME}={_LITERAL})*)?\)", re.ASCII)
_ARITHMETIC = re.compile(r"(?!.*//)[A-Za-z0-9_ +\-*/()]+", re.ASCII)
_SUSPECT = r"[{\r\n]"


def written_forms(document: Document, entries: Entries | None) -> Forms:
    """Return the forms of the explicit references of a document, before templates are rendered."""
    bare = frozenset(n for n, each in document.templates.items() if not is_template(each.text))
    found: Forms = {}
    for key, value, count in _entries_of(document, entries):
        if isinstance(value, Mapping):
            names: tuple[str, ...] = ("object",)
        elif document.version and isinstance(value, list | tuple) and value:
            if isinstance(value[0], str):
                names = text_forms(value[0], bare, bool(document.templates))
            else:
                names = ("null-url-beside-templates",) if document.templates else ()
        else:
            continue
        for name in names:
            first, before = found.get(name, (key, 0))
            found[name] = first, before + count
    return found


def text_forms(text: str, bare: frozenset[str], has_templates: bool = True) -> tuple[str, ...]:
    """Return the names of the forms of one text that jinja2 renders."""
    marks = tuple(mark in text for mark in ("{{", "{%", "{#", "\n", "\r"))
    if not any(marks):
        return ()
    tags = tuple(_tags(text))
    is_odd = text.count("{") + text.count("}") != 4 * len(tags)
    return _forms(tags, marks, is_odd and marks[0], bare, has_templates)


def _tags(text: str) -> Iterator[str]:
    """Yield what is in braces; a pattern would take the square of a text that closes none."""
    start = text.find("{{")
    while start >= 0 and (end := text.find("}}", start + 2)) >= 0:
        yield text[start + 2 : end]
        start = text.find("{{", end + 2)


@lru_cache(1000)
def _forms(
    tags: tuple[str, ...], marks: tuple[bool, ...], is_odd: bool, bare: frozenset[str], known: bool
) -> tuple[str, ...]:
    """Return the forms of all texts with these tags: many URLs differ in what is around them."""
    is_rendered = marks[0]
    found = {"line-end" if is_rendered else "line-end-only": None} if any(marks[3:]) else {}
    if any(marks[1:3]):
        found["statement"] = None
    if is_rendered:
        found["template" if known else "no-templates"] = None
        found |= dict.fromkeys(filter(None, (_form_of_tag(tag, bare) for tag in tags)))
    if is_odd:
        found["single-brace"] = None
    return tuple(found)


def _form_of_tag(inner: str, bare: frozenset[str]) -> str:
    """Return the form of what is between braces; none for the bare name of a text."""
    name = inner.strip()
    if name in bare:
        return "spaced-name" if name != inner else ""
    if _CALL.fullmatch(name):
        return "temp-argument" if "temp=" in inner else "call"
    if _WORD.fullmatch(name):
        return "bare-call"
    is_trimmed = name[:1] in "-+" or name[-1:] in "-+"
    return "arithmetic" if _ARITHMETIC.fullmatch(name) and not is_trimmed else "expression"


def _entries_of(document: Document, entries: Entries | None) -> Iterator[tuple[str, object, int]]:
    """Yield keys and values as they are written; of a column of URLs those that may be rendered."""
    if entries is None:
        yield from ((key, value, 1) for key, value in document.refs.items())
        return
    for row, value in entries.values.items():
        yield entries.keys[row].as_py(), value, 1
    if not document.version:
        return
    suspects = flags_of(pc.match_substring_regex(entries.urls, _SUSPECT))
    if not suspects.any():
        return
    firsts = np.full(len(suspects) + 1, -1)
    firsts[entries.codes[::-1]] = np.arange(len(entries.codes))[::-1]
    counts = np.bincount(entries.codes + 1)[1:]
    chosen = np.flatnonzero(suspects & (firsts[:-1] >= 0))
    chosen = chosen[np.argsort(firsts[chosen], kind="stable")]
    keys = entries.keys.take(number_column(firsts[chosen])).to_pylist()
    urls = entries.urls.take(number_column(chosen)).to_pylist()
    for key, url, count in zip(keys, urls, counts[chosen].tolist(), strict=True):
        yield key, [url], count


@dataclass(frozen=True, eq=False)
class Contents:
    """The columns of a set, its findings, its templates and what its columns have lost.

    Dask sends a set with each task of some schedulers. The pickle therefore holds the contents as
    bytes beside a name, and a process that has met the name does not read the bytes: it has the
    tree and the index of the set already.
    """

    opened: OpenedSet
    findings: Findings
    templates: Mapping[str, Template] = field(default_factory=dict)
    # Of these contents, the same in each process
    name: str = field(default_factory=lambda: uuid4().hex)
    forms: Forms = field(default_factory=dict)

    def __reduce__(self) -> tuple[object, ...]:
        parts = (self.opened, self.findings, dict(self.templates), self.forms)
        written = pickle.dumps(parts, protocol=5)
        return _contents_again, (self.name, written)


_met: WeakValueDictionary[str, Contents] = WeakValueDictionary()
_kept: deque[Contents] = deque(maxlen=2)
"""The last ones, which would else be gone between two tasks."""


def _contents_again(name: str, written: bytes) -> Contents:
    found = _met.get(name)
    if found is None:
        opened, findings, templates, forms = pickle.loads(written)
        found = Contents(opened, findings, templates, name, forms)
        check_lookup(opened)
        _met[name] = found
    if found not in _kept:
        _kept.append(found)
    return found


class Internals:
    """The contents of a set, and the indexes over them, which are built when first asked for."""

    def __init__(self, contents: Contents) -> None:
        self.contents = contents
        self._page: tuple[tuple[int, int], list[tuple[str, Reference, str]]] | None = None

    @property
    def opened(self) -> OpenedSet:
        """The columns."""
        return self.contents.opened

    @property
    def findings(self) -> Findings:
        """The findings about everything that has been read so far."""
        return self.contents.findings

    @property
    def generated(self) -> tuple[GenItem, ...]:
        """The gen items that make keys, in the order of the document."""
        parts = self.opened.segments
        return tuple(part.item for part in parts if isinstance(part, Generated))

    @cached_property
    def array_states(self) -> ArrayStates:
        """The chunks of each array by state."""
        return array_states(self.opened)

    @property
    def is_counted(self) -> bool:
        """Whether the chunks were counted, so that `array_states` takes no time."""
        return "array_states" in vars(self)

    @cached_property
    def target_index(self) -> TargetIndex:
        """All references by their targets; of very large gen items only the first ones."""
        return TargetIndex(self.opened)

    @cached_property
    def example_urls(self) -> tuple[str | None, ...]:
        """One target for each protocol, host and kind of path; None for those without a name."""
        return example_urls(self.opened)

    def entries_at(self, start: int, stop: int) -> list[tuple[str, Reference, str]]:
        """Return the keys numbered `start` to `stop`, each with its reference and origin."""
        if self._page is None or self._page[0] != (start, stop):
            found = [
                (key, reference, part.origin)
                for part, low, high in self.opened.intervals(start, stop)
                for key, reference in part.iterate(low, high)
            ]
            self._page = (start, stop), found  # the editor compares a page with the one after it
        return self._page[1]


class SetLike(Protocol):
    """What rooms on the left of `ReferenceSet` ask of an opened set, which has it all."""

    @property
    def _internals(self) -> Internals: ...

    @property
    def source(self) -> Source:
        """Where the set came from."""

    @property
    def limits(self) -> Limits:
        """The limits of reading it."""

    @property
    def diagnostics(self) -> tuple[Finding, ...]:
        """The diagnostics."""

    def __getitem__(self, key: str, /) -> Reference:
        """Return the reference of a key; KeyError if there is none."""

    def get(self, key: str, /) -> Reference | None:
        """Return the reference of a key; None if there is none, or if a template fails for it."""

    def rejection(self, key: str) -> Finding | None:
        """Return the error because of which a key of the source was rejected, or None."""

    def __iter__(self) -> Iterator[str]:
        """Yield the keys."""

    def __contains__(self, key: object, /) -> bool:
        """Whether there is such a key."""

    def children(self, path: str = "", start: int = 0, stop: int | None = None) -> Page:
        """Return a page of one level of the tree; KeyError if there is no such path."""

    def summary(self, path: str = "") -> Summary:
        """Count what is below a path."""

    def arrays(self) -> tuple[str, ...]:
        """Return the paths of all arrays."""

    def array_of(self, key: str) -> tuple[str, tuple[int, ...]] | None:
        """Return the array that a key is a chunk of, and the chunk's index."""

    def array(self, path: str) -> ArrayMeta:
        """Return the metadata of an array; KeyError if there is no such array."""


def internals(references: SetLike) -> Internals:
    """Return the internals of a set, which its public face does not show."""
    return references._internals
