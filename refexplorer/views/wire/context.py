"""The context shared by the controllers of an explorer: one set, one reader, its jobs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakMethod

from msgspec import Struct

from refexplorer.checks.look.coordinates import AxesLook, look_at_coordinates
from refexplorer.core.errors import LimitError, RefexplorerError
from refexplorer.core.text import shorten
from refexplorer.io.decode.sizes import Index
from refexplorer.io.fetch.targets import Targets
from refexplorer.refset.opened_set import internals
from refexplorer.spec.codes import CODES, Severity
from refexplorer.spec.findings import Finding, in_order
from refexplorer.spec.references import folders_above
from refexplorer.verbs.differing import Difference, diff
from refexplorer.verbs.opening import open_references
from refexplorer.views.wire.jobs import JobReport, Jobs, go_on, unheard
from refexplorer.views.wire.requests import Buffers, Count, Message, discard, filled

if TYPE_CHECKING:
    from refexplorer.spec.zarr_metadata import ArrayMeta
    from refexplorer.verbs.referenceset import ReferenceSet


OtherProgress = Callable[[int, int], None]


def _open_here(source: str, tell: OtherProgress, is_wanted: Callable[[], bool]) -> ReferenceSet:
    def told(done: int, size: int) -> None:
        if not is_wanted():
            raise RefexplorerError("Opening was stopped.")
        tell(done, size)

    return open_references(source, progress=told)


@dataclass(frozen=True)
class OtherSets:
    """The sets that a person may compare with."""

    # Opens the set that a person names; the first callback gets the bytes read and the total
    open: Callable[[str, OtherProgress, Callable[[], bool]], ReferenceSet] = _open_here
    # Titles of sets to choose from, by what names them
    offered: Callable[[], dict[str, str]] = dict
    # Allows a path that a person typed, if they own the page
    consent: Callable[[str], None] = lambda source: None
    # Returns further locations where targets of an opened set may be read
    grants: Callable[[ReferenceSet], tuple[str, ...]] = lambda refs: ()


NOT_CHOSEN = "There is no set to compare with: choose one in Compare."


class Comparison:
    """The other set, and the difference once computed."""

    def __init__(
        self,
        references: ReferenceSet,
        other: ReferenceSet | None = None,
        sets: OtherSets | None = None,
    ) -> None:
        self._references = references
        self.other = other
        self.source = ""  # As a person named it; empty if it came from Python
        self.sets = sets
        self.found: Difference | None = None  # If it was looked for already
        self._lock = threading.Lock()
        self.is_shown = False  # Whether the comparison should be shown now
        self.changed: list[Callable[[], None]] = []

    def difference(self, report: JobReport = unheard) -> Difference | None:
        """Return the difference; None if there is nothing to compare with."""
        if self.other is not None:
            go_on(report, None, None, "Comparing the keys of both sets")
        with self._lock:
            if self.found is None and self.other is not None:
                found = diff(self.other, self._references)
                _ = found.tree.tree  # what rows are marked with must not make it under a lock
                self.found = found
            return self.found

    def needed(self, report: JobReport) -> Difference:
        """Return the difference from the chosen set."""
        if (found := self.difference(report)) is None:
            raise RefexplorerError(NOT_CHOSEN)
        return found

    def compare(self, other: ReferenceSet | None, source: str = "", is_shown: bool = False) -> None:
        """Compare with another set, or with none."""
        with self._lock:
            self.other, self.found, self.source = other, None, source
            self.is_shown = is_shown
        for tell in self.changed:
            tell()


class FailureLog:
    """Which chunks of one set were read, and which failed, at the last attempt."""

    def __init__(self) -> None:
        self.version = 0  # Changes with what is known
        self._failed: dict[str, dict[Index, str]] = {}
        self._read: dict[str, set[Index]] = {}
        self._watchers: list[WeakMethod[Callable[[str], None]]] = []
        self._lock = threading.Lock()

    def failed(self, array: str) -> dict[Index, str]:
        """Return why chunks of an array failed, by index."""
        with self._lock:
            return dict(self._failed.get(array, {}))

    def read(self, array: str) -> set[Index]:
        """Return the chunks of an array that were fetched and decoded, by index."""
        with self._lock:
            return set(self._read.get(array, ()))

    def arrays(self) -> set[str]:
        """Return the arrays with known results."""
        with self._lock:
            return {*self._failed, *self._read}

    def note(self, array: str, index: Index, reason: str | None, is_read: bool) -> bool:
        """Record what came of a chunk; return whether it failed, or no longer fails, only now."""
        with self._lock:
            self.version += 1
            known, read = self._failed.setdefault(array, {}), self._read.setdefault(array, set())
            is_new = (index in known) != (reason is not None)
            if is_read:
                read.add(index)
            if reason is None:
                known.pop(index, None)
            else:
                known[index] = reason
                read.discard(index)
        return is_new

    def watch(self, watcher: Callable[[str], None]) -> None:
        """Call a bound method with the array of new results, while its object exists."""
        with self._lock:
            living = [each for each in self._watchers if each() is not None]
            self._watchers = [*living, WeakMethod(watcher)]

    def tell(self, array: str) -> None:
        """Notify all watchers of new results for an array."""
        for each in self._watchers:
            if (watcher := each()) is not None:
                watcher(array)


_KNOWN: WeakKeyDictionary[ReferenceSet, FailureLog] = WeakKeyDictionary()


def failure_log_of(refs: ReferenceSet) -> FailureLog:
    """Return the failure log shared by all views of a set."""
    return _KNOWN.setdefault(refs, FailureLog())


def array_at(refs: ReferenceSet, path: str) -> ArrayMeta:
    """Return the array at a path."""
    try:
        return refs.array(path)
    except KeyError:
        raise RefexplorerError(f"There is no array at {path!r}.") from None


@dataclass(frozen=True)
class RepositoryVersions:
    """Reads the versions of one repository, as permitted to the viewer."""

    # Calls a method of `RepositoryHistory`; gets whether that is still wanted, name and arguments
    ask: Callable[..., Any]
    open: Callable[[str, Callable[[], bool]], ReferenceSet]  # Opens a branch, tag or snapshot


@dataclass(frozen=True)
class ViewContext:
    """The common base of the controllers of an explorer."""

    references: ReferenceSet
    targets: Targets  # Reads what keys refer to; its policy says what may be read
    comparison: Comparison  # The set that this one is compared with
    failure_log: FailureLog = field(default_factory=FailureLog)
    jobs: Jobs = field(default_factory=lambda: Jobs(discard))
    # Held while a request is answered at once
    lock: threading.RLock = field(default_factory=threading.RLock)
    # Called with the Python that does what a person did
    did: Callable[..., None] = lambda code, array=None: None
    # Shows another set in place of this one, from any thread; None where the host cannot
    show: Callable[[ReferenceSet], None] | None = None
    # None if the set has no versions, or the viewer may not read them
    versions: RepositoryVersions | None = None
    can_write: bool = True  # Whether the viewer may write files on this machine
    # Shows in an editor where a key comes from; None if the explorer has no editor
    edit: Callable[[str], None] | None = None


Keep = Callable[..., tuple[Message, Buffers]]
"""Asks a request by its name and fields, and keeps the answer for a saved page."""


@dataclass(frozen=True)
class ExplorerPart:
    """A view of the explorer: a widget, a name in URLs, a part of a saved page."""

    name: str  # What addresses, the trait `part` of widgets and the front end call it
    label: str  # Of its button in the switch over the picture
    title: str  # Of the widget that shows it alone, before "of" and the name of the set
    # Make what answers its requests
    controllers: tuple[Callable[[ViewContext], object], ...]
    place: int = 1_000  # In the order of the switch; the first one has no name in an address
    look: bool = True  # Whether the middle of the screen shows it; others have their own place
    # The look whose form it is; None: the switch offers it itself; "": something else leads to it
    under: str | None = None
    alone: bool = True  # Whether a widget can show it alone
    # The colours of chunks in the picture; "by": as a person chose; None: it has none
    paints: str | None = None
    address: tuple[str, ...] = ()  # Names in an address under which the front end says where it is
    # Requests that a saved page answers: of the set, and of each array where they have that field
    recorded: tuple[str, ...] = ()
    # Records further responses for a saved page, for the given arrays
    record: Callable[[Keep, Sequence[str]], None] | None = None


SHOWN = 200  # Most notes in one response, which also has their total number
SOON = 100_000
"""Keys of a set that is checked at once; notes of a larger one come later."""


class Note(Struct, frozen=True):
    """A diagnostic."""

    code: str
    severity: Severity
    meaning: str  # Common to all diagnostics of the code
    message: str
    hint: str | None
    pointer: str  # Into the document; cut
    line: int | None
    column: int | None
    count: Count
    key: str | None  # The nearest node of the tree; a rejected key itself


_AXES: WeakKeyDictionary[ReferenceSet, AxesLook] = WeakKeyDictionary()


def held_axes(refs: ReferenceSet) -> AxesLook:
    """Return the inline coordinates, and irregularities in them; no file is opened."""
    if refs not in _AXES:
        opened, base = internals(refs).opened, refs.source.key_base
        _AXES[refs] = look_at_coordinates(opened, refs.limits, base, None)
    return _AXES[refs]


def findings_of(refs: ReferenceSet) -> tuple[Finding, ...]:
    """Return the findings of `check`: the diagnostics, and irregular inline coordinates."""
    found = held_axes(refs).findings
    return in_order((*refs.diagnostics, *found)) if found else refs.diagnostics


def known(refs: ReferenceSet) -> tuple[Finding, ...] | None:
    """Return the findings of a set, or None if computing them would delay the first display."""
    is_known = internals(refs).opened.bound <= SOON or "diagnostics" in vars(refs)
    return findings_of(refs) if is_known else None


def notes(refs: ReferenceSet) -> tuple[Note, ...]:
    """Return the first notes of a set."""
    return tuple(note(refs, finding) for finding in findings_of(refs)[:SHOWN])


def notes_about(refs: ReferenceSet, path: str, origin: str | None) -> tuple[Note, ...] | None:
    """Return the notes about a key, an array or a gen item; None if not all are known yet."""
    # Notes of the last comparison with the files come first. None while those of the whole set are
    # unknown.
    inside = {
        f"{path}/{name}".lstrip("/") for name in (".zarray", ".zattrs", ".zgroup", "zarr.json")
    }
    item = f"/{origin.replace('[', '/').rstrip(']')}" if origin and "[" in origin else None
    found = []
    if (diagnostics := known(refs)) is None:
        return None
    compared = () if refs.verified is None else refs.verified.findings
    for diagnostic in (*compared, *diagnostics):
        is_item = item is not None and f"{diagnostic.pointer}/".startswith(f"{item}/")
        if is_item or diagnostic.key in {path, *inside} or path in diagnostic.keys:
            found.append(note(refs, diagnostic))
    return tuple(found[:SHOWN])


def note(refs: ReferenceSet, diagnostic: Finding) -> Note:
    """Return the model of a diagnostic, with the nearest node of the tree."""
    meaning, pointer = CODES[diagnostic.code].meaning, shorten(diagnostic.pointer)
    own = {"meaning": meaning, "pointer": pointer, "hint": diagnostic.hint or None}
    return filled(Note, diagnostic, **own, key=_nearest(refs, diagnostic))


def _nearest(refs: ReferenceSet, diagnostic: Finding) -> str | None:
    """Return the key of a diagnostic, the first of its gen item, or the nearest parent."""
    key = diagnostic.key
    if key is None:
        return _first_of_item(refs, diagnostic.pointer)
    try:
        if key in refs:
            return key
    except LimitError:  # of a gen item of which no key can be looked up
        return None
    # one that is too long is not sent
    if diagnostic.code != "key-too-long" and internals(refs).opened.rejection(key) is not None:
        return key
    for folder in filter(None, folders_above(key)):
        try:
            return refs.node(folder).path
        except KeyError:
            continue
    return None


def _first_of_item(refs: ReferenceSet, pointer: str) -> str | None:
    _, *parts = pointer.split("/")
    if len(parts) < 2 or parts[0] != "gen":
        return None
    numbers = refs.numbers(f"gen[{parts[1]}]")
    return next(iter(refs.keys_at(numbers.start, numbers.start + 1)), None) if numbers else None
