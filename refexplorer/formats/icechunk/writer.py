"""Writing an Icechunk repository: metadata and chunks go into a session, committed at the end."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from refexplorer.core.errors import SourceError
from refexplorer.core.files import check_free, refused, writing_alone
from refexplorer.core.text import escape
from refexplorer.formats.icechunk.columns import awaited, encoded_location, is_columnar
from refexplorer.formats.icechunk.facts import storage_of
from refexplorer.formats.icechunk.repository import MAIN, as_source_error, is_repository

if TYPE_CHECKING:
    from icechunk import IcechunkStore, Repository, Session, Storage

_BATCH = 1000  # Values that are written at a time
_WRITABLE = ("s3", "gs", "gcs")


class RepositoryWriter:
    """The session into which references are written."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def add_values(self, values: Iterable[tuple[str, bytes]]) -> None:
        """Write metadata or chunk bytes by key."""
        awaited(_set(self.session.store, values))

    def add_ranges(
        self,
        path: str,
        indices: np.ndarray,
        urls: Sequence[str],
        offsets: np.ndarray,
        lengths: np.ndarray,
    ) -> None:
        import icechunk

        columns = indices.tolist(), map(encoded_location, urls), offsets.tolist(), lengths.tolist()
        chunks = [icechunk.VirtualChunkSpec(*each) for each in zip(*columns, strict=True)]
        self.session.store.set_virtual_refs(f"/{path}", chunks, validate_containers=False)

    def values(self, keys: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Yield the bytes of keys as they will be read."""
        left = iter(keys)
        while batch := list(islice(left, _BATCH)):
            yield from zip(batch, awaited(_got(self.session.store, batch)), strict=True)


@contextmanager
def writing_repository(
    place: Path | str,
    targets: Sequence[str],
    message: str,
    *,
    overwrite: bool = False,
    options: Mapping[str, Any] | None = None,
    endpoints: Mapping[str, str] | None = None,
) -> Iterator[RepositoryWriter]:
    """Yield a writer; commit at the end, and nothing if an error occurs."""
    _imported()
    containers = [*_containers(targets, endpoints or {})]
    if isinstance(place, str):
        writing = _writing_stored(place, containers, message, overwrite, options or {})
    else:
        writing = _writing_folder(place, containers, message, overwrite)
    with writing as writer:
        yield writer


@contextmanager
def _writing_folder(
    path: Path, containers: Sequence[Any], message: str, overwrite: bool
) -> Iterator[RepositoryWriter]:
    icechunk = _imported()
    is_new = not (overwrite and is_repository(path))
    place = path.with_name(f"{path.name}.partial") if is_new else path
    with refused(path), writing_alone(path), as_source_error(path.name):
        if is_new:
            check_free(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(place, ignore_errors=True)
        try:
            storage = icechunk.local_filesystem_storage(str(place.resolve()))
            repository = _repository(storage, containers, is_new)
            yield from _committed(repository, message, is_new)
            if is_new:
                place.replace(path)
        finally:
            if is_new:
                shutil.rmtree(place, ignore_errors=True)


@contextmanager
def _writing_stored(
    url: str, containers: Sequence[Any], message: str, overwrite: bool, options: Mapping[str, Any]
) -> Iterator[RepositoryWriter]:
    icechunk = _imported()
    if url.partition("://")[0] not in _WRITABLE:
        raise SourceError(
            f"{escape(url)} cannot be written: Icechunk repositories are written to folders and "
            "to s3:// and gs:// buckets."
        )
    name = url.rstrip("/").rpartition("/")[2]
    with as_source_error(name, "written"):
        storage = storage_of(url, options)
        is_new = not icechunk.Repository.exists(storage)
        repository = _repository(storage, containers, is_new)
        if not (is_new or overwrite or _is_empty(repository)):
            raise SourceError(
                f"{escape(url)} exists; choose another name, or overwrite it (--overwrite; in "
                "Python overwrite=True)."
            )
        yield from _committed(repository, message, is_new)


def _repository(storage: Storage, containers: Sequence[Any], is_new: bool) -> Repository:
    """Create or open a repository with at least these virtual chunk containers."""
    import icechunk

    config = None if is_new else icechunk.Repository.fetch_config(storage)
    config = config or icechunk.RepositoryConfig.default()
    known = tuple(config.virtual_chunk_containers or ())  # older snapshots need them
    for container in containers:
        if not container.url_prefix.startswith(known):
            config.set_virtual_chunk_container(container)
    opening = icechunk.Repository.create if is_new else icechunk.Repository.open
    return opening(storage, config)


def _committed(repository: Repository, message: str, is_new: bool) -> Iterator[RepositoryWriter]:
    """Yield the writer, and commit what it wrote."""
    session = repository.writable_session(MAIN)
    if not is_new:
        awaited(_clear(session.store))
    yield RepositoryWriter(session)
    repository.save_config()
    session.commit(message)


def _is_empty(repository: Repository) -> bool:
    """Return whether nothing was ever written, as after a failed conversion."""
    snapshots = list(islice(repository.ancestry(branch=MAIN), 2))
    others = {*repository.list_branches()} - {MAIN}
    return len(snapshots) == 1 and not others and not repository.list_tags()


def _imported() -> Any:
    try:
        import icechunk
    except ImportError:
        raise SourceError("Writing Icechunk needs the package icechunk, 2 or newer.") from None
    if not is_columnar(icechunk.IcechunkStore):
        raise SourceError(
            f"Writing Icechunk needs icechunk 2, which reads the output back; icechunk "
            f"{icechunk.__version__} is installed, and newer versions need Python 3.12."
        )
    return icechunk


def _containers(targets: Iterable[str], endpoints: Mapping[str, str]) -> Iterator[Any]:
    """Yield a container for each bucket (`endpoints`: their servers) and host, and local files."""
    import icechunk

    region = os.environ.get("AWS_REGION", "us-east-1")
    for prefix, url in endpoints.items():
        here = icechunk.s3_store(
            region=region,
            endpoint_url=url,
            allow_http=url.startswith("http:"),
            s3_compatible=True,
            force_path_style=True,
        )
        yield icechunk.VirtualChunkContainer(prefix, here)
    targets = [url for url in targets if not url.startswith(tuple(endpoints))]
    stores: dict[str, Any] = {"s3": partial(icechunk.s3_store, region=region)}
    stores |= dict.fromkeys(("gs", "gcs"), icechunk.gcs_store)
    stores |= dict.fromkeys(("http", "https"), icechunk.http_store)
    places = {"/".join(url.split("/", 3)[:3]) for url in targets}
    for place in sorted(places):
        if (store := stores.get(place.partition("://")[0])) is not None:
            yield icechunk.VirtualChunkContainer(f"{place}/", store())
    files = [url.removeprefix("file://") for url in targets if url.startswith("file://")]
    if files:
        folder = os.path.commonpath([str(Path(file).parent) for file in files]).rstrip("/")
        local = icechunk.local_filesystem_store(f"{folder}/")
        yield icechunk.VirtualChunkContainer(f"file://{folder}/", local)


async def _set(store: IcechunkStore, values: Iterable[tuple[str, bytes]]) -> None:
    from zarr.core.buffer import cpu

    for key, data in values:
        await store.set(key, cpu.Buffer.from_bytes(data))


async def _got(store: IcechunkStore, keys: Sequence[str]) -> list[bytes | None]:
    from zarr.core.buffer import default_buffer_prototype

    prototype = default_buffer_prototype()
    found = [await store.get(key, prototype) for key in keys]
    return [None if data is None else data.to_bytes() for data in found]


async def _clear(store: IcechunkStore) -> None:
    await store.clear()
