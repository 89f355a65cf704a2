"""The sets that a served page may open."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import NamedTuple

from refexplorer import demo
from refexplorer.app.opening import Openings, OpeningWatch
from refexplorer.app.upload import LARGEST, Upload, open_content
from refexplorer.data.access.policy import InternetPolicy
from refexplorer.limits import Limits
from refexplorer.opening import open_guarded, open_references
from refexplorer.referenceset import ReferenceSet

VISITOR = Limits(document_bytes=2**29)
"""What a set may cost that somebody else than the owner of the page opens."""


@cache
def _shared() -> Openings:
    return Openings()


class Offer(NamedTuple):
    """A set that anybody on the page may open: its title, and how it is opened."""

    title: str
    open: Callable[[], ReferenceSet]


class Library:
    """The shipped sets, the set that the page was started with, and what `allow` names.

    Other people may see the page: a path that somebody types is opened only inside `allow`,
    a URL only if it is on the internet or inside `allow`.

    Parameters
    ----------
    allow
        Folders, hosts and buckets, as for `AccessPolicy`.
    largest
        Bytes of a file that somebody drops on the page.
    openings
        Opens what is not among `offers`; those of all pages of this process by default.

    Attributes
    ----------
    offers
        The sets to choose from, by the name that an address gives them; a name tells nothing of
        the folders of this machine.
    """

    def __init__(
        self,
        allow: Iterable[str] = (),
        largest: int = LARGEST,
        openings: Openings | None = None,
    ) -> None:
        self.largest = largest
        self._openings = openings or _shared()
        self.offers = {
            f"demo/{path.name}": Offer(title, partial(open_references, path))
            for title, path in demo.sets().items()
        }
        self._homes = {str(path.resolve().parent) for path in demo.sets().values()}
        self._allow = tuple(allow)

    def offer(self, references: ReferenceSet) -> str:
        """Put an opened set before the others, for everybody; return the name of the offer."""
        name = references.source.name
        self.offers = {name: Offer(name, lambda: references), **self.offers}
        if references.source.location is not None:
            self._homes.add(references.source.location)
        return name

    def open(self, source: str, watch: OpeningWatch | None = None) -> ReferenceSet:
        """Open what somebody chose or typed.

        Raises
        ------
        AccessError
            If it may not be opened on this page.
        LimitError
            If that takes more than it may.
        SourceError
            If it cannot be read.
        """
        if offer := self.offers.get(source):
            return offer.open()
        policy = InternetPolicy(self._allow)
        return self._openings.open(source, partial(open_guarded, source, policy, VISITOR), watch)

    def open_dropped(self, upload: Upload, watch: OpeningWatch | None = None) -> ReferenceSet:
        """Open a file that somebody dropped on the page; errors as of `open`."""
        opening = partial(open_content, upload.content, upload.name, VISITOR)
        return self._openings.open(upload.name, opening, watch)

    def grants(self, references: ReferenceSet) -> tuple[str, ...]:
        """Return where targets of a set may be read from: its own folder, too, if it is ours."""
        location = references.source.location
        return (*self._allow, location) if location in self._homes else self._allow
