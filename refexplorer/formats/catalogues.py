"""STAC items and intake catalogues: no reference sets, but they may point to some."""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from glob import has_magic
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin

from refexplorer.core.errors import SourceError, SpecError
from refexplorer.core.files import own_path
from refexplorer.core.text import escape

Sources = Sequence["str | os.PathLike[str]"]
_FILES = 10_000
"""Files that are opened together."""
NAME_SHOWN = 200
"""Characters of a name in a message."""


def whole_pattern(pattern: str) -> Path:
    """Return a pattern as an absolute path."""
    return own_path(pattern).absolute()


def fitting(pattern: str) -> Sources:
    """Return the files that a pattern fits, in the order of their names."""
    full = whole_pattern(pattern)
    root = Path(full.anchor)
    paths = sorted(path for path in root.glob(str(full.relative_to(root))) if path.is_file())
    shown = repr(escape(pattern, NAME_SHOWN))
    if not paths:
        raise SourceError(f"There is no file {shown}, and none that it fits as a pattern.")
    if len(paths) > _FILES:
        raise SourceError(
            f"The pattern {shown} fits {len(paths):,} files, and at most {_FILES:,} are opened "
            "together."
        )
    return paths


def sources_of(source: object) -> tuple[Sources, str | None]:
    """Return the sources that are to be joined, and the pattern that they fit, if it is one."""
    if isinstance(source, list | tuple) and source:
        check_several(source)
        return source, None
    if isinstance(source, str) and "://" not in source and has_magic(source):
        return fitting(source), str(whole_pattern(source))
    raise SourceError(
        "Several sources are joined along a dimension: pass their paths or URLs as a list, or a "
        'pattern such as "2024*.nc".'
    )


def check_several(sources: Sequence[object]) -> None:
    """Refuse a list of anything else than paths and URLs."""
    if len(sources) > _FILES:
        raise SourceError(
            f"{len(sources):,} files are given, and at most {_FILES:,} are opened together."
        )
    for source in sources:
        if not isinstance(source, str | os.PathLike):
            raise SourceError(
                f"Several sources are opened by their paths or URLs, not from "
                f"{type(source).__name__}."
            )


def common_folder(folders: Sequence[str]) -> str:
    """Return the longest folder or URL that all folders or URLs are in; ``""`` for none."""
    shared = [parts[0] for parts in zip(*(each.split("/") for each in folders), strict=False)]
    for number, parts in enumerate(zip(*(each.split("/") for each in folders), strict=False)):
        if len({*parts}) > 1:
            del shared[number:]
            break
    start = "/".join(shared)
    return "" if start.endswith((":", ":/")) else start


def is_web(source: object) -> bool:
    """Say whether a source is the URL of a web server."""
    return isinstance(source, str) and source.lower().startswith(("http://", "https://"))


_MOST = 2**20
"""Bytes of a catalogue; a longer document is taken for none."""
_MOST_YAML = 2**18
"""The same for YAML, which is read in Python."""
_SHOWN = 10  # links that the message lists
_STAC = b'"stac_version"'
_INTAKE = re.compile(rb"^(?:sources|data|entries)\s*:", re.MULTILINE)
_DRIVER = re.compile(rb"^\s+(?:driver|args|reader|kwargs)\s*:", re.MULTILINE)
_SAID = re.compile("kerchunk|reference|virtual|icechunk", re.IGNORECASE)
_ENDS = (".json", ".json.gz", ".json.zst", ".parq", ".parquet", ".icechunk", ".dmrpp")
_HERE = re.compile(r"\{\{\s*CATALOG_DIR\s*\}\}/?")
_CHAINED = "reference::"
_DEPTH = 20  # nesting of an entry that is followed; a stranger's file may nest without end
_NESTED = 200
"""Lists and mappings in each other; Python's own limit comes later, and costs more."""


class Pointer(NamedTuple):
    """A link of a catalogue to what may be a reference set: its name there and its place."""

    name: str
    place: str


class Catalogue(NamedTuple):
    """What a document is, and what it points to."""

    kind: str  # Such as ``"a STAC item"``
    pointers: tuple[Pointer, ...]  # Links to what may be reference sets, in order
    others: int  # How many links lead to something else


def catalogue_of(head: bytes) -> Catalogue | None:
    """Return what the start of a file tells of a catalogue; None if it is none."""
    if len(head) >= _MOST:
        return None
    if _STAC in head:
        return _stac(head)
    if len(head) >= _MOST_YAML or head.lstrip().startswith(b"{"):
        return None
    if _INTAKE.search(head) and _DRIVER.search(head):
        return _intake(head)
    return None


def chosen(catalogue: Catalogue, name: str, location: str | None, part: int | None) -> str:
    """Return the place of the link that is meant: the one of a number, or the only one nearby."""
    links = catalogue.pointers
    if part is not None and part < len(links):
        return _resolved(links[part].place, location)
    if part is None and len(links) == 1:
        place = _resolved(links[0].place, location)
        if location is not None and _is_in(place, location):
            return place
    raise SpecError(_sentence(catalogue, name, location), code="not-json")


def _sentence(catalogue: Catalogue, name: str, location: str | None) -> str:
    what = f"{escape(name, NAME_SHOWN)} is {catalogue.kind}, not a reference set"
    if not catalogue.pointers:
        count = f"{catalogue.others:,} link" + ("s" if catalogue.others != 1 else "")
        return f"{what}; none of its {count} says that it leads to one."
    listed = [
        f"#{number} {escape(link.name, 80)} ({escape(_resolved(link.place, location), 200)})"
        for number, link in enumerate(catalogue.pointers[:_SHOWN])
    ]
    more = len(catalogue.pointers) - _SHOWN
    listed += [f"and {more:,} more"] if more > 0 else []
    example = escape(f"{name}#0", NAME_SHOWN)
    return f"{what}; it points to {', '.join(listed)}: open one by its number, as in {example!r}."


def _stac(head: bytes) -> Catalogue | None:
    try:
        document = json.loads(head)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or {"refs", ".zgroup"} & document.keys():
        return None
    if not isinstance(document.get("stac_version"), str):
        return None
    kind = {"Feature": "a STAC item", "Collection": "a STAC collection"}
    assets = document.get("assets")
    found: list[Pointer] = []
    others = 0
    for name, asset in assets.items() if isinstance(assets, dict) else ():
        href = asset.get("href") if isinstance(asset, dict) else None
        if not isinstance(href, str):
            continue
        if _is_of_references(name, asset, href):
            found.append(Pointer(name, href))
        else:
            others += 1
    links = document.get("links")
    others += len(links) if isinstance(links, list) else 0
    kind_text = kind.get(str(document.get("type")), "a STAC catalogue")
    return Catalogue(kind_text, tuple(found), others)


def _is_of_references(name: str, asset: Mapping[str, Any], href: str) -> bool:
    roles = asset.get("roles")
    kind_text = [name, asset.get("type"), *(roles if isinstance(roles, list) else ())]
    if any(isinstance(each, str) and _SAID.search(each) for each in kind_text):
        return True
    return href.partition("?")[0].endswith(_ENDS)


def _intake(head: bytes) -> Catalogue | None:
    import yaml

    try:
        depth = 0
        # events and not objects first: aliases of aliases are refused before they are followed, and
        # lists in lists before they take hours, since each bracket is compared with all open ones
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # with libyaml, ten times faster
        for event in yaml.parse(head, loader):
            if isinstance(event, yaml.AliasEvent):
                return Catalogue("an intake catalogue with aliases", (), 0)
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _NESTED:
                return None
        document = yaml.load(head, loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    found: list[Pointer] = []
    others = 0
    for section in ("sources", "data", "entries"):
        entries = document.get(section)
        for name, entry in entries.items() if isinstance(entries, dict) else ():
            places = [*_places(entry, 0)]
            found += [Pointer(str(name), place) for place in places]
            others += not places
    return Catalogue("an intake catalogue", tuple(found), others)


def _places(entry: object, depth: int) -> Iterator[str]:
    """Yield the places of references in an entry: the ``fo`` of fsspec, and chained URLs."""
    if depth > _DEPTH:
        return
    if isinstance(entry, dict):
        for name, value in entry.items():
            if name == "fo" and isinstance(value, str):
                yield value
            elif isinstance(value, str) and value.startswith(_CHAINED):
                yield value.removeprefix(_CHAINED)
            else:
                yield from _places(value, depth + 1)
    elif isinstance(entry, list):
        for value in entry:
            yield from _places(value, depth + 1)


def _resolved(place: str, location: str | None) -> str:
    """Return the absolute place of a link of a catalogue that lies in a folder."""
    place = _HERE.sub("", place)
    if "://" in place or place.startswith("/") or location is None:
        return place
    if "://" in location:
        protocol, mark, path = location.partition("://")
        # of URLs of buckets, too, which `urljoin` does not know
        return protocol + mark + urljoin(f"http://{path}/", place).removeprefix("http://")
    return posixpath.normpath(posixpath.join(location, place))


def _is_in(place: str, location: str) -> bool:
    return place.startswith(f"{location.rstrip('/')}/") and ".." not in place.split("/")
