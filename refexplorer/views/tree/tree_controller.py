"""The controller of the tree: its rows, and those of an active search."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from refexplorer.core.errors import LimitError, RefexplorerError
from refexplorer.refset.conventions import finer_levels
from refexplorer.refset.opened_set import internals
from refexplorer.refset.search import GLOB_MARKS, SearchStep, find_steps
from refexplorer.refset.tree import Node
from refexplorer.spec.codes import Severity
from refexplorer.spec.references import Inline, Kind, NodeType, folders_above, prefix
from refexplorer.spec.zarr_metadata import ArrayMeta
from refexplorer.views.code.cells import code_of_search
from refexplorer.views.health.health import (
    Badges,
    ChunkHealth,
    StateName,
    checked,
    keys_in_state,
    strip_of,
)
from refexplorer.views.key.inspector import REJECTED
from refexplorer.views.maps.chunk_map import StripColour, coloured_strip
from refexplorer.views.maps.target_map import sorted_targets
from refexplorer.views.tree.rows import (
    AllKeys,
    ChangedKeys,
    ChangeMarks,
    Row,
    RowChanges,
    TargetKeys,
    TreeListing,
    TroubleKeys,
    VisibleTree,
    node_of,
    row,
)
from refexplorer.views.wire.context import ExplorerPart, ViewContext, held_axes, known
from refexplorer.views.wire.jobs import JobReport, go_on
from refexplorer.views.wire.requests import Count, job, request, within

if TYPE_CHECKING:
    from refexplorer.verbs.differing import Difference
    from refexplorer.verbs.referenceset import ReferenceSet


ORDERED = 2_000
"""Folders of more children keep their own order: sorting them would read every array."""
_LOOKED_AT = 200  # Arrays of which the data variables are looked for: the first screen waits for it
_SHORT = 4
"""Arrays of one dimension and so few values are bounds and the like, whatever they are called."""
_LINKS = ("coordinates", "bounds", "grid_mapping")
"""Attributes (CF conventions) that name variables which describe the one that has them."""


class ScienceOrder(AllKeys):
    """All keys of a set, with the most interesting ones at the top of each group."""

    def __init__(self, refs: ReferenceSet) -> None:
        super().__init__(refs)
        self._orders: dict[str, tuple[list[int], dict[str, int]] | None] = {}

    def nodes(self, path: str, first: int, last: int) -> Iterable[Node]:
        """Return some children."""
        if (order := self._order(path)) is None:
            return super().nodes(path, first, last)
        own = list(super().nodes(path, 0, len(order[0])))
        return [own[place] for place in order[0][first:last]]

    def place(self, path: str) -> tuple[str, int]:
        """Return where a path is shown."""
        folder, position = super().place(path)
        order = self._order(folder)
        return folder, position if order is None else order[1].get(path, position)

    def _order(self, path: str) -> tuple[list[int], dict[str, int]] | None:
        """Return the sorted children of a group, and the position of each path."""
        if path not in self._orders:
            self._orders[path] = self._sort(path)
        return self._orders[path]

    def _sort(self, path: str) -> tuple[list[int], dict[str, int]] | None:
        count = self.count(path)
        if not 0 < count <= ORDERED:
            return None
        nodes = list(super().nodes(path, 0, count))
        if all(node.type is NodeType.KEY for node in nodes):
            return None
        ranks = _ranks(self._refs, path, nodes)
        order = sorted(range(count), key=lambda place: (ranks[place], place))
        return order, {nodes[place].path: at for at, place in enumerate(order)}


def _ranks(refs: ReferenceSet, folder: str, nodes: list[Node]) -> list[tuple[int, int]]:
    """Return the class of each child of a group, and its sort key: the largest first."""
    known = internals(refs).opened.arrays  # not of arrays whose metadata cannot be used
    arrays = {node.path: array for node in nodes if (array := known.get(node.path)) is not None}
    beside = described(refs, folder, arrays)
    ranks = []
    for node in nodes:
        array = arrays.get(node.path)
        if array is None:
            ranks.append((4 if node.type is NodeType.KEY else 3, 0))
        elif not array.shape or math.prod(array.shape) == 1:
            ranks.append((2, 0))
        elif node.path in beside or (len(array.shape) == 1 and array.shape[0] <= _SHORT):
            ranks.append((1, 0))
        else:
            ranks.append((0, -math.prod(array.shape) * (array.itemsize or 8)))
    return ranks


def described(refs: ReferenceSet, folder: str, arrays: Mapping[str, ArrayMeta]) -> set[str]:
    """Return the arrays of a group that describe others: coordinates, bounds, grid mappings."""
    names = set(_coordinates_of_group(refs, folder))
    for array in arrays.values():
        names.update(name for name in array.dimensions or () if name)
        for link in _LINKS:
            text = array.attributes.get(link)
            if isinstance(text, str):
                names.update(text.replace(":", " ").split())
    return {path for path in arrays if path[len(prefix(folder)) :] in names}


def data_variables(refs: ReferenceSet, most: int) -> list[str]:
    """Return the first data variables, the largest first; of a pyramid, the coarsest level."""
    finer = finer_levels(internals(refs).opened)
    found: list[str] = []
    by_folder: dict[str, dict[str, ArrayMeta]] = {}
    for path in refs.arrays()[:_LOOKED_AT]:
        by_folder.setdefault(path.rpartition("/")[0], {})[path] = refs.array(path)
    for folder, arrays in by_folder.items():
        beside = described(refs, folder, arrays)
        data = [
            (math.prod(array.shape) * (array.itemsize or 8), path)
            for path, array in arrays.items()
            if path not in beside
            and path not in finer
            and math.prod(array.shape) > (_SHORT if len(array.shape) < 2 else 1)
        ]
        found += [path for _, path in sorted(data, key=lambda each: -each[0])]
    return found[:most]


def _coordinates_of_group(refs: ReferenceSet, folder: str) -> list[str]:
    """Return the coordinates named in a group's attributes, as by xarray and kerchunk."""
    for name in (".zattrs", "zarr.json"):
        reference = refs.get(f"{folder}/{name}".lstrip("/"))
        if not isinstance(reference, Inline):
            continue
        with suppress(ValueError):
            document = json.loads(reference.data)
            attributes = document.get("attributes") if name == "zarr.json" else document
            text = attributes.get("coordinates") if isinstance(attributes, dict) else None
            return text.split() if isinstance(text, str) else []
    return []


CAP = 100_000  # matches that one search finds
_SLICE = 2**20
"""Keys that are gone through for an answer, a tenth of a second: then the first hits are shown."""


class KeySearch:
    """A search that runs in slices."""

    def __init__(self, steps: Iterator[SearchStep], code: Callable[[bool], str]) -> None:
        self.found: list[str] = []
        self._steps = steps
        self._code = code
        self._in_targets = 0
        self._is_capped = False
        self._is_done = False
        self._lock = threading.Lock()

    @property
    def code(self) -> str:
        """Python that finds the same."""
        return self._code(self._in_targets > 0)

    def go_on(self) -> KeysFound:
        """Search the next keys."""
        with self._lock:
            work = 0
            while not self._is_done and work < _SLICE:
                work += self._step()
            total = len(self.found)
            return KeysFound(total, self._is_capped, self._in_targets, not self._is_done)

    def _step(self) -> int:
        try:
            keys, work, is_target = next(self._steps)
        except StopIteration:
            self._is_done = True
            return 0
        except LimitError:
            self._is_done = self._is_capped = True
            return 0
        taken = keys[: CAP - len(self.found)]
        self.found += taken
        self._in_targets += len(taken) if is_target else 0
        if len(taken) < len(keys):
            self._is_done = self._is_capped = True
        return work


class TreePage(Struct, frozen=True):
    """Some of the rows, and their number."""

    start: Count
    total: Count
    rows: tuple[Row, ...]


class TreeChange(Struct, frozen=True):
    """The current number of rows, and the position of the requested one; -1 if not shown."""

    total: Count
    index: Count


class KeysFound(Struct, frozen=True):
    """The number of keys found, and whether there may be more."""

    total: Count
    capped: bool
    in_targets: Count = 0  # Of these, the keys of which only the target matches; they come last
    unfinished: bool = False  # Whether `tree.more` goes on; until then these are the first ones


class AxisMark(Struct, frozen=True):
    """Irregular places in the coordinate of a dimension."""

    axis: int  # The dimension
    severity: Severity
    message: str
    places: tuple[float, ...]  # The first, counted in elements; a half lies between two
    count: int  # How many there are


class StripsShown(Struct, frozen=True):
    """The state of the chunks along each dimension of an array."""

    strips: tuple[str, ...]  # Of each dimension, as `Row.strip`
    marks: tuple[AxisMark, ...]  # None as long as the notes of a large set are not known


def axis_marks(refs: ReferenceSet, array: ArrayMeta) -> Iterator[AxisMark]:
    """Yield irregularities in the inline coordinates of an array."""
    sizes = {each.path: each.size for each in held_axes(refs).axes}
    for axis, (name, size) in enumerate(zip(array.dimensions or (), array.shape, strict=False)):
        paths = (f"{folder}/{name}".lstrip("/") for folder in folders_above(array.path))
        path = next((path for path in paths if name and sizes.get(path) == size), None)
        for finding, places, count in held_axes(refs).odd:
            if finding.array == path:
                yield AxisMark(axis, finding.severity, finding.message, places, count)


class TreeController:
    """Handles the requests of the tree and its search."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._internals = internals(self._refs)
        self._log = context.failure_log
        self._lock = context.lock
        self._did = context.did
        self._comparison = context.comparison
        self._marks: tuple[Difference, ChangeMarks] | None = None
        context.comparison.changed.append(self._compared)
        self._tree = VisibleTree(ScienceOrder(self._refs))
        self._health = ChunkHealth(self._refs, context.failure_log)
        self._found: Sequence[str] | None = None
        self._search: KeySearch | None = None

    def window(
        self, start: int, n: int, strips: StripColour = "state", access: str = ""
    ) -> tuple[list[Row], int]:
        """Return rows of the tree, or of an active search, and their number."""
        with self._lock:
            listing = self._tree.listing
            if isinstance(listing, TroubleKeys) and not listing.is_current:
                self._tree.show(TroubleKeys(self._refs, self._health))
            if self._found is None:
                rows, total = self._tree.window(start, n), self._tree.total
            else:
                rows, total = self._results(start, n), len(self._found)
            return [self._described(each, strips, access) for each in rows], total

    def _described(self, row: Row, strips: StripColour, access: str) -> Row:
        """Add shape, name, strip and faults to a row."""
        inside = self._internals
        array = inside.opened.arrays.get(row.path) if row.type is NodeType.ARRAY else None
        if array is not None:
            strip = self._strip(array, strips, access) if inside.is_counted else None
            row = replace(row, form=array.form_text, label=label_of(array), strip=strip)
        badges = self._health.badges(row.path) if inside.is_counted else None
        cause, changes = self._cause(row, badges), self._changes(row)
        return replace(row, badges=badges, cause=cause, changes=changes)

    def _strip(self, array: ArrayMeta, by: StripColour, access: str, axis: int = 0) -> str:
        strip = strip_of(self._health, array, axis)
        return coloured_strip(self._refs, array, strip, by, axis, access)

    def _changes(self, row: Row) -> RowChanges | None:
        """Return the changes of a row, if the difference was already computed."""
        if (found := self._comparison.found) is None:
            return None
        if self._marks is None or self._marks[0] is not found:
            self._marks = found, ChangeMarks(found)
        return self._marks[1].of(row.path, row.type is NodeType.KEY)

    def _compared(self) -> None:
        """Show everything again after only the changes since another set were shown."""
        with self._lock:
            if isinstance(self._tree.listing, ChangedKeys):
                self._tree.show(ScienceOrder(self._refs))

    def _cause(self, row: Row, badges: Badges | None) -> str | None:
        if row.origin == REJECTED:
            error = self._refs.rejection(row.path)
            return None if error is None else error.message
        if row.type is not NodeType.KEY or badges is None:
            return None
        owner = self._internals.opened.arrays.of_key(row.path)
        if owner is None or not (badges.failed or badges.differing):
            return None
        cause = self._log.failed(owner[0].path).get(owner[1])
        found = checked(self._refs, *owner)
        return found.text if cause is None and found is not None else cause

    def _results(self, start: int, n: int) -> list[Row]:
        found = self._found or []
        paths = enumerate(found[start : start + n], start + 1)
        nodes = [(at, node_of(self._refs, path, path)) for at, path in paths]
        return [row(node, 0, False, at, len(found)) for at, node in nodes]

    @request("tree.rows")
    def rows(
        self,
        start: int,
        n: int,
        strips: StripColour = "state",
        access: str = "",  # Its name, or a selection; empty: the one shaded at first
    ) -> TreePage:
        """Return rows of the flattened tree, or of an active search."""
        start, n = within(start, n)
        rows, total = self.window(start, n, strips, access)
        return TreePage(start, total, tuple(rows))

    @request("tree.toggle")
    def toggle(self, path: str, open: bool) -> TreeChange:  # noqa: A002  as it is sent
        """Open or close a folder."""
        index = self._tree.toggle(known_path(self._refs, path), open)
        return TreeChange(self._tree.total, index)

    @request("tree.reveal")
    def reveal(self, path: str) -> TreeChange:
        """Open the folders above a path, and end a search."""
        self._found = None
        index = self._tree.reveal(path)
        return TreeChange(self._tree.total, index)

    @request("tree.strips")
    def strips(self, array: str, by: StripColour = "state", access: str = "") -> StripsShown:
        """Return the chunks of an array along each of its dimensions, and irregularities there."""
        meta = self._internals.opened.arrays.get(array)
        if meta is None:
            return StripsShown((), ())
        axes = range(len(meta.grid)) if self._internals.is_counted else ()
        strips = [self._strip(meta, by, access, axis) for axis in axes]
        marks = () if known(self._refs) is None else axis_marks(self._refs, meta)
        return StripsShown(tuple(strips), tuple(marks))

    @request("tree.find")
    def find(
        self,
        text: str,
        # A ``glob`` without a wildcard is looked for as a substring
        mode: Literal["substring", "glob", "regex"],
        kinds: tuple[Kind, ...],
    ) -> KeysFound:
        """Search keys and targets; without text and kinds the search ends."""
        if not text and not kinds:
            self._found = None
            return KeysFound(self._tree.total, False)
        if not text or (mode == "glob" and GLOB_MARKS.search(text) is None):
            mode = "substring"
        steps = find_steps(self._internals.opened, text, mode, kinds, targets=True)
        search = KeySearch(steps, partial(code_of_search, text, mode, kinds))
        reply = search.go_on()
        self._search, self._found = search, search.found
        self._did(search.code)
        return reply

    @job("tree.more")
    def more(self) -> KeysFound:
        """Continue the search, and return the keys found so far."""
        search = self._search
        if search is None:
            raise RefexplorerError("There is no search to continue.")
        reply = search.go_on()
        if reply.in_targets and not reply.unfinished:
            self._did(search.code)
        return reply

    @job("tree.state", unsaved="These chunks were not listed when the page was saved", in_turn=True)
    def list_state(
        self,
        report: JobReport,
        state: StateName,
        array: str | None,  # Null: those of all arrays
    ) -> KeysFound:
        """Show the chunks in a state as rows, like the results of a search."""
        if array is not None and array not in self._refs.arrays():
            raise RefexplorerError(f"There is no array at {array!r}.")
        go_on(report, None, None, "Listing chunks")
        return self._listed(keys_in_state(self._health, state, array))

    @job("tree.target", in_turn=True)
    def list_target(
        self,
        report: JobReport,
        url: str | None,  # Null is the target that the reader names
    ) -> KeysFound:
        """Show the keys that refer to a target as rows, like the results of a search."""
        index = sorted_targets(self._refs, report)
        try:
            found = TargetKeys(index, index.named(url))
        except KeyError:
            raise RefexplorerError(f"No reference points to {url!r}.") from None
        return self._listed(found)

    def _listed(self, found: Sequence[str]) -> KeysFound:
        with self._lock:
            self._found = found
        return KeysFound(len(found), False)

    @job("tree.only", in_turn=True)
    def show_only(
        self,
        report: JobReport,
        # ``trouble``: faults, and chunks without a reference. ``changes``: differences from the
        # set used for comparison, with removed keys. Null: everything.
        what: Literal["trouble", "changes"] | None,
    ) -> TreeChange:
        """Show only some keys as rows, or everything again."""
        listing = self._listing(what, report)
        with self._lock:
            self._tree.show(listing)
        return TreeChange(self._tree.total, -1)

    def _listing(self, what: str | None, report: JobReport) -> TreeListing:
        if what is None:
            return ScienceOrder(self._refs)
        if what == "trouble":
            go_on(report, None, None, "Looking for problems")
            internals(self._refs).target_index  # noqa: B018  which ranges overlap is known by it
            return TroubleKeys(self._refs, self._health)
        return ChangedKeys(self._comparison.needed(report))


_LABEL = 200  # characters of a long name in a row


def label_of(array: ArrayMeta) -> str | None:
    """Return the long name of an array and its units, as far as it has them."""
    attributes = array.attributes
    names = (attributes.get("long_name"), attributes.get("standard_name"))
    name = next((each for each in names if isinstance(each, str) and each), "")
    units = attributes.get("units")
    has_units = isinstance(units, str) and units not in ("", "1") and " since " not in units
    parts = [name.replace("_", " "), f"({units})" if has_units else ""]
    label = " ".join(filter(None, parts))
    return f"{label[:_LABEL]}…" if len(label) > _LABEL else label or None


def known_path(refs: ReferenceSet, path: str) -> str:
    """Return an existing path of the set."""
    try:
        refs.node(path)
    except KeyError:
        fails = "The template of this key fails" if path in refs else None
        raise RefexplorerError(f"{fails or 'The set has nothing'} at {path!r}.") from None
    return path


PART = ExplorerPart("tree", "Keys", "Keys", (TreeController,), place=8, look=False)
