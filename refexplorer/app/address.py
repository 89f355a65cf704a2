"""Where a person is on the page, as the query of its address: a link that others can open."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import parse_qs, urlencode

from refexplorer.masking import masked_text
from refexplorer.views.registry import addressed


class Address(NamedTuple):
    """A place on the page."""

    # What is open: the name of an offered set, a path or a URL; empty on the start screen
    source: str = ""
    # A tab of the explorer or another view of the page, as `addressed`; empty for the first tab
    view: str = ""
    key: str = ""  # The key or path that is chosen
    slice: str = ""  # Steps along the dimensions of the values that are drawn, such as ``"1,0,0"``
    # part, mode, axes, colours, limits, raw: Of the values: the part of the array, how and along
    # which dimensions it is drawn, with which colours between which numbers, and what of the CF
    # conventions is not applied
    part: str = ""
    mode: str = ""
    axes: str = ""
    colours: str = ""
    limits: str = ""
    raw: str = ""
    # find, syntax, kinds, list, only, notes: Of the tree and the notes: the search, what is listed
    # in its place, what they are narrowed to
    find: str = ""
    syntax: str = ""
    kinds: str = ""
    list: str = ""
    only: str = ""
    notes: str = ""
    # by, map: Of the map of chunks: what colours it, and its window
    by: str = ""
    map: str = ""
    earth: str = ""  # Of the map of the earth: projection, middle, zoom, what is drawn of chunks
    # Of two parts side by side: set, array and part of each, and the window of their pictures
    beside: str = ""
    # Of the table of targets: how it is narrowed, sorted and folded, as a query of its own
    files: str = ""
    # Of the costs: the array, the place with its latency and bandwidth, and what is asked, as a
    # query of its own
    cost: str = ""
    # other, changes: Of the comparison: the other set, named as `source`, and which changes are
    # listed
    other: str = ""
    changes: str = ""
    # Of the comparison: the array of the other set that is no longer there, its chunk, and the
    # window of its map, as a query of its own
    gone: str = ""

    @classmethod
    def read(cls, query: str) -> Address:
        """Read a query; what it does not name, or what the page does not know, is left out."""
        found = parse_qs(query)
        place = cls(**{name: found[name][-1] for name in cls._fields if name in found})
        return place if place.view in addressed() else place._replace(view="")

    def __str__(self) -> str:
        return urlencode({name: text for name, text in self._asdict().items() if text}, safe="/:,")


def is_shareable(source: str) -> bool:
    """Tell whether an address may name a source: not if it carries a password or a signature."""
    return masked_text(source) == source
