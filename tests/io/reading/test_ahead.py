from __future__ import annotations

import pickle
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

import refexplorer as rx
from refexplorer.core.errors import RefexplorerError
from refexplorer.core.limits import Limits
from refexplorer.io.reading import zarr_store as ahead
from tests.helpers.servers import RangeServer
from tests.helpers.sets import ZARRAY

VALUES = np.arange(40 * 40, dtype="<i2").reshape(40, 40)
CHUNK = 4


def tiled(server: RangeServer, **other: Any) -> rx.ReferenceSet:
    """Return a set of a hundred chunks that lie in a row on a server."""
    metadata = ZARRAY | {"shape": [40, 40], "chunks": [CHUNK, CHUNK]}
    document: dict[str, Any] = {
        ".zgroup": {"zarr_format": 2},
        "x/.zarray": metadata,
        "x/.zattrs": {"_ARRAY_DIMENSIONS": ["y", "x"]},
    }
    body = b""
    for row, column in np.ndindex(10, 10):
        rows, columns = (slice(at * CHUNK, (at + 1) * CHUNK) for at in (row, column))
        data = VALUES[rows, columns].tobytes()
        document[f"x/{row}.{column}"] = [f"{server.url}/f", len(body), len(data)]
        body += data
    server.files["/f"] = body
    return rx.open_references(document | other)


def test_what_zarr_asks_for_by_and_by_takes_one_request(server: RangeServer) -> None:
    group: Any = tiled(server).allowing(server.url).to_zarr()
    np.testing.assert_array_equal(group["x"][:], VALUES)
    assert server.spans == [f"bytes=0-{VALUES.nbytes - 1}"]


def test_xarray_reads_ahead_too(server: RangeServer) -> None:
    found = tiled(server).allowing(server.url).to_xarray(mask_and_scale=False)["x"]
    np.testing.assert_array_equal(found.values, VALUES)
    assert len(server.spans) == 1


def test_nothing_is_read_that_the_selection_has_no_part_of(server: RangeServer) -> None:
    group: Any = tiled(server).allowing(server.url).to_zarr()
    np.testing.assert_array_equal(group["x"][8:16, :], VALUES[8:16])
    size = CHUNK * CHUNK * 2
    assert server.spans == [f"bytes={20 * size}-{40 * size - 1}"]
    server.spans.clear()
    np.testing.assert_array_equal(group["x"][0, 0], VALUES[0, 0])
    assert server.spans == [f"bytes=0-{size - 1}"]


def test_what_is_read_ahead_is_bounded(
    server: RangeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = CHUNK * CHUNK * 2
    monkeypatch.setattr(ahead, "AHEAD_BYTES", 20 * size)
    group: Any = tiled(server).allowing(server.url).to_zarr()
    np.testing.assert_array_equal(group["x"][:], VALUES)
    firsts = [int(span.removeprefix("bytes=").partition("-")[0]) for span in server.spans if span]
    assert sorted(firsts) == [20 * size * number for number in range(5)]


def test_a_chunk_that_fails_is_no_fill_value(server: RangeServer) -> None:
    refs = tiled(server, **{"x/3.3": [f"{server.url}/gone", 0, 32]})
    group: Any = refs.allowing(server.url).to_zarr()
    with pytest.raises(RefexplorerError, match=r"x/3\.3 could not be read"):
        group["x"][:]
    np.testing.assert_array_equal(group["x"][20:], VALUES[20:])


def test_what_was_read_ahead_is_checked_before_it_is_decoded(server: RangeServer) -> None:
    bomb = zlib.compress(bytes(2**27))
    server.files["/bomb"] = bomb
    server.files["/f"] = good = zlib.compress(bytes(32))
    zipped = {
        "x/.zarray": ZARRAY
        | {"shape": [40, 40], "chunks": [CHUNK, CHUNK], "compressor": {"id": "zlib"}}
    }
    chunks = {f"x/{row}.{column}": [f"{server.url}/f", 0, len(good)]
              for row, column in np.ndindex(10, 10)}  # fmt: skip
    whole = {".zgroup": {"zarr_format": 2}} | zipped | chunks
    refs = rx.open_references(whole | {"x/7.7": [f"{server.url}/bomb", 0, len(bomb)]})
    group: Any = refs.allowing(server.url).to_zarr()
    with pytest.raises(rx.errors.LimitError, match=r"x/7\.7 could not be decoded: zlib inflates"):
        group["x"][:]
    assert not group["x"][:28].any()


def test_chunks_beyond_the_limits_are_refused_however_they_come(server: RangeServer) -> None:
    refs = rx.open_references(tiled(server).to_v0(), limits=Limits(chunk_bytes=CHUNK * CHUNK))
    group: Any = refs.allowing(server.url).to_zarr()
    for part in (slice(4), slice(40)):
        with pytest.raises(rx.errors.LimitError, match=r"`Limits\.chunk_bytes`"):
            group["x"][part]


def test_a_chunk_without_a_reference_is_the_fill_value(server: RangeServer) -> None:
    refs = rx.open_references(
        {key: refs for key, refs in tiled(server).to_v0().items() if key != "x/3.3"}
    )
    group: Any = refs.allowing(server.url).to_zarr()
    expected = VALUES.copy()
    expected[12:16, 12:16] = ZARRAY["fill_value"]
    np.testing.assert_array_equal(group["x"][:], expected)


def test_an_array_travels_after_it_was_read(server: RangeServer) -> None:
    group: Any = tiled(server).allowing(server.url).to_zarr()
    group["x"][:]
    again = pickle.loads(pickle.dumps(group))
    server.spans.clear()
    np.testing.assert_array_equal(again["x"][:], VALUES)
    assert len(server.spans) == 1


def test_shards_are_merged_where_they_are_needed_whole(server: RangeServer, tmp_path: Path) -> None:
    values = np.arange(1024 * 256, dtype="<i2").reshape(1024, 256)
    store = tmp_path / "s.zarr"
    made: Any = zarr.create_array(
        store,
        shape=values.shape,
        shards=(256, 256),
        chunks=(64, 256),
        dtype="<i2",
        compressors=None,
        fill_value=-1,
    )
    made[:] = values
    body, refs = b"", {"zarr.json": '{"zarr_format": 3, "node_type": "group"}'}
    document: dict[str, Any] = refs | {"x/zarr.json": (store / "zarr.json").read_text()}
    for row in range(4):
        data = (store / f"c/{row}/0").read_bytes()
        document[f"x/c/{row}/0"] = [f"{server.url}/f", len(body), len(data)]
        body += data
    server.files["/f"] = body
    group: Any = rx.open_references(document).allowing(server.url).to_zarr()
    np.testing.assert_array_equal(group["x"][:], values)
    assert server.spans == [f"bytes=0-{len(body) - 1}"]
    server.spans.clear()
    np.testing.assert_array_equal(group["x"][::256], values[::256])
    ends = [span.removeprefix("bytes=").split("-") for span in server.spans if span]
    assert sum(int(end) - int(start) + 1 for start, end in ends) < len(body) / 2
