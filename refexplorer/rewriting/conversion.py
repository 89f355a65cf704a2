"""How a set is to be written: its form, its place, and what becomes of its URLs."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from refexplorer.errors import RefexplorerError, SourceError
from refexplorer.formats.columns.table import Table
from refexplorer.formats.files.atomic import check_free
from refexplorer.formats.parquet.writer import RECORD_SIZE
from refexplorer.io.access.urls import resolve
from refexplorer.markup import escape
from refexplorer.referenceset import ReferenceSet

FORMS = ("V0", "V1", "parquet", "Icechunk")

_PARQUET = (".parq", ".parquet")

_ICECHUNK = ".icechunk"

Watch = Callable[[Iterable[Table], int, str], Iterable[Table]]
"""Passes blocks on and shows how many of them there were, of how many, in which step."""


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """How a set is to be written.

    Attributes
    ----------
    form
        One of `FORMS`; None goes by the name of the output: ``.parq`` and ``.parquet`` are
        stores, ``.icechunk`` is a repository, all else is V0.
    renames
        Starts of URLs and what they become; the first rule that fits is applied.
    absolute
        Resolve relative URLs against the place of the source.
    relative
        Write URLs inside the folder of the output relative to it.
    inline
        Bytes up to which byte ranges are read and written into the set; 0 reads nothing.
    allow
        What may be read for it besides the folder of the source.
    outline
        A file to take the inline data of chunks out to.
    objects
        Write metadata as JSON objects, not as text that holds them.
    record_size
        Rows of a record file of a parquet store; None takes what one index of the first
        dimension, and all of it at one point, cost least with.
    inline_coordinates
        Read the coordinates that opening with xarray reads, and write each into the set as one
        chunk.
    subchunk
        Arrays whose chunks are not compressed, and how many chunks each of them becomes; None
        divides them all along their first dimension.
    overwrite
        Replace an output that is there; of an Icechunk repository what its branch ``main`` has,
        and its history stays.
    message
        Of the commit to an Icechunk repository.
    storage_options
        For fsspec, to write an Icechunk repository by URL; those of the source by default.
    """

    form: str | None = None
    renames: Sequence[tuple[str, str]] = ()
    absolute: bool = False
    relative: bool = False
    inline: int = 0
    allow: Collection[str] = ()
    outline: str | os.PathLike[str] | None = None
    objects: bool = False
    record_size: int | None = RECORD_SIZE
    inline_coordinates: bool = False
    subchunk: Mapping[str, int | None] = field(default_factory=dict)
    overwrite: bool = False
    message: str = "References written by refexplorer"
    storage_options: Mapping[str, Any] | None = field(default=None, repr=False)
    watch: Watch = field(default=lambda blocks, total, sentence: blocks, repr=False)


def form_of(output: Path, form: str | None) -> str:
    """Return the form that an output is to have."""
    if form is None:
        if output.suffix == _ICECHUNK:
            return "Icechunk"
        return "parquet" if output.suffix in _PARQUET else "V0"
    found = {name.lower(): name for name in FORMS}.get(form.lower())
    if found is None:
        raise RefexplorerError(
            f"{form!r} is not a form of reference sets; use one of {', '.join(FORMS)}."
        )
    return found


def check_output(refs: ReferenceSet, target: Path, url: str | None, how: Conversion) -> None:
    """Refuse what cannot be written, before anything is read for it."""
    is_icechunk = form_of(target, how.form) == "Icechunk"
    if url is not None:
        if not is_icechunk:
            raise SourceError(
                f"{escape(url)} cannot be written: only Icechunk repositories are written by URL; "
                "write a file or folder, and copy it."
            )
        if url.rstrip("/") == refs.source.location:
            raise SourceError(f"{escape(url)} is the source itself; choose another name.")
    for place in (target, None if how.outline is None else Path(how.outline)):
        if place is None:
            continue
        if refs.source.location is not None and place.resolve() == _place_of(refs):
            raise SourceError(f"{str(place)!r} is the source itself; choose another name.")
        if not how.overwrite:
            check_free(place)
    if how.relative and is_icechunk:
        raise SourceError("Icechunk has no relative locations; leave out `relative`.")


def _place_of(refs: ReferenceSet) -> Path:
    return Path(refs.source.location or "", refs.source.name).resolve()


def url_changes(
    refs: ReferenceSet, target: Path, how: Conversion
) -> Iterator[Callable[[str], str]]:
    """Yield the changes that make URLs absolute or relative."""
    if how.absolute and refs.source.location is not None:
        yield partial(resolve, location=refs.source.location)
    if form_of(target, how.form) == "Icechunk":  # which has no relative locations
        yield partial(_absolute, location=refs.source.location)
    if how.relative:
        yield partial(relative_to, folder=folder_beside(target))


def _absolute(url: str, location: str | None) -> str:
    """Return a URL with a protocol, also of a file of this machine."""
    found = resolve(url, location)
    return found if "://" in found else f"file://{found}"


def folder_beside(target: Path) -> str:
    """Return the folder of an output, with a slash at its end."""
    return f"{target.resolve().parent}/"


def relative_to(url: str, folder: str) -> str:
    """Return a URL relative to a folder, if it is inside."""
    for start in (f"file://{folder}", folder):
        if url.startswith(start):
            return url[len(start) :]
    return url
