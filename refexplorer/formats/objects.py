"""Objects of xarray users: datasets, stores, file systems, open files; and the set behind each."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from refexplorer.core.errors import SourceError
from refexplorer.core.files import read_within
from refexplorer.core.limits import Limits
from refexplorer.core.text import escape

_FSSPEC = "fsspec.implementations.reference.ReferenceFileSystem"
VIRTUAL_ARRAY = "virtualizarr.manifests.array.ManifestArray"
_SETS = {
    _FSSPEC,
    "icechunk.store.IcechunkStore",
    "virtualizarr.manifests.store.ManifestStore",
    "refexplorer.verbs.referenceset.ReferenceSet",
}
"""Full names of classes with references; none of them is imported to recognize an object."""
_HOLDERS = ("xarray.", "zarr.", "fsspec.mapping", "refexplorer.io.reading.")
"""Modules whose objects may contain an instance of these classes."""
_PASS = "Pass the path, URL or dict of the references, or the store or filesystem of them"


PLAIN = (str, bytes, bytearray, memoryview, list, tuple, dict, type(Path()))
"""Classes opened without unwrapping; not path classes of other packages, which may wrap a set."""


class Given(NamedTuple):
    """What to open in place of an object."""

    source: object
    options: Mapping[str, Any]
    templates: Mapping[str, str] | None


def unwrapped(source: object, limits: Limits) -> Given | None:
    """Return what to open in place of an object not in `PLAIN`; None if there is no set."""
    if _names(source) & _SETS:
        given = _given(source)
        return None if given.source is source else given
    is_holder = type(source).__module__.startswith(_HOLDERS)
    return _of_holder(source) if is_holder else _of_file(source, limits)


def _of_holder(source: object) -> Given | None:
    name = type(source).__name__
    held = [*held_by(source, _SETS | {VIRTUAL_ARRAY})]
    if any(VIRTUAL_ARRAY in _names(each) for each in held):
        return None  # a virtual dataset, opened by `VirtualiZarrForm`
    sets: list[Given] = []
    for each in map(_given, held):
        if each not in sets:  # Zarr has an asynchronous twin of a filesystem
            sets.append(each)
    if len(sets) > 1:
        raise SourceError(f"This {name} combines {len(sets)} reference sets. {_PASS}.")
    if not sets:
        known = _origin(source)
        fact = f"This {name} does not come from a reference set"
        if known is not None:
            raise SourceError(f"{fact}. Open its file: rx.explore({json.dumps(known)}).")
        raise SourceError(
            f"{fact}, or its values were computed or loaded. {_PASS} that it was opened from: "
            'rx.explore("combined.json").'
        )
    return sets[0]


def held_by(holder: object, names: set[str]) -> Iterator[Any]:
    """Yield the objects of the named classes in the pickle of an object."""
    collector = _Collector(names)
    with suppress(Exception):  # of objects that cannot be pickled; those found before are kept
        collector.dump(holder)
    yield from collector.found


class _Collector(pickle.Pickler):
    """Discards the output, and collects the wanted objects."""

    def __init__(self, names: set[str]) -> None:
        super().__init__(_NullFile(), protocol=pickle.HIGHEST_PROTOCOL)
        self.found: list[object] = []
        self._sought = names

    def persistent_id(self, obj: object) -> object:
        """Return an id for wanted objects and for data, so that pickle skips their contents."""
        if isinstance(obj, bytes | bytearray | np.ndarray):
            return True
        if isinstance(obj, type) or not _names(obj) & self._sought:
            return None
        self.found.append(obj)
        return True


class _NullFile:
    """A file that discards its data."""

    def write(self, data: bytes | memoryview) -> int:
        return len(data)


def _names(value: object) -> set[str]:
    return {f"{kind.__module__}.{kind.__qualname__}" for kind in type(value).__mro__}


def _given(found: Any) -> Given:
    if _FSSPEC not in _names(found):
        return Given(found, {}, None)
    arguments: dict[str, Any] = dict(found.storage_options)
    if found.storage_args:
        arguments["fo"] = found.storage_args[0]
    source = arguments.get("fo")
    if isinstance(source, dict) and "version" not in source:
        source = found.references  # its own copy: the dict may have changed since
    options = {
        protocol: {name: value for name, value in inner.storage_options.items() if name != _ASYNC}
        for protocol, inner in found.fss.items()
        if protocol and inner.storage_options.keys() - {_ASYNC, "fs"}
    }
    if isinstance(source, str):
        protocol = arguments.get("target_protocol")
        if protocol and "://" not in source:
            source = f"{protocol}://{source}"
        own = arguments.get("ref_storage_args") or arguments.get("target_options")
        if own and "://" in source:
            options[source] = own
    return Given(source, options, arguments.get("template_overrides"))


_ASYNC = "asynchronous"


def _of_file(source: Any, limits: Limits) -> Given | None:
    """Return the location of an open file, since targets are relative to it, or else its bytes."""
    filesystem: Any = getattr(source, "fs", None)
    path = getattr(source, "path", None)
    if hasattr(filesystem, "unstrip_protocol") and isinstance(path, str):
        url = filesystem.unstrip_protocol(path)
        if url.startswith(("file://", "local://")):
            return Given(Path(path), {}, None)
        return Given(url, {url: dict(filesystem.storage_options)}, None)
    if not callable(getattr(source, "read", None)) or isinstance(source, os.PathLike):
        return None
    name = getattr(source, "name", None)
    if isinstance(name, str) and Path(name).is_file():
        return Given(Path(name), {}, None)
    if hasattr(source, "seekable") and source.seekable():
        source.seek(0)
    data = (
        source.read()
        if hasattr(source, "encoding")
        else read_within(source, limits.document_bytes + 1)
    )
    return Given(data if isinstance(data, bytes) else data.encode(), {}, None)


def _origin(source: Any) -> str | None:
    """Return the file that xarray opened, relative to the current folder if it is inside."""
    encoding = getattr(source, "encoding", None)
    place = encoding.get("source") if isinstance(encoding, Mapping) else None
    if not isinstance(place, str) or len(place) < 2:  # fsspec's reference store calls itself "/"
        return None
    with suppress(ValueError):
        place = str(Path(place).relative_to(Path.cwd()))
    return escape(place, 200)
