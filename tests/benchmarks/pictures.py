"""One slice of 5424 by 5424 values in 576 chunks: from a file, and from a server 50 ms away."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np

from refexplorer.io.decode.sizes import Index
from refexplorer.io.reading.chunks import ArrayDecoder
from refexplorer.views.wire.requests import Buffers, Message
from tests.benchmarks.fetch import serving
from tests.benchmarks.measuring import Case, Watch, checksum
from tests.benchmarks.sets import WRITERS

SIZE, CHUNK = 5424, 226
SIX, TUNED = 6, 128
"""Connections that a server admits; chunks that Zarr asks for at a time where its user tunes it."""
LATENCY = 50.0
"""Milliseconds."""
DATA, REFERENCES = "slice.bin", "slice.json"


def read_file(watch: Watch, path: Path) -> object:
    """`ReferenceSet.read` of a file."""
    return _read(watch, path, str(path / DATA))


def zarr_file(watch: Watch, path: Path) -> object:
    """`ReferenceSet.to_zarr` of a file."""
    return _to_zarr(watch, path, str(path / DATA))


def fsspec_file(watch: Watch, path: Path) -> object:
    """Zarr over fsspec, of a file."""
    return _fsspec(watch, path, str(path / DATA), "file")


def read_far(watch: Watch, path: Path) -> object:
    """`ReferenceSet.read` from far away."""
    with serving(path, LATENCY) as url:
        return [*_read(watch, path, f"{url}/{DATA}"), _bytes(url)]


def first_far(watch: Watch, path: Path) -> object:
    """The first picture of the explorer from far away: its time and stages, not its values."""
    from refexplorer.views.preview.values import load_array_libraries, load_http

    load_array_libraries()
    load_http()
    with serving(path, LATENCY) as url:
        from tests.helpers.explorer import Host

        host = Host(_document(path, f"{url}/{DATA}"), allow=[url])
        post, decode = host.controller.post, ArrayDecoder.decode

        def told(message: Message, buffers: Buffers) -> None:
            if buffers:
                watch.reach("first cells" if "ev" in message else "all cells")
            post(message, buffers)

        def decoded(decoder: ArrayDecoder, index: Index, data: bytes) -> object:
            watch.reach("first bytes")
            return decode(decoder, index, data)

        host.controller.post, ArrayDecoder.decode = told, decoded  # type: ignore[method-assign, assignment]
        with watch.running():
            slices = host.ask("slice.plan", array="SST")["plan"]["slices"]
            watch.reach("planned")
            host.read("SST", None, slices=slices)
    return None


def decoded_alone(watch: Watch, path: Path) -> object:
    """The floor: what the codecs themselves take, on all processors, of bytes in memory."""
    document, data = _document(path, DATA), (path / DATA).read_bytes()
    values = np.empty((SIZE, SIZE), "<i2")

    def decode(key: str) -> None:
        row, column = (int(number) * CHUNK for number in key.removeprefix("SST/").split("."))
        _, start, size = document[key]
        plain = np.frombuffer(zlib.decompress(data[start : start + size]), "u1")
        chunk = np.ascontiguousarray(plain.reshape(2, -1).T).view("<i2")
        values[row : row + CHUNK, column : column + CHUNK] = chunk.reshape(CHUNK, CHUNK)

    keys = [key for key, value in document.items() if isinstance(value, list)]
    with ThreadPoolExecutor(os.cpu_count()) as pool, watch.running():
        list(pool.map(decode, keys))
    return _summary(values)


def picture_ours(watch: Watch, path: Path) -> object:
    """Import, open, and read the slice 50 ms away, as a script does."""
    return _picture(watch, path, lambda url: _read(Watch(), path, f"{url}/{DATA}"))


def picture_fsspec(watch: Watch, path: Path) -> object:
    """The same over fsspec, 128 chunks at a time."""
    return _picture(watch, path, lambda url: _fsspec(Watch(), path, f"{url}/{DATA}", "http", TUNED))


def picture_virtualizarr(watch: Watch, path: Path) -> object:
    """The same over VirtualiZarr and obstore, 128 chunks at a time."""
    return _picture(watch, path, lambda url: _virtualizarr(Watch(), path, url))


def _picture(watch: Watch, path: Path, work: Callable[[str], object]) -> object:
    with serving(path, LATENCY) as url:
        with watch.running():
            found = work(url)
        watch.requests = _asked(url)["requests"]
    return found


def zarr_far(watch: Watch, path: Path) -> object:
    """`ReferenceSet.to_zarr` from far away."""
    with serving(path, LATENCY) as url:
        return [*_to_zarr(watch, path, f"{url}/{DATA}"), _bytes(url)]


def fsspec_far(watch: Watch, path: Path) -> object:
    """Zarr over fsspec, from far away."""
    with serving(path, LATENCY) as url:
        return [*_fsspec(watch, path, f"{url}/{DATA}", "http"), _bytes(url)]


def read_six(watch: Watch, path: Path) -> object:
    """`ReferenceSet.read` from a server that admits six connections."""
    with serving(path, LATENCY, SIX) as url:
        return [*_read(watch, path, f"{url}/{DATA}"), _bytes(url)]


def fsspec_tuned(watch: Watch, path: Path) -> object:
    """Zarr over fsspec, 128 chunks at a time."""
    with serving(path, LATENCY) as url:
        return [*_fsspec(watch, path, f"{url}/{DATA}", "http", TUNED), _bytes(url)]


def fsspec_six(watch: Watch, path: Path) -> object:
    """The same from a server that admits six connections."""
    with serving(path, LATENCY, SIX) as url:
        return [*_fsspec(watch, path, f"{url}/{DATA}", "http", TUNED), _bytes(url)]


def virtualizarr_tuned(watch: Watch, path: Path) -> object:
    """Zarr over VirtualiZarr and obstore, 128 chunks at a time."""
    with serving(path, LATENCY) as url:
        return [*_virtualizarr(watch, path, url), _bytes(url)]


def virtualizarr_six(watch: Watch, path: Path) -> object:
    """The same from a server that admits six connections."""
    with serving(path, LATENCY, SIX) as url:
        return [*_virtualizarr(watch, path, url), _bytes(url)]


def xarray_far(watch: Watch, path: Path) -> object:
    """xarray's kerchunk engine, from far away."""
    import kerchunk.xarray_backend  # noqa: F401  imports are not what is measured
    import xarray

    with serving(path, LATENCY) as url:
        options = {"remote_protocol": "http"}
        found = xarray.open_dataset(
            _document(path, f"{url}/{DATA}"),  # type: ignore[arg-type]
            engine="kerchunk",
            storage_options=options,
            mask_and_scale=False,
        )
        with watch.running():
            values = found["SST"].values
        return [*_summary(values), _bytes(url)]


def _read(watch: Watch, path: Path, url: str) -> list[object]:
    import zarr  # noqa: F401

    import refexplorer.io.fetch.http
    import refexplorer.io.reading.selection  # noqa: F401  imports are not what is measured
    from refexplorer import open_references

    refs = open_references(_document(path, url))
    with watch.running():
        found = refs.allowing(url).read("SST")
    return _summary(found.values)


def _to_zarr(watch: Watch, path: Path, url: str) -> list[object]:
    import refexplorer.io.fetch.http  # noqa: F401
    from refexplorer import open_references

    group: Any = open_references(_document(path, url)).allowing(url).to_zarr()
    array = group["SST"]
    with watch.running():
        values = array[:]
    return _summary(values)


def _virtualizarr(watch: Watch, path: Path, url: str) -> list[object]:
    import zarr
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import HTTPStore, LocalStore
    from virtualizarr.parsers import KerchunkJSONParser

    far = HTTPStore.from_url(url, client_options={"allow_http": True})
    registry = ObjectStoreRegistry({"file://": LocalStore(), url: far})
    document = path / f"virtualizarr-{os.getpid()}.json"
    document.write_text(json.dumps({"version": 1, "refs": _document(path, f"{url}/{DATA}")}))
    try:
        store = KerchunkJSONParser()(document.as_uri(), registry)
    finally:
        document.unlink()
    array: Any = zarr.open_group(store, mode="r", zarr_format=3)["SST"]
    with zarr.config.set({"async.concurrency": TUNED}), watch.running():
        values = array[:]
    return _summary(values)


def _fsspec(
    watch: Watch, path: Path, url: str, protocol: str, concurrency: int = 10
) -> list[object]:
    import zarr
    from fsspec.implementations.reference import ReferenceFileSystem

    files = ReferenceFileSystem(
        _document(path, url),
        remote_protocol=protocol,
        remote_options={"asynchronous": True} if protocol == "http" else {},
        asynchronous=True,
    )
    group: Any = zarr.open(zarr.storage.FsspecStore(files), mode="r")
    array = group["SST"]
    with zarr.config.set({"async.concurrency": concurrency}), watch.running():
        values = array[:]
    return _summary(values)


def _summary(values: np.ndarray) -> list[object]:
    return [list(values.shape), values.dtype.str, checksum([values.tobytes().hex()])]


def _bytes(url: str) -> int:
    """Return how many bytes the server sent."""
    return _asked(url)["bytes"]


def _asked(url: str) -> dict[str, int]:
    with urlopen(f"{url}/asked") as answer:
        asked: dict[str, int] = json.load(answer)
    return asked


def _document(path: Path, url: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((path / REFERENCES).read_text())
    return {key: [url, *each] if isinstance(each, list) else each for key, each in document.items()}


def _slice(path: Path, steps: int) -> None:
    """Write a field of waves with some noise, of which 24 MB are left when it is packed."""
    path.mkdir()
    along = np.arange(SIZE) / 200
    waves = 1000 * np.sin(along)[:, None] * np.cos(along)
    noise = np.random.default_rng(0).integers(0, 2, (SIZE, SIZE))
    values = (1200 + waves + noise).astype("<i2")
    metadata = {
        "zarr_format": 2, "shape": [SIZE, SIZE], "chunks": [CHUNK, CHUNK], "dtype": "<i2",
        "fill_value": -1, "order": "C", "filters": [{"id": "shuffle", "elementsize": 2}],
        "compressor": {"id": "zlib", "level": 1},
    }  # fmt: skip
    document: dict[str, Any] = {
        ".zgroup": '{"zarr_format": 2}',
        "SST/.zarray": json.dumps(metadata),
        "SST/.zattrs": json.dumps({"_ARRAY_DIMENSIONS": ["y", "x"], "units": "K"}),
    }
    offset = 0
    with (path / DATA).open("wb") as file:
        for row, column in np.ndindex(SIZE // CHUNK, SIZE // CHUNK):
            rows, columns = (slice(at * CHUNK, (at + 1) * CHUNK) for at in (row, column))
            chunk = np.ascontiguousarray(values[rows, columns]).view("u1").reshape(-1, 2)
            packed = zlib.compress(chunk.T.tobytes(), 1)
            file.write(packed)
            document[f"SST/{row}.{column}"] = [offset, len(packed)]
            offset += len(packed)
    (path / REFERENCES).write_text(json.dumps(document))


WRITERS |= {"slice": _slice}
CASES = (
    Case("read a slice of a file", "", read_file, (fsspec_file,), "slice", 576),
    Case(
        "a slice through Zarr, of a file", "≥ 1 times", zarr_file, (fsspec_file, decoded_alone),
        "slice", 576,
    ),
    Case(
        "first picture", "", picture_ours, (picture_fsspec, picture_virtualizarr), "slice", 576,
        needs="virtualizarr",
    ),
    Case(
        "read a slice 50 ms away", "≥ 3 times, ≤ 1 s", read_far, (fsspec_far, xarray_far),
        "slice", 576,
    ),
    Case(
        "read a slice at 50 ms latency, peers tuned", "≥ 1.3 times wall", read_far,
        (fsspec_tuned, virtualizarr_tuned), "slice", 576, needs="virtualizarr",
    ),
    Case(
        "read a slice at 50 ms latency, six connections, peers tuned", "≥ 5 times wall", read_six,
        (fsspec_six, virtualizarr_six), "slice", 576, needs="virtualizarr",
    ),
    Case("a slice through Zarr 50 ms away", "≥ 2 times", zarr_far, (fsspec_far,), "slice", 576),
    Case(
        "the first picture 50 ms away", "≥ 4 times, ≤ 0.5 s", first_far, (fsspec_far,), "slice", 576
    ),
)  # fmt: skip
