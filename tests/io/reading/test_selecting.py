from __future__ import annotations

import sys
import threading
import zlib
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import pytest
import zarr
from fsspec.implementations.reference import ReferenceFileSystem

import refexplorer as rx
from refexplorer.core.errors import AccessError, LimitError, RefexplorerError
from refexplorer.io.access import AccessPolicy
from refexplorer.io.fetch.many import FetchProgress
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.reading.chunks import ArrayDecoder, read_chunks
from refexplorer.io.reading.selection import read_selection
from tests.helpers.servers import RangeServer
from tests.helpers.sets import DEMO, metadata, raw_set


def packed(values: np.ndarray, chunk: int, **written: Any) -> tuple[dict[str, Any], bytes]:
    """Return a document for a square array, and the file in which its chunks lie in a row."""
    store = zarr.storage.MemoryStore()
    zarr.create_array(
        store, name="x", data=values, chunks=(chunk,) * values.ndim, zarr_format=2, **written
    )
    held = {key: found.to_bytes() for key, found in store._store_dict.items()}
    body, document = b"", dict[str, Any]()
    for key in sorted(held):
        if key.rpartition("/")[2].startswith("."):
            document[key] = held[key].decode()
        else:
            document[key] = ["{{u}}", len(body), len(held[key])]
            body += held[key]
    document.setdefault(".zgroup", '{"zarr_format": 2}')
    return document, body


def placed(document: dict[str, Any], url: str) -> dict[str, Any]:
    return {
        key: [url, *each[1:]] if isinstance(each, list) else each for key, each in document.items()
    }


def by_fsspec(document: dict[str, Any], protocol: str) -> Any:
    """Open a set as people do without refexplorer."""
    files = ReferenceFileSystem(document, remote_protocol=protocol, asynchronous=True)
    return zarr.open(zarr.storage.FsspecStore(files), mode="r")


ZLIB: dict[str, Any] = {"compressors": numcodecs.Zlib(1)}
SHUFFLED: dict[str, Any] = {"filters": [numcodecs.Shuffle(2)], **ZLIB}
GRID = np.arange(60 * 60).reshape(60, 60)


@pytest.mark.parametrize(
    ("values", "written"),
    [
        (GRID.astype("<i2"), ZLIB),
        (GRID.astype(">i2"), SHUFFLED),
        (GRID.astype("<f8") / 7, {"filters": [numcodecs.Delta("<f8")], **ZLIB}),
        (GRID.astype("<i2"), {"compressors": None}),
        (GRID.astype("<i2"), {"compressors": numcodecs.Blosc(), "order": "F"}),
        (GRID.astype("<i2"), {"compressors": numcodecs.Zstd()}),
        (GRID.astype("<i2"), {"compressors": numcodecs.BZ2()}),
        (GRID % 2 == 0, ZLIB),
        (GRID.astype("<c16") * 1j, ZLIB),
        (GRID.astype("M8[s]"), ZLIB),
        (GRID.astype("S4"), ZLIB),
        (GRID.astype("<U4"), ZLIB),
    ],
    ids=lambda value: str(value.dtype) if isinstance(value, np.ndarray) else "",
)
@pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning")
@pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")
def test_values_are_those_of_zarr_over_fsspec(
    values: np.ndarray, written: dict[str, Any], tmp_path: Path
) -> None:
    document, body = packed(values, 25, **written)
    (tmp_path / "f").write_bytes(body)
    given = placed(document, str(tmp_path / "f"))
    expected = by_fsspec(given, "file")["x"]
    refs = rx.open_references(given)
    for selection in ((), (3,), (slice(7, 55, 3), slice(None, 30)), (..., -1), (59, 0)):
        found = refs.allowing(str(tmp_path)).read("x", selection)
        theirs = np.asarray(expected[selection or ...])
        assert found.values.dtype == theirs.dtype
        assert found.values.shape == theirs.shape
        assert found.values.tobytes() == theirs.tobytes()


def test_adjacent_ranges_take_one_request(server: RangeServer) -> None:
    document, body = packed(GRID.astype("<i2"), 5, **ZLIB)
    server.files["/f"] = body
    refs = rx.open_references(placed(document, f"{server.url}/f"))
    found = refs.allowing(server.url).read("x")
    assert np.array_equal(found, GRID)
    assert server.spans == [f"bytes=0-{len(body) - 1}"]
    assert found.count("fetched") == 144


def test_no_byte_is_read_that_the_part_does_not_need(server: RangeServer) -> None:
    noise = np.random.default_rng(0).integers(0, 2**62, (512, 512))
    document, body = packed(noise, 128, compressors=None)
    server.files["/f"] = body
    refs = rx.open_references(placed(document, f"{server.url}/f"))
    found = refs.allowing(server.url).read("x", (slice(128, 256), slice(None, 200)))
    assert np.array_equal(found, noise[128:256, :200])
    start = document["x/1.0"][1]
    assert server.spans == [f"bytes={start}-{start + 2 * 128 * 128 * 8 - 1}"]


def test_three_states_are_distinguished(server: RangeServer) -> None:
    server.files["/f"] = b"\1\0\2\0"
    document = raw_set([f"{server.url}/f", 0, 4], None, [f"{server.url}/g", 0, 4], shape=[6])
    refs = rx.open_references(document)
    found = refs.allowing(server.url).read("x", failed="keep")
    assert found.values.tolist() == [1, 2, -1, -1, 0, 0]
    assert {state: found.mask(state).tolist() for state in ("fetched", "fill", "failed")} == {
        "fetched": [True, True, False, False, False, False],
        "fill": [False, False, True, True, False, False],
        "failed": [False, False, False, False, True, True],
    }
    assert list(found.failures) == ["x/2"]
    assert repr(found) == (
        "<ArrayReading 6 of int16, 1 chunk fetched, 1 chunk without a reference, 1 chunk failed>"
    )


def test_a_chunk_that_failed_is_no_value_unless_that_is_asked_for(server: RangeServer) -> None:
    refs = rx.open_references(raw_set([f"{server.url}/g", 0, 4]))
    with pytest.raises(RefexplorerError, match="x/0 could not be read"):
        refs.allowing(server.url).read("x")
    with pytest.raises(RefexplorerError, match="neither 'raise' nor 'keep'"):
        refs.read("x", failed="ignore")


def test_nothing_is_read_without_leave(server: RangeServer) -> None:
    refs = rx.open_references(raw_set([f"{server.url}/f", 0, 4]))
    with pytest.raises(AccessError):
        refs.read("x", failed="keep")
    assert server.requests == []


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        ((0, 0), "x has 1 dimension, not 2"),
        ((..., ...), "x has 1 dimension, not 2"),
        (slice(None, None, -1), "must be positive, not -1"),
        (9, "out of bounds"),
    ],
)
def test_a_part_that_the_array_does_not_have(selection: Any, said: str) -> None:
    with pytest.raises(RefexplorerError, match=said):
        rx.open_references(raw_set("aaaa")).read("x", selection)


def test_a_part_without_values_has_the_data_type() -> None:
    found = rx.open_references(DEMO / "sst.v0.json").read("sst", (slice(0, 0),))
    assert found.values.shape[0] == 0
    assert found.values.dtype == "<i2"


def test_a_bomb_is_refused_and_the_rest_is_read(tmp_path: Path) -> None:
    bomb = zlib.compress(bytes(2**26), 1)
    (tmp_path / "f").write_bytes(bomb + zlib.compress(b"\1\0\2\0"))
    size = (tmp_path / "f").stat().st_size
    document = raw_set(
        [f"{tmp_path}/f", 0, len(bomb)], [f"{tmp_path}/f", len(bomb), size - len(bomb)],
        shape=[4], compressor={"id": "zlib", "level": 1},
    )  # fmt: skip
    found = rx.open_references(document).allowing(str(tmp_path)).read("x", failed="keep")
    assert found.values.tolist() == [0, 0, 1, 2]
    assert "above the limit" in found.failures["x/0"]


def test_a_part_that_does_not_fit_into_memory_is_refused() -> None:
    refs = rx.open_references(raw_set(shape=[2**60], chunks=[2**29]))
    with pytest.raises(LimitError, match="choose a smaller part"):
        refs.read("x")


def test_it_can_be_stopped_while_a_server_says_nothing(server: RangeServer) -> None:
    server.files["/f"] = b"\1\0\2\0"
    server.stalled.add("/f")
    refs = rx.open_references(raw_set([f"{server.url}/f", 0, 4]))
    targets = Targets(AccessPolicy(refs.source.location, [server.url]), None, refs.limits)

    def advance(progress: FetchProgress) -> bool:
        return not server.requests

    with pytest.raises(RefexplorerError, match="stopped"):
        read_selection(refs, "x", (), targets, advance=advance)
    names = [thread.name for thread in threading.enumerate()]
    for thread in threading.enumerate():
        if thread.name == "refexplorer-fetch":
            thread.join(30)
            assert not thread.is_alive(), names


def test_no_thread_is_left_of_a_reading_that_is_stopped_while_chunks_are_decoded() -> None:
    before = set(threading.enumerate())
    refs = rx.open_references(raw_set(*["base64:AQACAA=="] * 500, shape=[1000], chunks=[2]))
    targets = Targets(AccessPolicy(refs.source.location, []), None, refs.limits)
    decoder = ArrayDecoder(refs, refs.array("x"), targets)
    readings = read_chunks(decoder, [(number,) for number in range(500)])
    for _ in range(400):  # now all are fetched, and more wait for a thread than fit into the queue
        next(readings)
    readings.close()  # type: ignore[attr-defined]
    for thread in set(threading.enumerate()) - before:
        thread.join(30)
        assert not thread.is_alive(), thread.name


def test_reading_one_array_parses_no_other() -> None:
    def calls(count: int) -> int:
        names = [f"a{number:03}" for number in range(count)]
        document: dict[str, Any] = {".zgroup": {"zarr_format": 2}}
        for length, name in enumerate(names, 1):
            document |= {f"{name}/.zarray": metadata([length]), f"{name}/0": "base64:AAAAAA=="}
        refs, found = rx.open_references(document), 0

        def count_call(frame: object, event: str, argument: object) -> None:
            nonlocal found
            found += event == "call"

        refs.children()  # makes the tree, which has all of them
        before = sys.getprofile()
        sys.setprofile(count_call)
        try:
            refs.read(names[0])
        finally:
            sys.setprofile(before)
        return found

    calls(1)  # imports
    assert calls(200) < 1.5 * calls(2)
