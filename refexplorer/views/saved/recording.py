"""Records all requests of an explorer; for a large set, some of them."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from refexplorer.views.health.health import StateName
from refexplorer.views.health.health_controller import HealthSort
from refexplorer.views.maps.target_listing import TargetQuery
from refexplorer.views.registry import PARTS, described
from refexplorer.views.saved.recorded_editor import Packer, Recorder
from refexplorer.views.wire.requests import ROWS, Message

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet
    from refexplorer.views.explorer.explorer_controller import ExplorerController


@dataclass
class RecordedTree:
    """The rows of a tree, level by level."""

    # For each folder that was looked into, how many children it has and the first of them
    levels: dict[str, dict[str, Any]] = field(default_factory=dict)
    rows: int = 0  # How many were kept
    whole: bool = True  # Whether all of them were

    @property
    def paths(self) -> Iterator[str]:
        """The paths of the rows, level by level."""
        for level in self.levels.values():
            for row in level["rows"]:
                yield row["path"]


def record_tree(recorder: Recorder, most: int, most_of_level: int) -> RecordedTree:
    """Walk the controller's current tree, with all folders closed."""
    tree = RecordedTree()
    folders = deque([""])
    while folders:
        path = folders.popleft()
        first, total = _open(recorder, path)
        count = min(total, most_of_level, most - tree.rows)
        tree.whole &= count == total
        if count <= 0 < total:
            continue
        rows = [_without(row, {"open"}) for row in _rows(recorder, first, count)]
        tree.levels[path] = {"total": total, "rows": rows}
        tree.rows += count
        folders += [row["path"] for row in rows if row["type"] != "key" and int(row["children"])]
        if path:
            recorder.ask("tree.toggle", path=path, open=False)
    return tree


def _open(recorder: Recorder, path: str) -> tuple[int, int]:
    """Open a folder; return the number of its first child, and the number of children."""
    # Subfolders are closed: only the folders above it have been opened.
    if not path:
        return 0, int(recorder.ask("tree.rows", start=0, n=0)[0]["total"])
    closed, _ = recorder.ask("tree.reveal", path=path)
    opened, _ = recorder.ask("tree.toggle", path=path, open=True)
    return int(opened["index"]) + 1, int(opened["total"]) - int(closed["total"])


def _without(row: Message, names: set[str]) -> Message:
    return {name: value for name, value in row.items() if name not in names}


def _rows(recorder: Recorder, first: int, count: int) -> Iterator[Message]:
    for start in range(first, first + count, ROWS):
        n = min(ROWS, first + count - start)
        yield from recorder.ask("tree.rows", start=start, n=n)[0]["rows"]


_LEAST_OF_LEVEL = 20  # rows of a folder that a page keeps, however many arrays share it
_PAGE = 1_000  # rows that are asked for at a time
_ARRAYS = 1_000  # Arrays of the table, and of those with targets of their own
_TARGETS = 5_000  # targets that a page keeps; it says how many there are
_GRIDS, _STRIPS = 200, 100  # arrays whose chunk grid, and whose targets' strips, a page keeps
_MAP_BYTES = 16_000_000
"""Of the maps of chunks before compression; one of 120 by 120 cells has a megabyte."""
_MESH_BYTES = 8_000_000  # Of the geographic positions of arrays, before compression
_LISTED = 1_000  # Chunks per state that are listed, for one array or for all
_BLOCK = 2**15 + 8
"""Bytes that the inspector requests: a block, and the rest of a number at its end."""
_HELD_BYTES = 2_000_000  # Inline bytes that are stored in addition to the text
_TRACES = 200  # chunks whose trace a page keeps
_READ_ALL_WAYS = 500_000  # Bytes of values that are kept as stored, scaled and with times alike
HELD = ("inline", "base64")

SavedProgress = Callable[[int, int], None]
"""Called with the number of recorded keys, and of all keys to record."""


@dataclass
class Recording:
    """The recorded responses of an explorer."""

    packer: Packer
    tree: RecordedTree  # All keys
    content: dict[str, Any]  # By the names in `saved/replay.ts`

    def packed(self, facts: dict[str, Any]) -> str:
        """Return the recording as text; see `Packer.packed`."""
        return self.packer.packed({**facts, **self.content, "parts": described()})


def record(
    controller: ExplorerController,
    *,
    read: Iterable[tuple[str, Sequence[str] | None]] = (),
    keys: int,
    check_targets: bool = False,
    report: SavedProgress = lambda done, of: None,
) -> Recording:
    """Send requests to a controller that nobody else uses."""
    packer = Packer()
    recorder = Recorder(controller, packer)
    refs = controller.references
    if check_targets:
        recorder.keep("targets.check")
    recorder.keep("notes")
    recorder.ask("facts")  # so that the first screen has them
    controller.selection = ""  # so that the code is that of the set
    hello, _ = recorder.keep("hello")
    wanted = {path: None if part is None else tuple(part) for path, part in read}
    _record_values(recorder, refs, wanted)
    for name in (name for part in PARTS for name in part.recorded):
        recorder.keep_all(name, refs.arrays()[:_GRIDS])
    health = _record_health(recorder)  # counts chunks: rows have strips then
    # A set of that many keys has more rows, of groups and arrays. Of a larger one all arrays have
    # some rows if possible.
    most, of_level = sys.maxsize, sys.maxsize
    if refs.count > keys:
        most, of_level = keys, max(keys // (len(refs.arrays()) + 1), _LEAST_OF_LEVEL)
    tree = record_tree(recorder, most, of_level)
    recorder.ask("tree.only", what="trouble")
    trouble = record_tree(recorder, keys, max(keys // 10, of_level))
    recorder.ask("tree.only", what=None)
    states, listed = _record_states(recorder, health["rows"], keys)
    targets = _record_targets(recorder, refs)
    _record_maps(recorder, refs, packer)
    earth = _record_earth(recorder, refs, wanted, packer)
    for make in filter(None, (part.record for part in PARTS)):
        make(recorder.keep, refs.arrays())
    for each in hello.get("notes") or ():
        recorder.keep("source.show", pointer=each["pointer"])
    noted = [each["key"] for each in hello.get("notes") or () if each["key"] is not None]
    paths = dict.fromkeys(["", *tree.paths, *trouble.paths, *listed, *noted])
    # In the order of the set, in which a search finds them.
    ordered = sorted(paths, key=lambda path: refs.number(path) if path in refs else -1)
    content = {
        **_record_items(recorder, packer, ordered, report),
        "tree": tree.levels,
        "trouble": trouble.levels,  # What is wrong
        "states": states,
        "health": health,
        "targets": targets,
        "earth": earth,
        "answers": recorder.answers,
        "defaults": recorder.defaults,
        "unsaved": recorder.unsaved,
    }
    return Recording(packer, tree, content)


def _record_values(
    recorder: Recorder, refs: ReferenceSet, wanted: Mapping[str, tuple[str, ...] | None]
) -> None:
    """Read the requested values, and those that need no request."""
    for path in refs.arrays()[:_ARRAYS]:
        plan, _ = recorder.keep("slice.plan", array=path)
        if "error" in plan:
            continue
        estimate = plan["plan"]["estimate"]
        if path in wanted or estimate["requests"] == 0:
            part = wanted.get(path)
            _record_reading(recorder, path, part or tuple(plan["plan"]["slices"]))


def _record_reading(recorder: Recorder, path: str, slices: tuple[str, ...]) -> None:
    _, buffers = recorder.keep("chunk.read", array=path, slices=slices)
    if sum(map(len, buffers)) <= _READ_ALL_WAYS:
        for scale, times in ((True, False), (False, True), (False, False)):
            recorder.keep("chunk.read", array=path, slices=slices, scale=scale, times=times)
    # Requested again, since cached chunks cost nothing.
    recorder.keep("slice.plan", array=path)
    recorder.keep("slice.plan", array=path, slices=slices)


def _record_health(recorder: Recorder) -> dict[str, Any]:
    """Return the table rows by path, the sums, and the order of each sorting."""
    recorder.ask("targets.summary")  # it finds overlapping ranges, and dates in names
    page, _ = recorder.ask("health.rows", start=0, n=_ARRAYS, sort="path", descending=False)
    rows = page["rows"]
    places = {row["path"]: place for place, row in enumerate(rows)}
    orders = {}
    for sort in get_args(HealthSort):
        for descending in (False, True):
            how = {"sort": sort, "descending": descending}
            found = recorder.ask("health.rows", start=0, n=_ARRAYS, **how)[0]["rows"]
            order = [places[row["path"]] for row in found if row["path"] in places]
            orders[f"{sort} {str(descending).lower()}"] = order
    return {"rows": rows, "total": page["total"], "sums": page["sums"], "orders": orders}


def _record_states(
    recorder: Recorder, rows: Sequence[Message], most: int
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the chunks in each state, per array and in total, and their paths."""
    # Chunks with a reference are not listed: the page finds them among its keys.
    states: dict[str, dict[str, Any]] = {}
    listed: dict[str, None] = {}
    for state in get_args(StateName):
        if state == "referenced":
            continue
        of_arrays = [row["path"] for row in rows if int(row["counts"][state] or 0)]
        for array in (None, *of_arrays) if of_arrays else ():
            found, _ = recorder.ask("tree.state", state=state, array=array)
            if "error" in found or len(listed) >= most:
                continue
            page, _ = recorder.ask("tree.rows", start=0, n=_LISTED)
            # the others follow from its position
            kept = [
                _without(each, {"open", "position", "siblings", "depth"}) for each in page["rows"]
            ]
            states[f"{state} {'' if array is None else 'of ' + array}"] = {
                "total": found["total"],
                "rows": kept,
            }
            listed |= dict.fromkeys(row["path"] for row in kept)
    recorder.ask("tree.reveal", path="")  # which ends the listing
    return states, list(listed)


def _record_targets(recorder: Recorder, refs: ReferenceSet) -> dict[str, Any]:
    """Return the rows of the table of targets, and their positions in it per array."""
    recorder.keep("targets.summary")
    rows, total = _pages(recorder, None)
    places = {row["url"]: place for place, row in enumerate(rows)}
    of_arrays = {}
    for path in refs.arrays()[:_ARRAYS]:
        found, count = _pages(recorder, path)
        of_arrays[path] = [places[row["url"]] for row in found if row["url"] in places], count
    recorder.keep("target.show")
    for row in rows[:_STRIPS]:
        recorder.keep("target.show", url=row["url"])
    return {"rows": rows, "total": total, "arrays": of_arrays}


def _pages(recorder: Recorder, array: str | None) -> tuple[list[Message], int]:
    """Return the first targets, and their total number."""
    rows: list[Message] = []
    while True:
        page, _ = recorder.ask(
            "targets.rows", start=len(rows), n=_PAGE, query=TargetQuery(array=array)
        )
        rows += page["rows"]
        if not page["rows"] or len(rows) >= min(int(page["total"]), _TARGETS):
            return rows, int(page["total"])


def _record_maps(recorder: Recorder, refs: ReferenceSet, packer: Packer) -> None:
    """Draw the chunks of as many arrays as there is room for."""
    recorder.keep("grid.show")
    before = packer.size
    for path in refs.arrays()[:_GRIDS]:
        if packer.size - before < _MAP_BYTES:
            recorder.keep("grid.show", array=path)


def _record_earth(
    recorder: Recorder, refs: ReferenceSet, wanted: Collection[str], packer: Packer
) -> dict[str, Any]:
    """Record where arrays are on earth; coordinates are read for requested arrays."""
    shown_first, _ = recorder.ask("earth.show")
    listed = shown_first["earth"]["arrays"]
    shown: dict[str, Message] = {} if listed else {"": shown_first}
    before = packer.size
    for path in dict.fromkeys([*listed[:_GRIDS], *refs.arrays()[:_GRIDS]]):
        if packer.size - before > _MESH_BYTES:
            break
        answer, buffers = recorder.ask("earth.show", array=path, read=path in wanted)
        earth = {**answer["earth"], "arrays": ()}  # the same of all
        shown[path] = recorder.placed({"earth": earth}, buffers)
        if buffers:
            # the chunks along the dimensions of the map, if the first ones differ
            axes = tuple(earth["axes"])
            drawn = recorder.answers.get(recorder.name_of("grid.show", array=path), {}).get("map")
            if tuple((drawn or {}).get("axes", ())) != axes:
                recorder.keep("grid.show", array=path, axes=axes)
    if listed:
        recorder.keep("earth.land", detail="110m")
        recorder.ask("earth.show")  # the part that is shown without scripts
    return {"arrays": listed, "shown": shown}


def _record_items(
    recorder: Recorder, packer: Packer, paths: Sequence[str], report: SavedProgress
) -> dict[str, list[Any]]:
    """Request the details of each path; what many have in common is stored once."""
    # For each path what `ShowKey` answers, with its derivation and its code
    items: list[list[Any]] = []
    arrays: dict[str, tuple[int, Any]] = {}
    codes: dict[str, tuple[int, Any]] = {}
    traces, before = 0, packer.size
    for number, path in enumerate(paths):
        report(number, len(paths))
        shown, _ = recorder.ask("key.show", path=path)
        if "error" in shown:
            items.append([path, shown["error"]])
            continue
        item = {name: value for name, value in shown["item"].items() if value is not None}
        if item.get("array") is not None:
            item["array"] = _code_of(arrays, item["array"]["path"], item["array"])
        explained = None if item.get("kind") is None else recorder.ask("key.explain", path=path)[0]
        code = recorder.ask("key.code", path=path)[0]
        text = str(code.get("code", "")).replace(repr(path), "\0")
        told = _code_of(codes, text, text) if "code" in code else code
        items.append([path, item, explained, told])
        if item.get("kind") in HELD and packer.size - before < _HELD_BYTES:
            recorder.keep("key.bytes", path=path, start=0, n=_BLOCK)
            if "chunk" in item and traces < _TRACES:
                recorder.keep("key.trace", path=path)
                traces += 1
    report(len(paths), len(paths))
    return {"items": items, "arrays": [each for _, each in arrays.values()], "codes": [*codes]}


def _code_of(kept: dict[str, tuple[int, Any]], name: str, value: Any) -> int:
    """Return the index of a stored value; each is stored once per name."""
    return kept.setdefault(name, (len(kept), value))[0]
