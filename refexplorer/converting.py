"""`convert`: a set in another form, with other targets, checked before it gets its name."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, repeat
from pathlib import Path
from typing import BinaryIO

from refexplorer.data.access.urls import resolve
from refexplorer.errors import RefexplorerError, SourceError
from refexplorer.formats.files.atomic import Check, check_free, write_blocks, writing
from refexplorer.formats.files.compression import Progress
from refexplorer.formats.parquet.writer import RECORD_SIZE
from refexplorer.opening import open_references
from refexplorer.referenceset import ReferenceSet
from refexplorer.refset.chunks.array_metadata import arrays_of
from refexplorer.refset.columns.table import Table
from refexplorer.refset.inference.inferred import infer_table
from refexplorer.refset.opened.batches import BLOCK, concatenated, tables
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.queries.internals import internals
from refexplorer.refset.write.document_check import WatchBlocks, check_v0, check_v1
from refexplorer.refset.write.icechunk_export import write_icechunk
from refexplorer.refset.write.inlining import Inlining, Outlining, empty_as_text, read_back
from refexplorer.refset.write.json_members import v0_blocks
from refexplorer.refset.write.parquet_export import write_parquet
from refexplorer.refset.write.record_check import check_store
from refexplorer.refset.write.retargeting import Renames, retargeted
from refexplorer.refset.write.spool import Spool
from refexplorer.spec.document.expansion import check_expandable

FORMS = ("V0", "V1", "parquet", "Icechunk")
_PARQUET = (".parq", ".parquet")
_ICECHUNK = ".icechunk"

Watch = Callable[[Iterable[Table], int, str], Iterable[Table]]
"""Passes blocks on and shows how many of them there were, of how many, in which step."""
TableChange = Callable[[Table], Table]


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
        Rows of a record file of a parquet store.
    overwrite
        Replace an output that is there; of an Icechunk repository what its branch ``main`` has,
        and its history stays.
    message
        Of the commit to an Icechunk repository.
    """

    form: str | None = None
    renames: Sequence[tuple[str, str]] = ()
    absolute: bool = False
    relative: bool = False
    inline: int = 0
    allow: Collection[str] = ()
    outline: str | os.PathLike[str] | None = None
    objects: bool = False
    record_size: int = RECORD_SIZE
    overwrite: bool = False
    message: str = "References written by refexplorer"
    watch: Watch = field(default=lambda blocks, total, sentence: blocks, repr=False)


def convert(source: object, output: str | os.PathLike[str], how: Conversion | None = None) -> int:
    """Write a set in another form or with other targets; return how many keys were written.

    What was written is read back and compared with the source before it gets its name, so that an
    output is either there and right, or not there. References go through memory a block at a time,
    but for V1: what repeats is looked for in all of them, and those of a group at once.

    Parameters
    ----------
    source
        A `ReferenceSet`, or a source as `open_references` takes it.
    output
        The file, compressed if its name ends in ``.gz`` or ``.zst``, or the folder of a store.
    how
        What to do on the way; None changes the form only.

    Raises
    ------
    RefexplorerError
        If the output is there or is the source, the form has no place for a key, a rule fits no
        URL, or a target may not be read.

    Warns
    -----
    LeftOutWarning
        If fsspec does not find the chunks of an array in a parquet store, as for
        `ReferenceSet.to_parquet`.
    """
    how = how or Conversion()
    refs = source if isinstance(source, ReferenceSet) else open_references(source)
    target = Path(output)
    check_expandable(refs.count, refs.limits)
    _check_output(refs, target, how)
    with ExitStack() as opened:
        return _Converter(refs, target, how, opened).run()


class _Converter:
    """One conversion: blocks of the source are changed, written, and compared with what is there.

    Parameters
    ----------
    refs, target, how
        As `convert` takes them.
    opened
        Closes what is opened on the way.
    """

    def __init__(
        self, refs: ReferenceSet, target: Path, how: Conversion, opened: ExitStack
    ) -> None:
        self._refs, self._target, self._how, self._opened = refs, target, how, opened
        self._form = form_of(target, how.form)
        self._columns = internals(refs).opened
        self._arrays = arrays_of(self._columns.table)
        self._renames = Renames(how.renames)
        self._urls = [self._renames.apply, *_places(refs, target, how)]
        self._inlining: Inlining | None = None
        if how.inline:
            spool = opened.enter_context(Spool(target.parent))
            files = refs.filesystem(allow=how.allow)
            self._inlining = Inlining(how.inline, files.cat, spool)
        self._outline: BinaryIO | None = None
        if how.outline is not None:
            outline = writing(Path(how.outline), as_it_is=True, overwrite=how.overwrite)
            self._outline = opened.enter_context(outline)
        self._keys = 0

    def run(self) -> int:
        """Write, and say how many keys."""
        how, target = self._how, self._target
        if self._form == "parquet":
            write_parquet(
                self._first("Writing"),
                self._arrays,
                target,
                how.record_size,
                check=self._checked(self._check_store),
                overwrite=how.overwrite,
            )
        elif self._form == "Icechunk":
            wanted, again = self._first("Writing"), self._again()
            limits, check = self._refs.limits, self._checked(lambda _: 0)
            self._keys = write_icechunk(
                wanted,
                again,
                self._arrays,
                target,
                how.message,
                limits,
                check=check,
                overwrite=how.overwrite,
            )
        elif self._form == "V1":
            table = self._all()
            with self._telling(table.count, "Looking for progressions") as tell:
                found = infer_table(table, least=1, progress=tell)
            check = self._checked(partial(self._check_v1, table))
            watch = self._watched(len(found.kept), "Writing")
            blocks = found.blocks(how.objects, watch)
            write_blocks(target, blocks, check, overwrite=how.overwrite)
        else:
            blocks = v0_blocks(self._first("Writing"), how.objects)
            check = self._checked(self._check_v0)
            write_blocks(target, blocks, check, overwrite=how.overwrite)
        return self._keys

    @contextmanager
    def _telling(self, count: int, step: str) -> Iterator[Progress]:
        """Show how far a work on so many references is, as blocks that pass."""
        total = -(-count // BLOCK)
        nothing = repeat(concatenated([]), total)
        with closing(block for block in self._watched(count, step)(nothing)) as shown:
            passed = 0

            def tell(done: int, of: int) -> None:
                nonlocal passed
                ahead = done * total // max(of, 1) - passed
                passed += sum(1 for _ in islice(shown, max(ahead, 0)))

            yield tell
            for _ in shown:
                pass

    def _watched(self, count: int, step: str) -> WatchBlocks:
        """Return what shows how many blocks of so many references went through a step."""
        return lambda blocks: self._how.watch(blocks, -(-count // BLOCK), step)

    def _first(self, step: str) -> Iterator[Table]:
        """Yield the references as they are to be written."""
        changes = [] if self._inlining is None else [self._inlining.apply]
        put = None if self._outline is None else self._outline.write
        return self._blocks(step, changes, put)

    def _all(self) -> Table:
        """Return the same as one table; that of a document is not copied."""
        if len(self._columns.parts) == 1 and self._inlining is None and self._outline is None:
            return retargeted(self._columns.table, self._urls)
        return concatenated(list(self._first("Reading")))

    def _again(self) -> Iterator[Table]:
        """Yield the same once more; what was read is not read again."""
        changes = [] if self._inlining is None else [self._inlining.again]
        if self._outline is None:
            return self._blocks("Checking", changes, None)
        self._outline.flush()
        comparing = read_back(Path(self._outline.name))
        return self._blocks("Checking", changes, self._opened.enter_context(comparing))

    def _blocks(
        self, step: str, changes: Sequence[TableChange], put: Callable[[bytes], object] | None
    ) -> Iterator[Table]:
        changes = [*changes, lambda table: retargeted(table, self._urls)]
        if self._form == "parquet":
            changes.append(empty_as_text)
        if put is not None:
            place = str(Path(self._how.outline or "").resolve())
            changes.append(Outlining(put, _relative(place, _beside(self._target))).apply)
        parts = self._columns.parts
        total = sum(-(-part.count // BLOCK) for part in parts)
        for block in self._how.watch(tables(parts), total, step):
            for change in changes:
                block = change(block)
            yield block

    def _checked(self, count: Callable[[Path], int]) -> Check:
        """Return what holds the output against the source, and notes how many keys there are."""

        def check(written: Path) -> None:
            if self._renames.unused:
                start = next(iter(self._renames.unused))[0]
                raise RefexplorerError(f"No URL of {self._refs.source.name} starts with {start!r}.")
            self._keys = count(written)

        return check

    def _check_store(self, written: Path) -> int:
        return check_store(self._again(), self._arrays, written, self._refs.limits)

    def _check_v0(self, written: Path) -> int:
        return check_v0(self._again(), written, self._refs.limits, self._open)

    def _check_v1(self, table: Table, written: Path) -> int:
        watch = self._watched(table.count, "Checking")
        return check_v1(table, written, self._refs.limits, self._open, watch)

    def _open(self, text: bytes) -> OpenedSet:
        return internals(open_references(text, limits=self._refs.limits)).opened


def form_of(output: Path, form: str | None) -> str:
    """Return the form that an output is to have.

    Raises
    ------
    RefexplorerError
        If there is no such form.
    """
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


def _check_output(refs: ReferenceSet, target: Path, how: Conversion) -> None:
    for place in (target, None if how.outline is None else Path(how.outline)):
        if place is None:
            continue
        if refs.source.location is not None and place.resolve() == _place_of(refs):
            raise SourceError(f"{str(place)!r} is the source itself; choose another name.")
        if not how.overwrite:
            check_free(place)
    if how.relative and form_of(target, how.form) == "Icechunk":
        raise SourceError("Icechunk has no relative locations; leave out `relative`.")


def _place_of(refs: ReferenceSet) -> Path:
    return Path(refs.source.location or "", refs.source.name).resolve()


def _places(refs: ReferenceSet, target: Path, how: Conversion) -> Iterator[Callable[[str], str]]:
    """Yield the changes that make URLs absolute or relative."""
    if how.absolute and refs.source.location is not None:
        yield partial(resolve, location=refs.source.location)
    if form_of(target, how.form) == "Icechunk":  # which has no relative locations
        yield partial(_absolute, location=refs.source.location)
    if how.relative:
        yield partial(_relative, folder=_beside(target))


def _absolute(url: str, location: str | None) -> str:
    """Return a URL with a protocol, also of a file of this machine."""
    found = resolve(url, location)
    return found if "://" in found else f"file://{found}"


def _beside(target: Path) -> str:
    return f"{target.resolve().parent}/"


def _relative(url: str, folder: str) -> str:
    """Return a URL relative to a folder, if it is inside."""
    for start in (f"file://{folder}", folder):
        if url.startswith(start):
            return url[len(start) :]
    return url
