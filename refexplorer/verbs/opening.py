"""Opening: from a source to a `ReferenceSet`, its history or other information about it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from refexplorer.core.errors import LeftOutWarning, LimitError, SourceError, SpecError, warn
from refexplorer.core.files import OwnFiles, Progress
from refexplorer.core.limits import DEFAULT_LIMITS, Limits, memory_message
from refexplorer.core.text import counted, masks_repr
from refexplorer.formats.documents import (
    note_beyond,
    own_document,
    placed,
    read_long,
    read_whole,
)
from refexplorer.formats.source import DOCUMENTS, OpeningTerms, Source, cause, of_file
from refexplorer.refset.opened_set import Contents, internals, open_document, open_store
from refexplorer.spec.document import Forms, written_forms
from refexplorer.spec.findings import Finding, Findings
from refexplorer.spec.references import V0Value
from refexplorer.verbs.referenceset import ReferenceSet

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

    from refexplorer.formats.icechunk.history import RepositoryHistory
    from refexplorer.formats.icechunk.repository import OpenedVersion
    from refexplorer.formats.other_files import Sources
    from refexplorer.io.access import AccessPolicy
    from refexplorer.readers.verdicts import Dialects

# What opening a document does not need is imported where it is used: a command line feels it.


def history(
    source: object, *, storage_options: Mapping[str, Any] | None = None
) -> RepositoryHistory:
    """Open the history of an Icechunk repository; no reference is read.

    Parameters
    ----------
    source
        A path or URL, with or without ``@`` and a version, a ``Repository``, ``Session`` or store,
        or a `ReferenceSet` opened from one of these.
    storage_options
        Same as in `open_references`; by default those of the `ReferenceSet`.

    Raises
    ------
    SourceError
        If it is not a repository, or is a session without its repository.
    """
    from refexplorer.formats.icechunk.history import RepositoryHistory
    from refexplorer.formats.icechunk.repository import open_version

    if isinstance(source, ReferenceSet):
        storage_options = storage_options or source.storage_options
        name, source = source.source.name, source.source.place
    else:
        name = str(source)
    context = OpeningTerms(DEFAULT_LIMITS, OwnFiles(), options=storage_options or {})
    options = context.options_of(source) if isinstance(source, str) else context.options
    version = (
        None if source is None else open_version(source, options, context.limits, context.files)
    )
    with _require_repository(version, name) as opened:
        return RepositoryHistory(opened)


@contextmanager
def guarded_history(
    source: str, policy: AccessPolicy, limits: Limits
) -> Iterator[RepositoryHistory]:
    """Open the history of a repository chosen by someone else, as permitted by a policy."""
    from refexplorer.formats.icechunk.history import RepositoryHistory
    from refexplorer.formats.icechunk.repository import open_version
    from refexplorer.io.fetch.guarded import GuardedFiles

    version = None if "://" in source else open_version(source, {}, limits, GuardedFiles(policy))
    with _require_repository(version, source) as opened:
        yield RepositoryHistory(opened)


@contextmanager
def owned_history(place: str, options: Mapping[str, Any]) -> Iterator[RepositoryHistory]:
    """Open the history of a repository for the user of this process."""
    yield history(place, storage_options=options)


def ask_history(
    open_history: Callable[[], AbstractContextManager[RepositoryHistory]],
    question: str,
    *arguments: object,
    progress: Progress | None = None,
) -> Any:
    """Return the result of a history method; progress is reported as for openings in a child."""
    with open_history() as repository:
        return getattr(repository, question)(*arguments)


@contextmanager
def _require_repository(
    version: AbstractContextManager[OpenedVersion] | None, name: str
) -> Iterator[OpenedVersion]:
    if version is None:
        raise SourceError(f"{name} is not an Icechunk repository; only those have a history.")
    with version as opened:
        if opened.repository is None:
            raise SourceError(
                "A session gives no access to its history; pass its repository, or a path or URL."
            )
        yield opened


def open_references(
    source: object,
    *,
    templates: Mapping[str, str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
    concat_dim: str | None = None,
) -> ReferenceSet:
    """Open a reference set; no target is read, and no template of the set can run code.

    Parameters
    ----------
    source
        A path, a URL supported by fsspec, a dict, JSON text or bytes: V0 or V1 JSON, plain or
        compressed with gzip or zstd (detected by content), DMR++, a STAC item with references, or
        the folder or zip archive of a parquet store. If a file is a list of sets, ``"path#2"`` is
        the third one. Also a virtual dataset, datatree or ``ManifestStore`` of VirtualiZarr; or the
        folder or URL (``s3://``, ``gs://``, ``https://``) of an Icechunk repository, whose branch,
        tag or snapshot may be appended, as in ``"repository@v1"``, or its ``Repository``,
        ``Session`` or store. With icechunk 1 it must be in a local folder. Or, if kerchunk is
        installed (``refexplorer[virtual]``), an HDF5, NetCDF, GRIB2, FITS or TIFF file, also by
        URL, for which references are created; chunks are not read, except the messages of GRIB2.
        Several files are given as a list, or as a local pattern such as ``"2024*.nc"``: each file
        becomes a group. A Zarr store that can be listed is opened as references to its files.
    templates
        Values that replace templates of the set, by name, like fsspec's ``template_overrides``.
    storage_options
        Options for fsspec, to read the source, and later its targets with the same protocol.
        Headers, users and tokens are sent only to the server of the source; pass those for another
        server by its name: ``{"https://host": {"headers": {…}}}``.
    limits
        Limits on memory, time and sizes.
    progress
        Called while a large document is read, with the bytes read and the size of the file, or
        while several files are opened, with two counts of files (`FileCount`); an exception stops
        the opening and is raised.
    concat_dim
        The dimension along which several sources are concatenated, in order, in each group.
        Coordinate values are read for this.

    Raises
    ------
    SourceError
        If the source is missing, empty or cannot be read, or sources cannot be combined.
    AccessError
        If the server of a URL redirects to an address inside this machine or network.
    SpecError
        If it is not a reference set: not JSON, not an object, a wrong version.
    LimitError
        If it exceeds the limits or the memory.
    """
    if isinstance(source, ReferenceSet):
        if templates is not None or limits is not None:
            name = "limits" if templates is None else "templates"
            raise SourceError(f"The set is open already: pass {name} to open_references instead.")
        if storage_options is None:
            return source
        return source.allowing(storage_options=storage_options)
    limits = limits or DEFAULT_LIMITS
    try:
        if concat_dim is None and (read := own_document(source, limits)) is not None:
            return set_of(read, limits, templates, storage_options, progress)
    except MemoryError:
        raise LimitError(memory_message()) from None
    return _open_any(source, templates, storage_options, limits, progress, concat_dim)


def _open_any(
    source: object,
    templates: Mapping[str, str] | None,
    storage_options: Mapping[str, Any] | None,
    limits: Limits,
    progress: Progress | None,
    concat_dim: str | None,
) -> ReferenceSet:
    """Open anything except a single local document."""
    from refexplorer.formats.finding import NoDataFileError, read_source
    from refexplorer.formats.objects import PLAIN, unwrapped
    from refexplorer.formats.other_files import sources_of
    from refexplorer.verbs.joining import join_sets

    if not isinstance(source, PLAIN) and (given := unwrapped(source, limits)) is not None:
        return open_references(
            given.source,
            templates=given.templates if templates is None else templates,
            storage_options=given.options if storage_options is None else storage_options,
            limits=None if isinstance(given.source, ReferenceSet) else limits,
            progress=progress,
            concat_dim=concat_dim,
        )

    def open_each(sources: Sources) -> list[ReferenceSet]:
        return [
            open_references(
                each,
                storage_options=storage_options,
                limits=None if isinstance(each, ReferenceSet) else limits,
                progress=of_file(progress, number, len(sources)),
            )
            for number, each in enumerate(sources)
        ]

    if concat_dim is not None:
        paths, pattern = sources_of(source)
        joined = join_sets(open_each(paths), concat_dim, pattern)
        return set_of(joined, limits, storage_options=storage_options)

    def locate(url: str) -> tuple[AbstractFileSystem, str]:
        from refexplorer.io.fetch.guarded import typed  # imports much, and few sets have a URL

        return typed(storage_options or {}, limits)(url)

    try:
        read = read_source(source, storage_options, limits, locate, progress=progress)
        return set_of(read, limits, templates, storage_options, progress)
    except NoDataFileError:
        if not isinstance(source, list | tuple):
            raise
        return _grouped(open_each(source), limits)
    except MemoryError:
        raise LimitError(memory_message()) from None


def _grouped(sets: Sequence[ReferenceSet], limits: Limits) -> ReferenceSet:
    """Return several sets as one with a group for each; access permissions are combined."""
    from refexplorer.formats.other_files import common_folder
    from refexplorer.io.access import resolve
    from refexplorer.verbs.migrating import is_older, set_as_v3

    older = [is_older(refs) for refs in sets]
    if any(older) and not all(older):
        sets = [set_as_v3(refs) if old else refs for refs, old in zip(sets, older, strict=True)]
    places = [f"{refs.source.location or ''}/{refs.source.name}" for refs in sets]
    shared = len(common_folder([place.rpartition("/")[0] for place in places]))
    names = [place[shared:].lstrip("/").replace("://", "/") for place in places]
    if len({*names}) < len(names):
        names = [str(number) for number in range(len(names))]
    root = (".zgroup", '{"zarr_format": 2}')
    if not all(older):
        root = ("zarr.json", '{"zarr_format": 3, "node_type": "group"}')
    value: dict[str, Any] = dict([root])
    for name, refs in zip(names, sets, strict=True):
        for key, written in refs.to_v0().items():
            if isinstance(written, list):
                written = [resolve(str(written[0]), refs.source.location), *written[1:]]
            value[f"{name}/{key}"] = written
    findings = [each for refs in sets for each in refs.diagnostics if each.severity == "error"]
    if findings:
        warn(
            f"{counted(len(findings), 'error')} of these sets are not listed in the combined set, "
            f"such as: {findings[0]}",
            LeftOutWarning,
        )
    left_out = tuple(
        replace(each, name=f"{name}/{each.name}")
        for name, refs in zip(names, sets, strict=True)
        for each in refs.source.left_out
    )
    source = Source(f"{len(sets):,} sets", "groups", None, value=value, left_out=left_out)
    options = {name: value for refs in sets for name, value in refs.storage_options.items()}
    places = [place for refs in sets for place in (refs.source.location, *refs.allowed) if place]
    return set_of(source, limits, storage_options=options).allowing(*places)


def open_guarded(
    source: str, policy: AccessPolicy, limits: Limits, progress: Progress | None = None
) -> ReferenceSet:
    """Open a set chosen by someone else, only as permitted by a policy."""
    from refexplorer.io.fetch.guarded import read_guarded

    read = read_guarded(source, policy, limits, progress)
    return set_of(read, limits, progress=progress)


def set_of(
    read: Source,
    limits: Limits,
    templates: Mapping[str, str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> ReferenceSet:
    """Create the set from the result of a format: a parquet store, columns, or a document."""
    if read.store is not None:
        return _open_parquet(read, limits, storage_options)
    findings = Findings() if read.manifests is None else read.manifests.findings
    long = read_long(read, templates, limits, findings, progress)
    document, entries = long or (read_whole(read, templates, limits, findings)[1], None)
    form = DOCUMENTS[document.version] if read.is_document else read.form
    named = replace(read, form=form, entries=None, manifests=None)
    opened = open_document(document, entries)
    if read.manifests is not None:
        from refexplorer.refset.manifest_segment import with_manifests

        opened = with_manifests(opened, read.manifests)
    note_beyond(read, findings)
    forms: Forms = {}
    if read.is_document:
        has_templates = document.version == 1
        written = (
            entries.as_written(has_templates) if entries is not None else document.as_written()
        )
        forms = written_forms(document, written)
    contents = Contents(opened, findings, document.templates, forms=forms)
    return ReferenceSet(named, contents, limits, storage_options)


def _open_parquet(
    source: Source, limits: Limits, storage_options: Mapping[str, Any] | None
) -> ReferenceSet:
    from refexplorer.formats.parquet.store import read_store

    assert source.store is not None
    try:
        store = read_store(*source.store, limits)
    except SpecError as error:
        raise placed(error, source) from None
    except OSError as error:
        raise SourceError(f"{source.name} cannot be read: {cause(error)}.") from None
    contents = Contents(open_store(store), store.findings)
    return ReferenceSet(source, contents, limits, storage_options=storage_options)


@masks_repr
@dataclass(frozen=True, slots=True)
class Expansion:
    """A document as V0.

    Attributes
    ----------
    v0
        Each key and its value: text, ``[url]`` or ``[url, offset, length]``; an object in the
        document is given as its JSON text.
    diagnostics
        Those of the set, errors first.
    """

    v0: dict[str, V0Value]
    diagnostics: tuple[Finding, ...]

    def __str__(self) -> str:
        return "\n".join([counted(len(self.v0), "key"), *map(str, self.diagnostics)])


def expand(
    document: Mapping[str, Any] | str | bytes, templates: Mapping[str, str] | None = None
) -> Expansion:
    """Expand a V0 or V1 document to V0.

    Parameters
    ----------
    document
        A dict, JSON text or bytes.
    templates
        Values that replace templates of the document, by name.

    Raises
    ------
    SpecError
        If the document cannot be read; all other problems are diagnostics.
    LimitError
        If there are more than `Limits.expanded_keys` keys.
    """
    if isinstance(document, str):
        document = document.encode("utf-8", "surrogatepass")
    refs = open_references(document, templates=templates)
    return Expansion(refs.to_v0(), refs.diagnostics)


def dialects(
    source: object,
    *,
    templates: Mapping[str, str] | None = None,
    readers: Collection[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Dialects:
    """Compare how readers read a set.

    fsspec, VirtualiZarr and icechunk are run if they are installed, in a process with limited
    memory and time, and on a sample of a large set. For other readers, a table with dates lists
    unsupported features.

    Parameters
    ----------
    source, templates, storage_options
        Same as in `open_references`.
    readers
        The names of the readers to compare, such as ``"fsspec (default)"``; None for all.

    Raises
    ------
    RefexplorerError
        If the source cannot be read, or is rejected as a whole, or there is no such reader.
    """
    from refexplorer.readers.comparing import dialects_of

    refs = open_references(source, templates=templates, storage_options=storage_options)
    contents = internals(refs).contents
    return dialects_of(refs.source, contents, templates or {}, DEFAULT_LIMITS, readers)
