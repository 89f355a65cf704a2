"""`convert`: a set in another format, with other targets or chunks, verified before renaming."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, repeat
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any, BinaryIO

import numpy as np

from refexplorer.checks.advice.accesses import groups_of, opening_cost
from refexplorer.checks.advice.advising import best_record_size
from refexplorer.checks.advice.requests import DEFAULT_PLACE, connection_of
from refexplorer.core.errors import HarmError, LeftOutWarning, RefexplorerError, SourceError, warn
from refexplorer.core.files import OwnFiles, Progress, check_free, write_blocks, writing
from refexplorer.core.limits import check_expandable
from refexplorer.core.text import escape, size_text
from refexplorer.formats.columns.table import Table, build_table
from refexplorer.formats.source import RECORD_SIZE, OpeningTerms
from refexplorer.io.access import allowed_names, resolve
from refexplorer.refset.arrays import arrays_of
from refexplorer.refset.inference.infer import as_version_1, infer_table
from refexplorer.refset.opened_set import OpenedSet, internals
from refexplorer.refset.segments import BLOCK, concatenated, tables
from refexplorer.refset.writing.comparing import Spool
from refexplorer.refset.writing.icechunk import write_icechunk
from refexplorer.refset.writing.json import (
    Inlining,
    Outlining,
    Renames,
    WatchBlocks,
    check_v0,
    check_v1,
    empty_as_text,
    read_back,
    retargeted,
    v0_blocks,
)
from refexplorer.refset.writing.parquet import check_store, write_parquet
from refexplorer.refset.writing.rechunking import Reshaping, can_hold, factors_of
from refexplorer.spec.references import Range
from refexplorer.spec.zarr_metadata import ArrayMeta
from refexplorer.verbs.migrating import is_older, set_as_v3
from refexplorer.verbs.opening import open_references
from refexplorer.verbs.referenceset import ReferenceSet

_MOST_BYTES = 2**26  # Of one coordinate in a set, which every reader loads to open it
_AT_ONCE = 64  # requests of Zarr at a time, in place of its ten


def coordinates_of(refs: ReferenceSet) -> list[str]:
    """Return the arrays that opening with xarray reads from targets, or in several chunks."""
    opened = internals(refs).opened
    coordinates: dict[str, None] = {}
    for group, arrays in groups_of(opened).items():
        _, read = opening_cost(opened, group, arrays, connection_of(DEFAULT_PLACE))
        several = [array.path for array in arrays if array.is_dimension and array.chunk_count > 1]
        coordinates |= dict.fromkeys([*read, *several])
    return list(coordinates)


def values_of(
    refs: ReferenceSet, paths: Sequence[str], allow: Collection[str]
) -> Iterator[tuple[str, bytes]]:
    """Yield arrays with the in-memory bytes of their values, read from their targets."""
    for path in paths:
        array = refs.array(path)
        if not can_hold(array):
            message = f"{path} is not changed: values of data type {array.dtype} vary in size."
            warn(message)
            continue
        size = math.prod(array.shape) * (array.itemsize or 0)
        if size > _MOST_BYTES:
            raise RefexplorerError(
                f"{path} has {size_text(size)}, more than the {size_text(_MOST_BYTES)} that "
                "a set should contain for one coordinate; convert without `inline_coordinates`."
            )
        yield path, _read(refs, path, allow)


def check_values(
    refs: ReferenceSet, reshaping: Reshaping, divided: Collection[str], inline: Mapping[str, bytes]
) -> None:
    """Read arrays in their new chunks with Zarr, and compare the values."""
    # Inlined arrays are compared with the values read from targets. Divided chunks refer to the
    # same bytes as before; that these have the same meaning is tested with stand-ins for the first
    # and the last chunk, so that no target is read.
    table = internals(refs).opened.table
    metadata = table.select(np.array(list(table.metadata.values()), np.int64))
    after = _opened(reshaping.apply(metadata), refs)
    for path, data in inline.items():
        if _read(after, path, ()) != data:
            raise _differs(path)
    for path in divided:
        array = refs.array(path)
        for index in {tuple(0 for _ in array.grid), tuple(count - 1 for count in array.grid)}:
            _check_stand_in(refs, reshaping, metadata, array, index)


def _check_stand_in(
    refs: ReferenceSet,
    reshaping: Reshaping,
    metadata: Table,
    array: ArrayMeta,
    index: tuple[int, ...],
) -> None:
    """Compare the values of a chunk of random bytes before and after the conversion."""
    size, sides = array.encoded_size or 0, zip(index, array.chunks, strict=True)
    region = tuple(slice(number * step, (number + 1) * step) for number, step in sides)
    with TemporaryDirectory() as folder:
        place = Path(folder, "chunk")
        place.write_bytes(os.urandom(size))
        chunk = array.chunk_key(index), Range(str(place), 0, size)
        table = build_table([*metadata.iterate(), chunk])
        values = [
            _read(_opened(each, refs), array.path, [folder], region)
            for each in (table, reshaping.apply(table))
        ]
    if values[0] != values[1]:
        raise _differs(array.path)


def _opened(table: Table, refs: ReferenceSet) -> ReferenceSet:
    document = {key: reference.to_v0() for key, reference in table.iterate()}
    return open_references(document, limits=refs.limits)


def _read(refs: ReferenceSet, path: str, allow: Collection[str], region: Any = Ellipsis) -> bytes:
    """Return the bytes of values, in the byte order of the array when it is one chunk."""
    import zarr

    root: Any = refs.allowing(*allowed_names(allow)).to_zarr()
    array = refs.array(path)
    with zarr.config.set({"async.concurrency": _AT_ONCE}):
        try:
            values = np.asarray((root[path] if path else root)[region])
        except RefexplorerError:
            raise
        except Exception as error:
            raise RefexplorerError(f"{path} could not be read: {error}") from error
    kind = np.dtype(array.dtype) if array.zarr_format == 2 else values.dtype.newbyteorder("<")
    return np.ascontiguousarray(values, kind).tobytes()


def _differs(path: str) -> HarmError:
    return HarmError(f"{path} has different values in its new chunks, so nothing was written.")


FORMS = ("V0", "V1", "parquet", "Icechunk")
Watch = Callable[[Iterable[Table], int, str], Iterable[Table]]
"""Passes blocks on and shows how many of them there were, of how many, in which step."""


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """Options for writing a set.

    Attributes
    ----------
    form
        One of `FORMS`; None chooses from the name of the output: ``.parq`` and ``.parquet`` are
        stores, ``.icechunk`` is a repository, anything else is V0.
    renames
        Pairs of old and new URL prefixes; the first match is applied.
    absolute
        Resolve relative URLs against the location of the source.
    relative
        Write URLs inside the folder of the output relative to it.
    inline
        Byte ranges up to this size are read and written into the set; 0 reads nothing.
    allow
        Locations that may be read, in addition to the folder of the source.
    outline
        A file to which the inline data of chunks are moved.
    explicit
        Write V1 without templates and gen items, which not all readers know.
    objects
        Write metadata as JSON objects, not as strings.
    record_size
        Rows per record file of a parquet store; None chooses the best size for reading one index
        of the first dimension, or all of it at one point.
    inline_coordinates
        Write the coordinates that xarray reads when it opens the set into the set, each as one
        chunk.
    subchunk
        For arrays with uncompressed chunks: the number of parts to divide each chunk into; None
        makes a part for each index along the first dimension.
    overwrite
        Replace an existing output; in an Icechunk repository, the content of the branch ``main``
        is replaced, and the history is kept.
    message
        Message of the commit to an Icechunk repository.
    storage_options
        Options for fsspec, to write an Icechunk repository by URL; those of the source by default.
    """

    form: str | None = None
    renames: Sequence[tuple[str, str]] = ()
    absolute: bool = False
    relative: bool = False
    inline: int = 0
    allow: Collection[str] = ()
    outline: str | os.PathLike[str] | None = None
    explicit: bool = False
    objects: bool = False
    record_size: int | None = RECORD_SIZE
    inline_coordinates: bool = False
    subchunk: Mapping[str, int | None] = field(default_factory=dict)
    overwrite: bool = False
    message: str = "References written by refexplorer"
    storage_options: Mapping[str, Any] | None = field(default=None, repr=False)
    watch: Watch = field(default=lambda blocks, total, sentence: blocks, repr=False)


def form_of(output: Path, form: str | None) -> str:
    """Return the format for an output."""
    if form is None:
        by_ending = {".icechunk": "Icechunk", ".parq": "parquet", ".parquet": "parquet"}
        return by_ending.get(output.suffix, "V0")
    known_form = {form_name.lower(): form_name for form_name in FORMS}.get(form.lower())
    if known_form is None:
        raise RefexplorerError(
            f"{form!r} is not a format of reference sets; use one of {', '.join(FORMS)}."
        )
    return known_form


def check_output(refs: ReferenceSet, target: Path, url: str | None, how: Conversion) -> None:
    """Reject impossible conversions before anything is read."""
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
        location, name = refs.source.location, refs.source.name
        if location is not None and place.resolve() == Path(location, name).resolve():
            raise SourceError(f"{str(place)!r} is the source itself; choose another name.")
        if not how.overwrite:
            check_free(place)
    if how.relative and is_icechunk:
        raise SourceError("Icechunk does not support relative URLs; do not pass `relative`.")


def url_changes(
    refs: ReferenceSet, target: Path, how: Conversion
) -> Iterator[Callable[[str], str]]:
    """Yield the changes that make URLs absolute or relative."""
    if how.absolute and refs.source.location is not None:
        yield partial(resolve, location=refs.source.location)
    if form_of(target, how.form) == "Icechunk":  # which has no relative locations

        def with_protocol(url: str) -> str:
            resolved = resolve(url, refs.source.location)
            return resolved if "://" in resolved else f"file://{resolved}"

        yield with_protocol
    if how.relative:
        yield partial(relative_to, folder=output_folder(target))


def output_folder(target: Path) -> str:
    """Return the folder of an output, with a trailing slash."""
    return f"{target.resolve().parent}/"


def relative_to(url: str, folder: str) -> str:
    """Return a URL relative to a folder, if it is inside."""
    for start in (f"file://{folder}", folder):
        if url.startswith(start):
            return url[len(start) :]
    return url


TableChange = Callable[[Table], Table]
WrittenCheck = Callable[[object], object]
"""Checks the written set, given as to `open_references`; raises an error if it is wrong."""


def convert(source: object, output: str | os.PathLike[str], how: Conversion | None = None) -> int:
    """Write a set in another format or with other targets; return the number of keys written.

    The output is read back and compared with the source before it gets its final name, so an
    incomplete output never exists. References are processed one block at a time, except for V1,
    which needs all references of a group at once.

    Parameters
    ----------
    source
        A `ReferenceSet`, or any source accepted by `open_references`.
    output
        The file, compressed if its name ends in ``.gz`` or ``.zst``, or the folder of a store. An
        Icechunk repository may be written to a bucket, by its URL (``s3://``, ``gs://``).
    how
        Options; None only changes the format.

    Raises
    ------
    RefexplorerError
        If the output exists or is the source, the format cannot contain a key, a rename matches no
        URL, or a target may not be read.

    Warns
    -----
    LeftOutWarning
        If something is not written to a parquet store, or not found there by fsspec, see
        `ReferenceSet.to_parquet`.
    """
    refs = source if isinstance(source, ReferenceSet) else open_references(source)
    return convert_checked(refs, output, how or Conversion(), lambda written: None)


def convert_checked(
    refs: ReferenceSet, output: str | os.PathLike[str], how: Conversion, check: WrittenCheck
) -> int:
    """Do the same as `convert`, and let `check` inspect the output before it is renamed."""
    text = os.fspath(output).removeprefix("file://")
    target, url = Path(text), text if "://" in text else None
    check_expandable(refs.count, refs.limits)
    check_output(refs, target, url, how)
    before = arrays_of(internals(refs).opened.table)
    if form_of(target, how.form) == "Icechunk" and is_older(refs):
        refs = set_as_v3(refs)
    with ExitStack() as opened:
        converter = _Converter(refs, target, url, how, check, opened)
        for path, array in before.items():  # chunks are compared later
            new = converter.arrays.get(path)
            if new is None or new.shape != array.shape:
                what = "be lost" if new is None else f"have shape {new.shape}, not {array.shape}"
                raise HarmError(f"{path or 'The root array'} would {what}; nothing was written.")
        return converter.run()


class _Converter:
    """One conversion: blocks of the source are changed, written and compared with the output."""

    def __init__(
        self,
        refs: ReferenceSet,
        target: Path,
        url: str | None,
        how: Conversion,
        check: WrittenCheck,
        opened: ExitStack,
    ) -> None:
        self._refs, self._target, self._how, self._opened = refs, target, how, opened
        self._url, self._check = url, check
        self._form = form_of(target, how.form)
        self._columns = internals(refs).opened
        self.arrays = arrays_of(self._columns.table)
        self._reshaping = self._reshape() if how.inline_coordinates or how.subchunk else None
        if self._reshaping is not None:
            self.arrays = self._reshaping.arrays
        self._renames = Renames(how.renames)
        self._urls = [self._renames.apply, *url_changes(refs, target, how)]
        self._inlining: Inlining | None = None
        if how.inline:
            room = target.parent if url is None else Path(gettempdir())
            spool = opened.enter_context(Spool(room))
            files = refs.allowing(*allowed_names(how.allow)).filesystem()
            self._inlining = Inlining(how.inline, files.cat, spool)
        self._outline: BinaryIO | None = None
        if how.outline is not None:
            outline = writing(Path(how.outline), as_it_is=True, overwrite=how.overwrite)
            self._outline = opened.enter_context(outline)
        self._keys = 0

    def _reshape(self) -> Reshaping:
        """Return the change of arrays to other chunks, once their values are known to be kept."""
        refs, how = self._refs, self._how
        divided = {path: factors_of(refs.array(path), n) for path, n in how.subchunk.items()}
        paths = coordinates_of(refs) if how.inline_coordinates else []
        paths = [path for path in paths if path not in divided]
        progress = iter(how.watch(repeat(concatenated([]), len(paths)), len(paths), "Coordinates"))
        values = {}
        for path, data in values_of(refs, paths, how.allow):
            values[path] = data
            next(progress, None)
        reshaping = Reshaping(self._columns.table, divided, values)
        check_values(refs, reshaping, divided, values)
        return reshaping

    def run(self) -> int:
        """Write the output, and return the number of keys."""
        how, target, limits = self._how, self._target, self._refs.limits
        if self._form != "Icechunk":
            for prefix, url in self._refs.source.endpoints.items():
                message = (
                    f"{self._form} cannot store that {prefix} is at {url}: readers need "
                    f"`endpoint_url`, or they request it from AWS."
                )
                warn(message, LeftOutWarning)
        if self._form == "parquet":
            size = how.record_size or best_record_size(self._columns)
            check = self._make_check(
                lambda written: check_store(self._same_blocks(), self.arrays, written, limits)
            )
            made = self._changed_blocks("Writing"), self.arrays
            write_parquet(*made, target, size, check=check, overwrite=how.overwrite)
        elif self._form == "Icechunk":
            both = self._changed_blocks("Writing"), self._same_blocks()
            self._keys = write_icechunk(
                *both, self.arrays, self._url or target, how.message, limits,
                check=self._make_check(None), overwrite=how.overwrite, options=self._options(),
                endpoints=self._refs.source.endpoints,
            )  # fmt: skip
        elif self._form == "V1":
            if self._columns.segments or self._inlining or self._outline or self._reshaping:
                table = concatenated(list(self._changed_blocks("Reading")))
            else:  # a document's table is not copied
                table = retargeted(self._columns.table, self._urls)
            with self._report_blocks(table.count, "Looking for progressions") as report:
                inferred = as_version_1(table) if how.explicit else infer_table(table, 1, report)
            watch = self._watch_blocks(table.count, "Checking")
            check = self._make_check(
                lambda written: check_v1(table, written, limits, self._open, watch)
            )
            blocks = inferred.blocks(how.objects, self._watch_blocks(len(inferred.kept), "Writing"))
            write_blocks(target, blocks, check, overwrite=how.overwrite)
        else:
            blocks = v0_blocks(self._changed_blocks("Writing"), how.objects)
            check = self._make_check(
                lambda written: check_v0(self._same_blocks(), written, limits, self._open)
            )
            write_blocks(target, blocks, check, overwrite=how.overwrite)
        return self._keys

    def _options(self) -> Mapping[str, Any]:
        """Return the options for opening the storage of the output."""
        if self._url is None:
            return {}
        options = self._how.storage_options
        options = self._refs.storage_options if options is None else options
        return OpeningTerms(self._refs.limits, OwnFiles(), options=options).options_of(self._url)

    @contextmanager
    def _report_blocks(self, count: int, step: str) -> Iterator[Progress]:
        """Report the progress of processing many references, as blocks pass."""
        total = -(-count // BLOCK)
        nothing = repeat(concatenated([]), total)
        with closing(block for block in self._watch_blocks(count, step)(nothing)) as blocks:
            passed = 0

            def report(done: int, size: int) -> None:
                nonlocal passed
                ahead = done * total // max(size, 1) - passed
                passed += sum(1 for _ in islice(blocks, max(ahead, 0)))

            yield report
            for _ in blocks:
                pass

    def _watch_blocks(self, count: int, step: str) -> WatchBlocks:
        """Return the progress reporter for a step of processing blocks."""
        return lambda blocks: self._how.watch(blocks, -(-count // BLOCK), step)

    def _changed_blocks(self, step: str) -> Iterator[Table]:
        """Yield the references as they will be written."""
        changes = [] if self._inlining is None else [self._inlining.apply]
        put = None if self._outline is None else self._outline.write
        return self._blocks(step, changes, put)

    def _same_blocks(self) -> Iterator[Table]:
        """Yield the same blocks again; data that were read are not read again."""
        changes = [] if self._inlining is None else [self._inlining.again]
        if self._outline is None:
            return self._blocks("Checking", changes, None)
        self._outline.flush()
        comparing = read_back(Path(self._outline.name))
        return self._blocks("Checking", changes, self._opened.enter_context(comparing))

    def _blocks(
        self, step: str, changes: Sequence[TableChange], put: Callable[[bytes], object] | None
    ) -> Iterator[Table]:
        if self._reshaping is not None:
            changes = [*changes, self._reshaping.apply]
        changes = [*changes, lambda table: retargeted(table, self._urls)]
        if self._form == "parquet":
            changes.append(empty_as_text)
        if put is not None:
            name = str(Path(self._how.outline or "").resolve())
            if self._form == "Icechunk":  # which has no relative locations
                name = f"file://{name}"
            else:
                name = relative_to(name, output_folder(self._target))
            changes.append(Outlining(put, name).apply)
        parts = self._columns.parts
        total = sum(-(-part.count // BLOCK) for part in parts)
        for block in self._how.watch(tables(parts), total, step):
            for change in changes:
                block = change(block)
            yield block

    def _make_check(self, count: Callable[[Path], int] | None) -> Callable[[Any], None]:
        """Return a function that compares the output with the source and counts keys."""

        def check(written: Any) -> None:
            if self._renames.unused:
                start = next(iter(self._renames.unused))[0]
                raise RefexplorerError(f"No URL of {self._refs.source.name} starts with {start!r}.")
            if count is not None:
                self._keys = count(written)
            self._check(written)

        return check

    def _open(self, text: bytes) -> OpenedSet:
        return internals(open_references(text, limits=self._refs.limits)).opened
