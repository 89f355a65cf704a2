"""Inference: gen items, templates, the proof that they generate the set, the document."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, islice, product
from keyword import iskeyword
from string import ascii_letters, digits
from typing import Any

import numpy as np

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.files import Progress
from refexplorer.formats.columns.references import Columns, json_text
from refexplorer.formats.columns.table import Table
from refexplorer.refset.generated import Generated
from refexplorer.refset.inference.groups import (
    Group,
    additive_grids,
    bases,
    even_grids,
    evenly,
    full_grids,
    groups_of,
    own_field,
    profiles,
)
from refexplorer.refset.segments import BLOCK, block_of
from refexplorer.refset.writing.json import WatchBlocks, means_v1, retargeted, written
from refexplorer.spec.document import UrlReader, read_document
from refexplorer.spec.gen.item import GenItem
from refexplorer.spec.references import BadReference
from refexplorer.spec.templates.template import is_template, rendered_plain

NAMES = ("i", "j", "k", "l", "m", "n", "o", "p", "q", "r")
"""Names of dimensions, in the order of the numbers of a key."""
_TENS = 10 ** np.arange(1, 19, dtype=np.int64)
_READ = re.compile(r"[{\r\n]")


@dataclass(frozen=True)
class FoundItem:
    """A gen item and the rows that it replaces, in the order in which it generates them."""

    rows: np.ndarray
    source: dict[str, Any]


def write_item(group: Group, grid: np.ndarray) -> FoundItem | None:
    """Return the gen item of a grid whose fields grow by constant steps; None if none fits."""
    rows = grid.ravel()
    pads = [
        _pad(numbers[rows], widths[rows])
        for numbers, widths in zip(group.fields, group.widths, strict=True)
    ]
    shares = [share for share in profiles(group.fields, grid) if share.shape[1] > 1]
    if len(NAMES) < len(shares) or None in pads:
        return None
    base = group.fields[:, rows[0]].copy()
    terms: list[list[str]] = [[] for _ in base]
    dimensions: dict[str, object] = {}
    for name, share in zip(NAMES, shares, strict=False):
        own = own_field(share, group.keys)
        if own is None:
            return None
        numbers = next(
            each for each in bases(share, group.keys) if evenly(share, each) == len(each)
        )
        growth = share[:, 1] // numbers[1]
        if growth[own] == 1:  # the numbers of the key, as they are in it
            numbers = numbers + base[own]
            base -= growth * numbers[0]
        dimensions[name] = _dimension(numbers)
        for number, step in enumerate(growth.tolist()):
            terms[number] += [_times(name, step)] if step else []
    texts = [
        _number(constant, added, pad or 0)
        for constant, added, pad in zip(base.tolist(), terms, pads, strict=True)
    ]
    return FoundItem(group.rows[rows], _source(group, dimensions, texts))


def _times(name: str, factor: int) -> str:
    return name if factor == 1 else f"{name} * {factor}"


def _source(group: Group, dimensions: dict[str, object], texts: list[str]) -> dict[str, Any]:
    source: dict[str, Any] = {
        "key": _filled(group.key, texts[: group.keys]),
        "url": _filled(group.url, texts[group.keys :]),
    }
    if group.ranges:
        source |= {"offset": texts[-2], "length": texts[-1]}
    return source | {"dimensions": dimensions}


def _dimension(values: np.ndarray) -> object:
    step = int(values[1] - values[0]) if len(values) > 1 else 1
    if np.any(np.diff(values) != step):
        return values.tolist()
    found = {"start": int(values[0]), "stop": int(values[-1]) + 1, "step": step}
    defaults = {"start": 0, "step": 1}
    return {name: value for name, value in found.items() if defaults.get(name) != value}


def _pad(numbers: np.ndarray, widths: np.ndarray) -> int | None:
    """Return the width to which numbers are zero-padded, 0 for none; None if it varies."""
    width = int(widths.min())
    digits = np.searchsorted(_TENS, numbers, side="right").astype(np.uint8) + np.uint8(1)
    if not width or np.array_equal(digits, widths):
        return 0
    return width if np.array_equal(np.maximum(digits, width), widths) else None


def _number(base: int, terms: list[str], pad: int) -> str:
    """Format a field: a number, or an expression in braces."""
    if not terms:
        return f"{base:0{pad}d}"
    total = " + ".join(terms) + (f" {'+' if base > 0 else '-'} {abs(base)}" if base else "")
    return f"{{{{'%0{pad}d' % ({total})}}}}" if pad else f"{{{{{total}}}}}"


def _filled(words: str, texts: list[str]) -> str:
    """Insert numbers between words."""
    literals = [literal(word) for word in words.split("0")]
    return literals[0] + "".join(
        text + word for text, word in zip(texts, literals[1:], strict=False)
    )


def literal(text: str) -> str:
    """Escape literal text in a template: braces and line ends would not be preserved."""
    return _READ.sub(lambda match: f"{{{{{match[0]!r}}}}}", text)


MOST_ITEMS = 1000  # gen items of one document, those with the most keys first
BUDGET = 500  # Parts of the rows of one group that are looked at


def _items(group: Group) -> Iterator[FoundItem]:
    """Yield the items of full grids that are shorter than their references; others are kept."""
    for grid in full_grids(group.fields, group.keys, BUDGET):
        for additive in additive_grids(group.fields, grid, BUDGET):
            for even in even_grids(group.fields, additive, group.keys, BUDGET):
                if (item := write_item(group, even)) is not None:
                    # of its references, with short templates
                    size = len(item.rows) * (len(group.key) + 10 + 14 * group.ranges)
                    if size > len(json_text(item.source)):
                        yield item


def proved(
    sources: Sequence[Mapping[str, Any]],
    templates: Mapping[str, str],
    rows: Sequence[np.ndarray],
    table: Table,
    report: Callable[[int], None],
) -> list[int]:
    """Return the positions of the gen items that generate exactly the references they replace."""
    document = read_document({"version": 1, "templates": templates, "gen": sources})
    good: list[int] = []
    seen = 0
    for made in document.gen:
        wanted = rows[made.number]
        if (
            made.certain
            and made.count == len(wanted)
            and all(_blocks(made, table, wanted, report, seen))
        ):
            good.append(made.number)
        seen += len(wanted)
    return good


def _blocks(
    made: GenItem, table: Table, rows: np.ndarray, report: Callable[[int], None], seen: int
) -> Iterator[bool]:
    """Return for each block of table rows whether a gen item generates it, in this order."""
    for start in range(0, made.count, BLOCK):
        report(seen + start)
        expanded = block_of(Generated(made), start, min(start + BLOCK, made.count))
        wanted = table.select(rows[start : start + BLOCK])
        yield wanted.keys.equals(expanded.keys) and _same(wanted.columns, expanded.columns)


def _same(wanted: Columns, found: Columns) -> bool:
    """Return whether two columns have the same references to targets, row by row."""
    first, second = wanted.targets, found.targets
    if len(first) != len(second) or (first < 0).any() or (second < 0).any():
        return False
    positions = np.full(len(found.urls), -1, np.int64)
    positions[second] = first
    used = np.flatnonzero(positions >= 0)
    return (
        np.array_equal(positions[second], first)
        and [wanted.urls[position] for position in positions[used]] == found.urls.at(used)
        and np.array_equal(wanted.kinds, found.kinds)
        and np.array_equal(wanted.offsets, found.offsets)
        and np.array_equal(wanted.lengths, found.lengths)
    )


def urls_read_back(texts: Iterable[str], urls: Iterable[str], templates: Mapping[str, str]) -> bool:
    """Return whether each jinja-str renders to its URL."""
    reader = UrlReader(read_document({"version": 1, "templates": templates}))
    try:
        return all(reader.read(text) == url for text, url in zip(texts, urls, strict=True))
    except BadReference:
        return False


_TAKEN = {*NAMES, "self", "true", "false", "none", "loop", "do", "set", "call", "filter", "block"}
_LETTERS = "u" + ascii_letters.replace("u", "")
_DEFINITION = 6  # Characters around the name and text of a template in the document
_BRACES = 4  # characters of `{{}}`
LONGEST = 2_000  # Characters of the text of a template: one may begin at each slash of a URL
MOST_RENDERED = 50_000
"""More distinct URLs keep their starts, since every reader would have to render each of them."""


@dataclass(frozen=True)
class Templates:
    """Templates, and the notation of URLs with them."""

    # The templates section: names and jinja-strs
    texts: dict[str, str] = field(default_factory=dict)
    # The name of the template for a URL or for the start of one
    names: dict[str, str] = field(default_factory=dict)

    def write(self, url: str) -> str:
        """Return the jinja-str for a URL."""
        start = url if url in self.names else self.start_of(url)
        if not start:
            return _as_template(url)
        return f"{{{{{self.names[start]}}}}}{literal(url[len(start) :])}"

    def write_start(self, text: str) -> str:
        """Replace the literal start of a jinja-str by a template."""
        start = self.start_of(text.partition("{{")[0])
        return f"{{{{{self.names[start]}}}}}{text[len(start) :]}" if start else text

    def start_of(self, url: str) -> str:
        """Return the longest folder of a URL that has a template, or an empty text."""
        start = folder(url[:LONGEST])
        while start and start not in self.names:
            start = folder(start[:-1])
        return start

    def add(self, start: str, names: Iterator[str]) -> None:
        """Define a template."""
        self.names[start] = name = next(names)
        self.texts[name] = _as_template(start)


def _as_template(text: str) -> str:
    return literal(text) if is_template(text) or rendered_plain(text) != text else text


def folder(url: str) -> str:
    """Return a URL up to its last slash."""
    return url[: url.rfind("/") + 1]


def find_templates(urls: Sequence[str], uses: Sequence[int], heads: Iterable[str]) -> Templates:
    """Choose templates that make the document shorter."""
    found, names = Templates(), _names()
    left: Counter[str] = Counter()
    for url, used in sorted(zip(urls, uses, strict=True), key=lambda pair: -pair[1]):
        if _saves(url, used):
            found.add(url, names)
        elif len(urls) <= MOST_RENDERED:
            left[folder(url)] += used
    left.update(folder(head) for head in heads)
    rest = {start: used for start, used in left.items() if start and not _saves(start, used)}
    for start, used in left.most_common():
        if start and _saves(start, used):
            found.add(start, names)
    common = folder(os.path.commonprefix(list(rest)))  # noqa: RUF071  cut at a slash
    if common and common not in found.names and _saves(common, sum(rest.values())):
        found.add(common, names)
    return found


def _saves(text: str, used: int) -> bool:
    """Return whether a template with a two-letter name is shorter than the text it replaces."""
    return len(text) <= LONGEST and used * (len(text) - _BRACES - 2) > len(text) + _DEFINITION + 2


def _names() -> Iterator[str]:
    """Yield possible template names, short ones first."""
    for more in count():
        for letters in product(_LETTERS, *[ascii_letters + digits] * more):
            name = "".join(letters)
            if name not in _TAKEN and not iskeyword(name):
                yield name


@dataclass(frozen=True)
class Inferred:
    """A V1 document, or V0 if no template and no gen item makes it shorter."""

    templates: dict[str, str]  # The templates section
    gen: tuple[dict[str, Any], ...]  # The gen items
    table: Table  # All references that the document is for
    kept: np.ndarray  # The rows of those that are written out, shape ``(n,)``
    # Returns the text to write for a URL: a jinja-str in V1, the URL itself in V0
    write: Callable[[str], str]
    least: int = 0  # The version that the document has at least

    @property
    def version(self) -> int:
        """0 if the document is V0; then its URLs are written unchanged."""
        return 1 if self.templates or self.gen else self.least

    @cached_property
    def size(self) -> int:
        """Bytes of the document as JSON."""
        return sum(map(len, self.blocks()))

    def blocks(self, objects: bool = False, watch: WatchBlocks = iter) -> Iterator[bytes]:
        """Yield the document as JSON, one block of references per line, as for `written`."""
        if self.version:
            parts = {"templates": self.templates, "gen": self.gen}
            head = {"version": 1} | {name: part for name, part in parts.items() if part}
            yield json_text(head)[:-1].encode() + b',"refs":{\n'
        start = b"" if self.version else b"{"
        for block in watch(self._explicit()):
            for members in written(block, objects):
                yield start
                yield members
                start = b",\n"
        yield (b"{" if start == b"{" else b"") + b"}" * (1 + self.version)

    def _explicit(self) -> Iterator[Table]:
        for start in range(0, len(self.kept), BLOCK):
            block = self.table.select(self.kept[start : start + BLOCK])
            yield retargeted(block, [self.write])


def as_it_is(table: Table) -> Inferred:
    """Return references as V0."""
    return Inferred({}, (), table, np.arange(table.count, dtype=np.int32), lambda url: url)


def as_version_1(table: Table) -> Inferred:
    """Return references as V1 without templates and gen items."""
    return replace(as_it_is(table), write=find_templates([], [], []).write, least=1)


def infer_table(table: Table, least: int = 0, progress: Progress | None = None) -> Inferred:
    """Find the shortest document for the references of a table, based on their numbers."""
    total = 3 * table.count
    report = progress or (lambda done, of: None)
    groups = groups_of(table, lambda rows: report(rows, total))
    items = [item for group in groups for item in islice(_items(group), MOST_ITEMS)]
    items = sorted(items, key=lambda item: -len(item.rows))[:MOST_ITEMS]
    if means_v1(table):
        least = 1
    while True:
        found = _with_templates(table, items, least)
        if found is None and least:
            raise RefexplorerError("A URL of the set is too long to write as V1.")
        if found is None or not found.version:
            return as_it_is(table)
        rows = [item.rows for item in items]
        good = proved(
            found.gen, found.templates, rows, table, lambda n: report(2 * table.count + n, total)
        )
        if len(good) == len(items):
            return found
        items = [items[position] for position in good]


def _with_templates(table: Table, items: Sequence[FoundItem], least: int) -> Inferred | None:
    """Return the document with templates; None if its URLs cannot be read back from it."""
    explicit = np.ones(table.count, np.bool_)
    for item in items:
        explicit[item.rows] = False
    kept = np.flatnonzero(explicit).astype(np.int32)
    codes, uses = np.unique(table.columns.targets[kept], return_counts=True)
    first = int(np.searchsorted(codes, 0))
    named = zip(table.columns.urls.at(codes[first:]), uses[first:].tolist(), strict=True)
    used = {url: count for url, count in named if url is not None}
    heads = [item.source["url"].partition("{{")[0] for item in items]
    templates = find_templates([*used], [*used.values()], heads)
    if not urls_read_back(map(templates.write, used), used, templates.texts):
        return None
    gen = tuple({**item.source, "url": templates.write_start(item.source["url"])} for item in items)
    return Inferred(templates.texts, gen, table, kept, templates.write, least)
