"""The confined child process, which lets other readers read and returns their results.

`python -m refexplorer.readers.child` is the child. fsspec renders untrusted templates
with `str.format` and jinja2's sandbox, which prevent neither long loops nor long strings: memory
and time are limited, and nothing here opens a connection or another program.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from refexplorer.core.processes import Answering, limit_memory, serve
from refexplorer.formats.other_files import PROBE, kind_of

ReaderKeys = Mapping[str, Any]
PACKAGES = {
    "fsspec (default)": "fsspec",
    "fsspec (simple_templates=False)": "fsspec",
    "VirtualiZarr": "virtualizarr",
    "icechunk": "icechunk",
}
"""The package of each reader that can be run."""
_FORBIDDEN = ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.exec",
              "os.posix_spawn", "os.fork")  # fmt: skip


def installed(reader: str) -> str | None:
    """Return the version of a runnable reader; None if it is not installed."""
    try:
        return version(PACKAGES[reader])
    except (KeyError, PackageNotFoundError):
        return None


def _fsspec(simple: bool) -> Callable[[Any, Mapping[str, Any]], ReaderKeys]:
    def read(document: Any, request: Mapping[str, Any]) -> ReaderKeys:
        from fsspec.core import url_to_fs
        from fsspec.implementations.reference import LazyReferenceMapper, ReferenceFileSystem

        if request["form"] == "parquet":
            files, place = url_to_fs(request["place"])  # of a zip, a chained URL
            return _of_each(LazyReferenceMapper(place, fs=files), document)
        return dict(
            ReferenceFileSystem(
                document,
                fs={},
                simple_templates=simple,
                template_overrides=request["templates"] or None,
                skip_instance_cache=True,
            ).references
        )

    return read


def _of_each(store: Mapping[str, Any], keys: list[str]) -> ReaderKeys:
    """Return the value of each key in a store; a key of a failed record file has its error."""
    found: dict[str, Any] = {}
    for key in keys:
        try:
            value = store[key]
        except KeyError:
            continue
        except Exception as error:  # a reader raises any error
            value = f"{type(error).__name__}: {error}"
        found[key] = _text_of(value) if isinstance(value, bytes) else value
    return found


def _text_of(data: bytes) -> str:
    return data.decode() if data.isascii() else f"base64:{base64.b64encode(data).decode()}"


def _virtualizarr(document: Any, request: Mapping[str, Any]) -> ReaderKeys:
    """Return byte ranges by key, and null at the metadata key of each array."""
    if request["form"] in ("DMR++", "data file"):
        from obspec_utils.registry import ObjectStoreRegistry
        from obstore.store import LocalStore

        registry = ObjectStoreRegistry({"file://": LocalStore()})
        parser = _parser_of(request["place"], request["form"])
        store = parser(url=f"file://{request['place']}", registry=registry)
        dataset = store.to_virtual_dataset(loadable_variables=[])
        arrays = {str(name): each.data for name, each in dataset.variables.items()}
    else:
        from virtualizarr.parsers.kerchunk.translator import manifestgroup_from_kerchunk_refs

        arrays = dict(manifestgroup_from_kerchunk_refs(document).arrays)
    found: dict[str, Any] = dict.fromkeys(f"{name}/.zarray" for name in arrays)
    for name, array in arrays.items():
        for index, entry in getattr(array, "manifest", _Nothing).dict().items():
            found[f"{name}/{index or 0}"] = [entry["path"], entry["offset"], entry["length"]]
    return found


def _parser_of(place: str, form: str) -> Any:
    """Return VirtualiZarr's parser for a file; its error names files without a parser."""
    import virtualizarr.parsers

    kind = "dmrpp"
    if form == "data file":
        with open(place, "rb") as file:  # noqa: PTH123  whatever the name is made of
            kind = kind_of(file.read(PROBE)) or ""
    name = _PARSERS.get(kind)
    if name is None:
        raise ValueError(f"it has no parser for {kind.upper() or 'such'} files")
    return getattr(virtualizarr.parsers, name)()


_PARSERS = {
    "dmrpp": "DMRPPParser", "hdf5": "HDFParser", "netcdf3": "NetCDF3Parser", "fits": "FITSParser",
}  # fmt: skip


def _plain(value: object) -> object:
    """Return a NumPy number as a Python one, anything else as text."""
    return value.item() if hasattr(value, "item") else str(value)


class _Nothing:
    """A stand-in for the manifest of a scalar that VirtualiZarr stores as a value."""

    dict = dict


def _icechunk(keys: list[str], request: Mapping[str, Any]) -> ReaderKeys:
    """Return null for each key that a repository has."""
    import asyncio

    import icechunk

    storage = icechunk.local_filesystem_storage(request["place"])
    repository = icechunk.Repository.open(storage)
    store = repository.readonly_session(snapshot_id=request["snapshot"]).store

    async def there() -> list[str]:
        return [key for key in keys if await store.exists(key)]

    return dict.fromkeys(asyncio.run(there()))


_READ: dict[str, Callable[[Any, Mapping[str, Any]], ReaderKeys]] = {
    "fsspec (default)": _fsspec(True),
    "fsspec (simple_templates=False)": _fsspec(False),
    "VirtualiZarr": _virtualizarr,
    "icechunk": _icechunk,
}


def _forbid(event: str, _: object) -> None:
    if event.startswith(_FORBIDDEN):
        raise PermissionError(f"A reader that is compared may not do this ({event}).")


def _work(request: dict[str, Any], data: bytes, answering: Answering) -> None:
    try:
        found = _READ[request["reader"]](json.loads(data), request)
        answering.answer({"error": None}, json.dumps(found, default=_plain).encode())
    except MemoryError:
        raise
    except Exception as error:  # a reader raises any error
        text = str(error).strip().partition("\n")[0][:500]
        name = type(error).__name__
        answering.answer({"error": f"{name}: {text}" if text else name}, b"")


def main() -> None:
    """Process the request on stdin."""
    os.environ["NO_COLOR"] = "1"
    limit_memory(int(sys.argv[1]))
    sys.addaudithook(_forbid)
    serve(_work)


if __name__ == "__main__":
    main()
