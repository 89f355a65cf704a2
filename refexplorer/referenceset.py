"""The `ReferenceSet` that people hold; `refexplorer.opening` makes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from refexplorer.display.html import references_html
from refexplorer.display.text import summary_text, tree_text
from refexplorer.errors import RefexplorerError
from refexplorer.formats.locating import locator_of
from refexplorer.formats.source import ZMETADATA, Source
from refexplorer.limits import Limits
from refexplorer.refset.grids.chunk_grid import ChunkGrid
from refexplorer.refset.lint.linting import lint
from refexplorer.refset.opened.contents import Contents
from refexplorer.refset.opened.numbering import number_of, numbers_from
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.queries.explaining import explain
from refexplorer.refset.queries.removal import Removed, removed_keys
from refexplorer.refset.queries.summary import Summary, summarize
from refexplorer.refset.search.key_search import KeySearch
from refexplorer.refset.segments.segment import Generated
from refexplorer.refset.targets.example_urls import example_urls
from refexplorer.refset.targets.layout import TargetLayout, TargetSummary
from refexplorer.refset.targets.target_index import TargetIndex
from refexplorer.refset.tree.nodes import Node, Page
from refexplorer.spec.core.diagnostics import Diagnostic, Findings, Locate, placed
from refexplorer.spec.core.references import Kind, Reference
from refexplorer.spec.core.zarr_metadata import ArrayMeta
from refexplorer.spec.document.explanation import Explanation
from refexplorer.spec.gen.item import GenItem
from refexplorer.spec.templates.template import Template
from refexplorer.spec.templates.trusted import compiler_for
from refexplorer.writing import WritableSet


class ReferenceSet(WritableSet):
    """An opened reference set: a mapping from keys to references, and questions to it.

    Made by `refexplorer.open_references`. Nothing here reads a target; what does is in
    `refexplorer.reading.ReadableSet`, and says what it reads.

    Attributes
    ----------
    source
        Where it came from; ``source.form`` is ``"V0"``, ``"V1"`` or ``"parquet"``.
    limits
        What it may cost.
    templates
        The compiled templates of V1, by name.
    trusted
        Whether its templates may use all of jinja2's sandbox.
    """

    def __init__(
        self,
        source: Source,
        opened: OpenedSet,
        findings: Findings,
        limits: Limits,
        templates: Mapping[str, Template] | None = None,
        trusted: bool = False,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.source = source
        self.limits = limits
        self.templates = dict(templates or {})
        self.trusted = trusted
        self.storage_options = dict(storage_options or {})
        self._opened = opened
        self._findings = findings
        self._window: tuple[tuple[int, int], list[tuple[str, Reference, str]]] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        told = (self.source.portable(), self.limits, self.trusted, self.storage_options)
        return _set_again, (*told, self._contents)

    @cached_property
    def _contents(self) -> Contents:
        """What does not change, so that a process that has it already takes it from there."""
        return Contents(self._opened, self._findings, self.templates)

    def __getitem__(self, key: str) -> Reference:
        if not isinstance(key, str):
            raise KeyError(key)
        found = self._opened.lookup(key)
        if found is None:
            raise self._opened.missing(key)
        return found[1]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._opened.holds(key)

    def __iter__(self) -> Iterator[str]:
        return (key for key, _ in self._opened.iterate())

    def __len__(self) -> int:
        return self.count

    __eq__ = object.__eq__  # comparing every key would never end for a large gen
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<ReferenceSet {self.source.name!r}, {self.source.form}, {self.count:,} keys>"

    def __str__(self) -> str:
        return f"{summary_text(self)}\n{tree_text(self, levels=1)}"

    def _repr_html_(self) -> str:
        return references_html(self)

    @property
    def opened(self) -> OpenedSet:
        """The columns behind it, for what goes through all keys."""
        return self._opened

    @property
    def count(self) -> int:
        """How many keys there are; exact also where `len` would overflow."""
        return self._opened.count

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What is wrong or odd, errors first; found when it is first asked for."""
        self._opened.read_all()
        findings = Findings()
        findings.extend(self._findings)
        version = 1 if self.source.form == "V1" else 0
        lint(self._opened, version, self._base, findings)
        return findings.freeze(locator_of(self.source))

    def left_out(self, key: str) -> Diagnostic | None:
        """Return the error because of which a key of the source is not in the set.

        None if it is in the set, or the source has no such key. In a large document only the
        pointer says where.
        """
        found = self._opened.left_out(key)
        is_short = not self.source.is_large
        return placed(found, self._locate) if found and is_short and self._locate else found

    @cached_property
    def _locate(self) -> Locate | None:
        """What finds a pointer in the text; what it walked through it does not walk again."""
        return locator_of(self.source)

    @property
    def _base(self) -> str:
        """What the pointer of an explicit key starts with."""
        return {"V0": "", "V1": "/refs", "parquet": ZMETADATA}[self.source.form]

    def keys_at(self, start: int, stop: int) -> list[str]:
        """Return the keys numbered `start` to `stop`, in the order of the set."""
        return [key for key, _ in self._opened.iterate(start, stop)]

    def entries_at(self, start: int, stop: int) -> list[tuple[str, Reference, str]]:
        """Return the keys numbered `start` to `stop`, each with its reference and origin."""
        if self._window is None or self._window[0] != (start, stop):
            found = [
                (key, reference, part.origin)
                for part, low, high in self._opened.stretches(start, stop)
                for key, reference in part.iterate(low, high)
            ]
            self._window = (start, stop), found  # a page is compared with what comes after it
        return self._window[1]

    def number(self, key: str) -> int:
        """Return the number of a key, from 0, in the order of the set.

        Raises
        ------
        KeyError
            If there is no such key.
        """
        return number_of(self._opened, key)

    def numbers(self, origin: str) -> range:
        """Return the numbers of all keys of one origin, such as ``"gen[0]"``."""
        return numbers_from(self._opened, origin)

    @property
    def generated(self) -> tuple[GenItem, ...]:
        """The gen items that make keys, in the order of the document."""
        parts = self._opened.segments
        return tuple(part.item for part in parts if isinstance(part, Generated))

    def removed(self, after: ReferenceSet) -> Removed:
        """Return which keys of this set another one, a later state of it, no longer has."""
        return removed_keys(self._opened, after._opened)

    def children(self, path: str = "", start: int = 0, stop: int | None = None) -> Page:
        """Return one page of one tree level; ``""`` is the root.

        Raises
        ------
        KeyError
            If there is no such path.
        """
        return self._opened.page(path, start, stop)

    def node(self, path: str) -> Node:
        """Return the row of the tree for a path.

        Raises
        ------
        KeyError
            If there is no such path.
        """
        return self._opened.node(path)

    def position(self, path: str) -> int:
        """Return the place of a path among its siblings, from 0.

        Raises
        ------
        KeyError
            If there is no such path.
        """
        return self._opened.position(path)

    def parent(self, path: str) -> str:
        """Return the folder under which the tree shows a path."""
        return self._opened.parent(path)

    def find(
        self,
        pattern: str,
        *,
        mode: str = "glob",
        kind: Kind | str | Iterable[Kind | str] | None = None,
    ) -> Iterator[str]:
        """Yield the keys that match, lazily, in the order of the set.

        Parameters
        ----------
        pattern
            What to look for; a ``*`` of a glob also stands for slashes.
        mode
            ``"glob"``, ``"regex"`` or ``"substring"``.
        kind
            One kind or several; None stands for all.

        Raises
        ------
        RefexplorerError
            If the mode or kind is unknown, the pattern holds half a surrogate pair, or the regular
            expression cannot be read or is none of RE2's, which knows no look-around and no back
            references.
        LimitError
            After all that was found, if a gen item makes more keys than are searched.
        """
        if any("\ud800" <= letter <= "\udfff" for letter in pattern):
            raise RefexplorerError("The pattern holds half a surrogate pair, which no key holds.")
        return self._search.find(pattern, mode, _kinds(kind))

    @cached_property
    def _search(self) -> KeySearch:
        return KeySearch(self._opened)

    def summary(self, path: str = "") -> Summary:
        """Count kinds, bytes, targets and missing chunks below a path; ``""`` is the whole set.

        Raises
        ------
        KeyError
            If there is no such folder.
        """
        return summarize(self._opened, path)

    def arrays(self) -> tuple[str, ...]:
        """Return the paths of all arrays whose metadata can be read."""
        return self._opened.arrays.paths

    def array(self, path: str) -> ArrayMeta:
        """Return the metadata of the array at a path.

        Raises
        ------
        KeyError
            If there is no array, or its metadata cannot be read.
        """
        found = self._opened.arrays.get(path)
        if found is None:
            raise KeyError(path)
        return found

    def array_of(self, key: str) -> tuple[str, tuple[int, ...]] | None:
        """Return the path of the array that a key is a chunk of, and the chunk's index."""
        found = self._opened.arrays.of_key(key)
        return None if found is None else (found[0].path, found[1])

    def chunk_grid(self, path: str) -> ChunkGrid:
        """Return what each chunk of the array at a path refers to, on the grid of its chunks.

        Raises
        ------
        KeyError
            If there is no array, or its metadata cannot be read.
        """
        return ChunkGrid(self._opened, self.array(path))

    @cached_property
    def target_index(self) -> TargetIndex:
        """All references by their targets; of very large gen items only the first ones."""
        return TargetIndex(self._opened)

    @cached_property
    def example_urls(self) -> tuple[str | None, ...]:
        """One target for each protocol, host and kind of path; None for those without a name."""
        return example_urls(self._opened)

    def targets(self, start: int = 0, stop: int | None = None) -> list[TargetSummary]:
        """Return the targets numbered `start` to `stop`, in the order of the set."""
        return self.target_index.targets(start, stop)

    def layout(self, url: str | None) -> TargetLayout:
        """Return which byte ranges of a target are referenced, and by which keys.

        Raises
        ------
        KeyError
            If no reference names the target.
        """
        return self.target_index.layout(url)

    def origin(self, key: str) -> str:
        """Say where a key comes from: ``"refs"``, ``"gen[0]"`` or ``"parquet"``.

        Raises
        ------
        KeyError
            If there is no such key.
        """
        found = self._opened.lookup(key)
        if found is None:
            raise KeyError(key)
        return found[0].origin

    def explain(self, key: str) -> Explanation:
        """Tell how a key came about: its entry, gen item or record, each template, the reference.

        Raises
        ------
        KeyError
            If there is no such key.
        """
        compiler = compiler_for(self.trusted)
        return explain(
            self._opened, key, self.source, self._base, self.templates, self.limits, compiler
        )


def _set_again(
    source: Source,
    limits: Limits,
    trusted: bool,
    storage_options: Mapping[str, Any],
    contents: Contents,
) -> ReferenceSet:
    """Put a set together that came from another process."""
    found = source.found_again()
    opened, findings, templates = contents.opened, contents.findings, contents.templates
    again = ReferenceSet(found, opened, findings, limits, templates, trusted, storage_options)
    again.__dict__["_contents"] = contents
    return again


def _kinds(kind: Kind | str | Iterable[Kind | str] | None) -> tuple[Kind, ...]:
    if kind is None:
        return ()
    kinds = (kind,) if isinstance(kind, str) else tuple(kind)
    for one in kinds:
        if one not in [*Kind]:
            raise RefexplorerError(f"There is no kind {one!r}; use one of {', '.join(Kind)}.")
    return tuple(map(Kind, kinds))
