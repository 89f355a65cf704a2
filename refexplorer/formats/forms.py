"""The source formats of sets, one class each, in the order in which `finding` asks them.

To add a format, add a subclass of `SourceForm` and list it in `FORMS`. Packages are imported only
if needed: VirtualiZarr and icechunk are only asked about their own objects.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

from refexplorer.core.errors import LimitError, SourceError, SpecError
from refexplorer.core.files import read_within
from refexplorer.core.limits import Limits
from refexplorer.core.text import escape
from refexplorer.formats.columns.table import EntriesBuilder
from refexplorer.formats.datafiles.confined_references import DataFileSource, made_references
from refexplorer.formats.datafiles.data_file import Unread
from refexplorer.formats.datafiles.references import references_of
from refexplorer.formats.datafiles.streams import RangeStream
from refexplorer.formats.datafiles.zarr_terms import base64_text
from refexplorer.formats.dmrpp import DmrppFile, read_xml
from refexplorer.formats.documents import parse_json
from refexplorer.formats.icechunk.facts import MARKS
from refexplorer.formats.icechunk.history import Recorded, recorded_versions
from refexplorer.formats.icechunk.manifests import OpenManifest
from refexplorer.formats.icechunk.repository import (
    OpenedVersion,
    folder_version,
    is_icechunk,
    is_repository,
    object_version,
    url_version,
)
from refexplorer.formats.objects import VIRTUAL_ARRAY, held_by
from refexplorer.formats.other_files import (
    PROBE,
    is_dmrpp,
    is_stac_set,
    is_zip,
    kind_of,
    refuse_named,
    refuse_other,
    stac_references,
)
from refexplorer.formats.parquet.store import zipped_store
from refexplorer.formats.source import (
    DATA_FILE,
    JSON,
    ZMETADATA,
    LeftOut,
    OpeningTerms,
    Source,
    SourceFile,
    SourceFolder,
    SourceForm,
    cause,
    decode_text,
    warn_of_left_out,
)
from refexplorer.spec.findings import Findings

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


class JsonForm(SourceForm):
    """A document; whether it is V0 or V1 is determined on reading."""

    name = JSON

    def of_object(self, given: object, terms: OpeningTerms) -> Source | None:
        return Source("dict", self.name, value=given) if isinstance(given, Mapping) else None

    def of_file(self, file: SourceFile, terms: OpeningTerms) -> Source | None:
        refuse_other(file.name, file.head)
        terms.check_size(file.name, file.size)
        if not file.head.strip():
            remedy = "" if file.location is None else "; write or download it again"
            raise SourceError(f"{file.name} is empty{remedy}.")
        refuse_named(file.name, file.head)
        return file.document()


class StacForm(SourceForm):
    """A STAC item or collection that contains references."""

    name = "STAC"

    def of_object(self, given: object, terms: OpeningTerms) -> Source | None:
        value = stac_references(given)
        return None if value is None else Source("STAC item", self.name, value=value)

    def of_file(self, file: SourceFile, terms: OpeningTerms) -> Source | None:
        if not is_stac_set(file.head):
            return None
        terms.check_size(file.name, file.size)
        with file.content() as stream:
            document = parse_json(decode_text(stream.read()), terms.limits, Findings())
        value = stac_references(document)
        place = None if file.local is None else str(file.local.resolve())
        found = Source(file.name, self.name, file.location, value=value, place=place)
        return None if value is None else found


class DataFileForm(SourceForm):
    """HDF5 and NetCDF4, NetCDF3, GRIB2, FITS and TIFF; no chunks are read, except GRIB messages."""

    # Only metadata are read, no chunks; of GRIB every message, as its metadata are spread over it.

    name = DATA_FILE

    def of_file(self, file: SourceFile, terms: OpeningTerms) -> Source | None:
        url = file.url if file.local is None else str(file.local.resolve())
        if url is None:
            return None
        with file.open() as stream:
            kind = kind_of(stream.read(PROBE))
            if kind is None:
                return None
            stream.seek(0)
            if terms.progress is not None:
                terms.progress(0, file.size)
            path = None if file.local is None or terms.files.guarded else url
            given = DataFileSource(file.name, kind, url, path, stream, file.size)
            try:
                made = made_references(given, terms.progress)
            except ImportError:
                return None  # the last form explains what to install
            fetched = stream.fetched if isinstance(stream, RangeStream) else None
        if terms.progress is not None:
            terms.progress(file.size, file.size)
        place = url if file.local is None else None
        if made.left_out:
            warn_of_left_out(file.name, made.left_out)
        return Source(
            file.name,
            self.name,
            file.location,
            entries=made.entries,
            place=place,
            fetched=fetched,
            beyond=made.beyond,
            left_out=tuple(_left_out(name, why) for name, why in made.left_out.items()),
        )


def _left_out(name: str, why: Unread) -> LeftOut:
    place, _, attribute = name.partition(" (attribute ")
    if attribute:
        return LeftOut(f"{place}@{attribute.rstrip(')')}", "attribute", why.sentence)
    said = why.sentence.rstrip(".")
    reason = f"i{said[1:]}" if said.startswith(("Its ", "It ")) else said
    return LeftOut(name, "object", reason)


class DmrppForm(SourceForm):
    """References to the file that a DMR++ document describes, located next to it."""

    name = "DMR++"

    def of_file(self, file: SourceFile, terms: OpeningTerms) -> Source | None:
        if not is_dmrpp(file.head):
            return None
        terms.check_size(file.name, file.size)
        with file.content() as stream:
            root = read_xml(stream, file.name, terms.limits)
        if root.tag != "Dataset":
            raise SpecError(
                f"{escape(file.name)} is not a DMR++ document: it begins with the element "
                f"{escape(root.tag.rpartition('}')[2], 100)}, not with a DAP4 Dataset.",
            )
        described = DmrppFile(root)
        made = references_of(described)
        if made.left_out:
            warn_of_left_out(file.name, made.left_out)
        place = None if file.local is None else str(file.local.resolve())
        return Source(
            file.name,
            self.name,
            file.location,
            entries=made.entries(described.target),
            place=place,
            left_out=tuple(_left_out(name, why) for name, why in made.left_out.items()),
        )


class IcechunkForm(SourceForm):
    """One snapshot of a repository; ``folder@v1`` is a branch, a tag or a snapshot."""

    name = "Icechunk"
    versioned = True

    def of_object(self, given: object, terms: OpeningTerms) -> Source | None:
        return _read_version(object_version(given), terms) if is_icechunk(given) else None

    def of_folder(self, folder: SourceFolder, terms: OpeningTerms) -> Source | None:
        if folder.local is not None:
            if not is_repository(folder.local):
                return None
            opened = folder_version(folder.local, folder.version, terms.limits, terms.files)
            return _read_version(opened, terms)
        if not folder.is_sought or not any(map(folder.has, MARKS)):
            return None
        if terms.files.guarded:  # the icechunk package would connect to servers directly
            raise SourceError(
                f"{escape(folder.name)} is an Icechunk repository; this page opens repositories "
                f"only in the folders that it may read, not by URL."
            )
        options = terms.options_of(folder.place)
        return _read_version(url_version(folder.place, folder.version, options), terms)


def _read_version(lent: AbstractContextManager[OpenedVersion], terms: OpeningTerms) -> Source:
    with lent as opened:
        opening = terms.files.open
        if opened.folder is None and opened.place is not None:
            opening = partial(_open, terms.options_of(opened.place))
        entries, facts, manifests = opened.read(terms.limits, opening)
    return Source(
        opened.name,
        IcechunkForm.name,
        opened.place,
        entries=entries,
        place=opened.again,
        repository=facts,
        manifests=manifests,
        recorded=_recorded(opened, facts.snapshot, opening, terms),
    )


def _recorded(
    opened: OpenedVersion, snapshot: str, opening: OpenManifest, terms: OpeningTerms
) -> Callable[..., Recorded] | None:
    """Return the reader of a snapshot's recorded versions, if it can be opened again."""
    if opened.again is None or opened.place is None:
        return None
    limits, place = terms.limits, opened.place
    if opened.folder is not None:
        again = partial(folder_version, opened.folder, snapshot, limits, terms.files)
    else:
        again = partial(url_version, place, snapshot, terms.options_of(place))
    return partial(recorded_versions, again, place, limits, opening)


def _open(options: Mapping[str, Any], url: str) -> BinaryIO:
    """Open a file of a repository that Icechunk was allowed to open."""
    import fsspec

    filesystem, path = fsspec.core.url_to_fs(url, **options)
    return filesystem.open(path, "rb")


class ParquetForm(SourceForm):
    """The parquet layout of fsspec's `LazyReferenceMapper`."""

    name = "parquet"

    def of_folder(self, folder: SourceFolder, terms: OpeningTerms) -> Source | None:
        if not folder.has(ZMETADATA) or is_consolidated(folder):
            return None
        store = folder.filesystem(), folder.path
        return Source(folder.name, self.name, folder.parent, store=store)

    def of_file(self, file: SourceFile, terms: OpeningTerms) -> Source | None:
        if is_zip(file.head[:4]):
            return self._of_zip(file, terms)
        if file.local is None or file.local.name != ZMETADATA:
            return None
        return self.of_folder(SourceFolder.at(file.local.parent, None, terms.files), terms)

    def _of_zip(self, file: SourceFile, terms: OpeningTerms) -> Source | None:
        terms.check_size(file.name, file.size)
        with file.content() as stream:
            store = zipped_store(stream, file.name, terms.limits)
        place = None if file.local is None else str(file.local.resolve())
        if place is None and file.location is not None:
            place = f"{file.location.rstrip('/')}/{file.name}"
        found = Source(file.name, self.name, file.location, store=store, place=place)
        return None if store is None else found


_OF_ZARR = ("zarr.json", ".zgroup", ".zarray")  # A store has one, unless it is consolidated
_METADATA = (*_OF_ZARR, ".zattrs", ZMETADATA)
_CONSOLIDATED = b'"zarr_consolidated_format"'
_PARQUET = b'"record_size"'
_EDGE = 4096  # Bytes at each end of consolidated metadata that name the layout


class ZarrForm(SourceForm):
    """A store of Zarr v2 or v3 that can be listed: each chunk is a whole file, and none is read."""

    name = "Zarr"

    def of_folder(self, folder: SourceFolder, terms: OpeningTerms) -> Source | None:
        if (folder.local is None and not folder.is_sought) or folder.version is not None:
            return None
        filesystem, place = folder.filesystem(), folder.place
        if "http" in filesystem.protocol:  # web servers cannot list files
            return None
        if not any(map(folder.has, _OF_ZARR)) and not is_consolidated(folder):
            return None
        try:
            entries = _listed(filesystem, folder, terms.limits)
        except OSError as error:
            raise SourceError(
                f"{escape(folder.name)} is a Zarr store that cannot be listed: {cause(error)}."
            ) from None
        # only its own files are allowed
        return Source(folder.name, self.name, place, entries=entries.finish(), place=place)


def is_consolidated(folder: SourceFolder) -> bool:
    """Return whether a folder has Zarr's consolidated metadata, not those of a parquet store."""
    if not folder.has(ZMETADATA):
        return False
    with folder.filesystem().open(f"{folder.path}/{ZMETADATA}", "rb") as file:
        edges = file.read(_EDGE)
        size = file.seek(0, 2)
        file.seek(max(0, size - _EDGE))
        edges += file.read(_EDGE)
    return _CONSOLIDATED in edges and _PARQUET not in edges


def _listed(filesystem: AbstractFileSystem, folder: SourceFolder, limits: Limits) -> EntriesBuilder:
    """Return references to the files of a store, its metadata as values."""
    root = f"{folder.path.rstrip('/')}/"
    keys = sorted(path.removeprefix(root) for path in filesystem.find(folder.path))
    if len(keys) > limits.expanded_keys:
        raise LimitError(
            f"{escape(folder.name)} has {len(keys):,} files, more than {limits.expanded_keys:,}; "
            "`Limits.expanded_keys` raises the limit."
        )
    builder, rest = EntriesBuilder(), limits.document_bytes
    values: dict[str, object] = {}
    for key in (each for each in keys if each.rpartition("/")[2] in _METADATA):
        with filesystem.open(root + key, "rb") as file:
            data = read_within(file, rest + 1)
        rest -= len(data)
        if rest < 0:
            raise LimitError(
                f"The metadata of {escape(folder.name)} have more than {limits.document_bytes:,} "
                "bytes; `Limits.document_bytes` raises the limit."
            )
        values[key] = _text(data)
    builder.add_values(values)
    chunks = [key for key in keys if key not in values]
    place = f"{folder.place.rstrip('/')}/"
    builder.add_whole(chunks, [place + key for key in chunks])
    return builder


def _text(data: bytes) -> str:
    """Return metadata as the value of a reference; other values than text are kept as is."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    return text if text[:1] in ("{", "[") else base64_text(data)


class VirtualiZarrForm(SourceForm):
    """Virtual datasets and trees, and the output of VirtualiZarr's parsers."""

    name = "VirtualiZarr"

    def of_object(self, given: object, terms: OpeningTerms) -> Source | None:
        """Return the references that VirtualiZarr writes for kerchunk; groups become folders."""
        # No variable of a ``ManifestStore`` or ``ManifestGroup`` is loaded. Nested groups become
        # folders.
        kind = type(given)
        package = kind.__module__.partition(".")[0]
        if package == "virtualizarr" and kind.__name__ in ("ManifestStore", "ManifestGroup"):
            return Source(kind.__name__, self.name, value=_in_folders(_groups_of(given)))
        if package != "xarray" or kind.__name__ not in ("Dataset", "DataTree"):
            return None
        datasets = _nodes_of(given) if kind.__name__ == "DataTree" else {"": given}
        held = (held_by(dataset, {VIRTUAL_ARRAY}) for dataset in datasets.values())
        if not any(next(arrays, None) is not None for arrays in held):
            return None
        return Source(f"virtual {kind.__name__.lower()}", self.name, value=_in_folders(datasets))


def _groups_of(source: Any) -> Mapping[str, Any]:
    """Return the groups of a store or group as datasets by path, with references only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if type(source).__name__ == "ManifestStore":  # it reads coordinates by default
            return _nodes_of(source.to_virtual_datatree(loadable_variables=[]))
        return _nodes_of(source.to_virtual_datatree())


def _nodes_of(tree: Any) -> Mapping[str, Any]:
    """Return the nodes of a tree as datasets by path, each with its own variables only."""
    start = len(tree.path.rstrip("/")) + 1
    return {node.path[start:]: node.to_dataset(inherit=False) for node in tree.subtree}


def _in_folders(datasets: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the references of all datasets; each key begins with the path of its dataset."""
    return {
        f"{path}/{key}" if path else key: value
        for path, dataset in datasets.items()
        for key, value in _written(dataset)["refs"].items()
    }


def _written(dataset: Any) -> Mapping[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about codecs, which do not concern kerchunk
            document: Mapping[str, Any] = dataset.vz.to_kerchunk(format="dict")
    except Exception as error:  # its writer raises any error
        raise SourceError(
            f"VirtualiZarr cannot write this dataset as references: {error}."
        ) from None
    return document


FORMS: tuple[SourceForm, ...] = (
    VirtualiZarrForm(),
    IcechunkForm(),
    StacForm(),
    ParquetForm(),
    ZarrForm(),
    DmrppForm(),
    DataFileForm(),
)
LAST = JsonForm()  # Accepts every file, to explain why it is not JSON

Question = Callable[[SourceForm, OpeningTerms], "Source | None"]


def first_answer(question: Question, terms: OpeningTerms) -> Source | None:
    """Ask each format in turn; return the first source that one of them recognizes."""
    answers = (question(form, terms) for form in (*FORMS, LAST))
    return next((found for found in answers if found is not None), None)
