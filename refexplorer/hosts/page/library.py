"""The sets that a served page may open."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from refexplorer import demo
from refexplorer.core.errors import AccessError, LimitError, RefexplorerError
from refexplorer.core.limits import Limits
from refexplorer.core.text import escape, size_text
from refexplorer.demo.lessons import LESSONS, paragraphs, shared
from refexplorer.formats.source import NamedBytes
from refexplorer.hosts.page.openings import Openings, OpeningWatch
from refexplorer.io.access import InternetPolicy, protocol_of
from refexplorer.verbs.opening import (
    ask_history,
    guarded_history,
    open_guarded,
    open_references,
    owned_history,
)
from refexplorer.verbs.referenceset import ReferenceSet
from refexplorer.views.wire.context import OtherSets, RepositoryVersions

LARGEST = 50_000_000  # Bytes of a dropped file, unless the page is started with another limit
_NAME_SHOWN = 80  # characters of a name: a visitor may send any text


class Upload:
    """Collects the pieces of one file."""

    def __init__(self, name: str, size: int, largest: int) -> None:
        self.name = escape(name, _NAME_SHOWN)
        if size > largest:
            raise LimitError(
                f"{self.name} has {size_text(size)}, but this page accepts at most "
                f"{size_text(largest)}: give its URL, or start the page with a larger "
                "`--upload`."
            )
        self._size = size
        self.content = bytearray()  # The bytes received

    @property
    def is_complete(self) -> bool:
        """Whether all announced bytes were received."""
        return len(self.content) == self._size

    def add(self, piece: bytes) -> None:
        """Add the next piece."""
        if len(self.content) + len(piece) > self._size:
            raise RefexplorerError(f"{self.name} changed during the upload: drop it again.")
        self.content += piece


VISITOR = Limits(document_bytes=2**29)
"""Limits for sets that visitors open."""


@cache
def _shared() -> Openings:
    return Openings()


def _name_of(place: str) -> str:
    return place.rstrip("/").rpartition("/")[2]


_LESSON = "lessons/"


class Offer(NamedTuple):
    """A set that anybody on the page may open: its title, and how to open it."""

    title: str
    open: Callable[[], ReferenceSet]


class Library:
    """The sets that anybody on the page may open, and where typed paths may be."""

    # Other people may see the page: a typed path is opened only inside `allow`, a URL only if it is
    # on the internet or inside `allow`.

    def __init__(
        self, allow: Iterable[str] = (), largest: int = LARGEST, openings: Openings | None = None
    ) -> None:
        self.largest = largest
        self._openings = openings or _shared()
        self.offers = {
            f"demo/{path.name}": Offer(title, partial(open_references, path))
            for title, path in demo.sets().items()
        }
        self.offers |= {
            f"{_LESSON}{name}": Offer(lesson.title, partial(self._open_lesson, name))
            for name, lesson in LESSONS.items()
        }
        self._homes = {str(path.resolve().parent) for path in demo.sets().values()}
        self._allow = tuple(allow)
        self._repositories: dict[str, str] = {}
        self._options: dict[str, Mapping[str, Any]] = {}

    def _open_lesson(self, name: str) -> ReferenceSet:
        path = shared(name)
        self._homes.add(str(path.parent))
        return open_references(path)

    def lesson(self, source: str) -> dict[str, Any]:
        """Return the lesson of a set and the source of the next one; {} for other sets."""
        names, name = list(LESSONS), source.removeprefix(_LESSON)
        if name == source or name not in LESSONS:
            return {}
        following = names[names.index(name) + 1 :]
        steps = [(title, paragraphs(text)) for title, text in LESSONS[name].steps.items()]
        return {
            "title": LESSONS[name].title,
            "steps": steps,
            "next": f"{_LESSON}{following[0]}" if following else "",
        }

    def needs_consent(self, source: str) -> bool:
        """Return whether a source is a local path that was not allowed yet."""
        if source in self.offers or protocol_of(source) not in (None, "file"):
            return False
        try:
            InternetPolicy(self._allow).allowed(source)
        except AccessError:
            return source.rpartition("@")[0] not in self._repositories.values()
        return False

    def consented(self, path: str) -> Library:
        """Return the same for one person, allowed to read the folder of a path that they named."""
        named = Path(path.removeprefix("file://")).resolve()
        mine = copy.copy(self)
        mine._allow = (*self._allow, str(named if named.is_dir() else named.parent))
        return mine

    def offer(self, references: ReferenceSet) -> str:
        """List an opened set first, for everybody; return the name of the offer."""
        name = references.source.name
        place, facts = references.source.place, references.source.repository
        if facts is not None and place is not None and place == facts.place:
            self._repositories[place] = name
            self._options[place] = references.storage_options or {}
        self.offers = {name: Offer(name, lambda: references), **self.offers}
        if references.source.location is not None:
            self._homes.add(references.source.location)
        return name

    def open(self, source: str, watch: OpeningWatch | None = None) -> ReferenceSet:
        """Open a set that a visitor chose or typed."""
        if offer := self.offers.get(source):
            return offer.open()
        name, _, version = source.rpartition("@")
        for place, offered in self._repositories.items():
            if name == offered:
                return self._open_version(place, version, watch)
        policy = InternetPolicy(self._allow)
        return self._openings.open(source, partial(open_guarded, source, policy, VISITOR), watch)

    def versions(self, references: ReferenceSet) -> RepositoryVersions | None:
        """Return the reader of other versions of a set, or None if they may not be opened here."""
        # None if there is no repository, or it may not be opened on this page. Of repositories by
        # URL only those opened by the owner of the page are read, since the package icechunk
        # connects to servers on its own, regardless of `allow`.
        facts = references.source.repository
        if facts is None or facts.place is None:
            return None
        if facts.place not in self._repositories:
            if "://" in facts.place:  # icechunk connects to servers regardless of `allow`
                return None
            try:
                InternetPolicy(self._allow).allowed(facts.place)
            except AccessError:
                return None
        return self._versions_of(facts.place)

    def _versions_of(self, place: str) -> RepositoryVersions:
        past, _ = self._readers_of(place)

        def ask(is_wanted: Callable[[], bool], *question: Any) -> Any:
            watch, asking = OpeningWatch(is_wanted=is_wanted), partial(ask_history, past, *question)
            return self._openings.open(_name_of(place), asking, watch)

        def opened(version: str, is_wanted: Callable[[], bool]) -> ReferenceSet:
            return self._open_version(place, version, OpeningWatch(is_wanted=is_wanted))

        return RepositoryVersions(ask, opened)

    def _open_version(self, place: str, version: str, watch: OpeningWatch | None) -> ReferenceSet:
        name = _name_of(place)
        if not version or {*version} & set("/\\#?@"):  # not a version, but another path
            raise RefexplorerError(f"{name} has no version {escape(version, _NAME_SHOWN)}.")
        opening = partial(self._readers_of(place)[1], f"{place}@{version}")
        return self._openings.open(f"{name}@{version}", opening, watch)

    def _readers_of(self, place: str) -> tuple[Callable[..., Any], Callable[..., ReferenceSet]]:
        """Return what opens the history of a repository, and a version of it, as permitted."""
        if "://" in place:
            options = self._options[place]
            opening = partial(open_references, storage_options=options, limits=VISITOR)
            return partial(owned_history, place, options), opening
        shared = (place,) if place in self._repositories else ()
        policy = InternetPolicy((*self._allow, *shared))
        opening = partial(open_guarded, policy=policy, limits=VISITOR)
        return partial(guarded_history, place, policy, VISITOR), opening

    def others(self) -> OtherSets:
        """Return the sets that the open one may be compared with."""
        return OtherSets(
            lambda source, *watch: self.open(source, OpeningWatch(*watch)),
            lambda: {name: offer.title for name, offer in self.offers.items()},
            grants=self.grants,
        )

    def open_dropped(self, upload: Upload, watch: OpeningWatch | None = None) -> ReferenceSet:
        """Open a file dropped on the page; errors as for `open`."""
        # a function of this package would load Panel in the child
        content = NamedBytes(upload.content)
        content.name = upload.name
        opening = partial(open_references, content, limits=VISITOR)
        return self._openings.open(upload.name, opening, watch)

    def grants(self, references: ReferenceSet) -> tuple[str, ...]:
        """Return where targets of a set may be read from: also its own folder, if it is ours."""
        location = references.source.location
        return (*self._allow, location) if location in self._homes else self._allow
