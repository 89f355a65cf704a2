"""Targets of all kinds, read in a child process."""

from __future__ import annotations

import dataclasses
import io
import math
import os
import pickle
import random
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from refexplorer.core.errors import AccessError, FetchError
from refexplorer.core.limits import Limits
from refexplorer.core.processes import Child
from refexplorer.formats.datafiles import metadata_transfer
from refexplorer.formats.datafiles.data_file import (
    DataFile,
    FileChunks,
    SizedDataFile,
    Unread,
)
from refexplorer.formats.datafiles.hdf5 import Hdf5File
from refexplorer.io.access import AccessPolicy
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.sources import confined as confined_file
from refexplorer.io.sources import opening
from refexplorer.io.sources.opening import open_native
from tests.helpers.servers import RangeServer

pytestmark = pytest.mark.child
DATA = np.arange(300 * 50, dtype="<i4").reshape(300, 50)


def targets(*allow: str) -> Targets:
    return Targets(AccessPolicy(None, allow), None, Limits())


def at(path: Path, **options: Any) -> SizedDataFile:
    return open_native(targets(str(path.parent)), str(path), **options)


def made(**options: Any) -> bytes:
    """A file with what has to travel: names, all kinds of fill values, attributes, types."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", **options) as file:
        data = file.create_dataset("g/é", data=DATA, chunks=(1, 50), compression="gzip")
        data.attrs.update(scale=np.float32(0.1), nan=np.nan, texts=["a", "ü"], bad=data.ref)
        file["time"] = np.arange(300.0)
        file["time"].make_scale("time")
        data.dims[0].attach_scale(file["time"])
        file.create_dataset("s", (2,), "S3", fillvalue=b"\xff\x00a", chunks=(1,))
        record = np.dtype([("a", "<i4"), ("b", ">f8", (2,))])
        fill = np.array((1, (2.5, np.inf)), record)
        file.create_dataset("record", (2,), record, fillvalue=fill)
        spaced = np.dtype([("a", "i1"), ("b", "<f8")], align=True)
        file.create_dataset("spaced", (2,), spaced)
        file.create_dataset("nan", (2,), ">f4", fillvalue=np.nan)
        file.create_dataset("complex", (2,), "c8", fillvalue=1j)
        file.create_dataset("text", data=["é", "long"], dtype=h5py.string_dtype())
        layout = h5py.VirtualLayout((1,), "i4")
        layout[0] = h5py.VirtualSource(file["time"])[0]
        file.create_virtual_dataset("view", layout)
        file["link"] = h5py.SoftLink("/time")
    return buffer.getvalue()


def told(file: DataFile) -> dict[str, Any]:
    """All that a file says of itself, as text."""
    found: dict[str, Any] = {
        "others": dict(file.other_names()),
        "objects": [repr(each) for each in file.objects()],
        "declared": file.declared,
        "groups": dict(file.groups()),
    }
    for name in file.names():
        for ask in (file.array, file.chunks):
            try:
                answer: Any = ask(name)
                if isinstance(answer, FileChunks):
                    assert answer.masks is not None
                    columns = (answer.indices, answer.offsets, answer.lengths, answer.masks)
                    answer = [(each.shape, each.tolist()) for each in columns]
                else:
                    answer = dataclasses.asdict(answer) | {"dtype": answer.dtype.descr}
            except Unread as error:
                answer = error
            found[f"{name} {ask.__name__}"] = repr(answer)
    return found


@pytest.mark.parametrize("served", [False, True])
def test_a_child_returns_what_the_reader_returns(
    served: bool, tmp_path: Path, server: RangeServer
) -> None:
    body = made()
    if served:
        server.files["/f"] = body
        file = open_native(targets(server.url), f"{server.url}/f")
    else:
        (tmp_path / "f").write_bytes(body)
        file = at(tmp_path / "f")
    expected = Hdf5File(io.BytesIO(body))
    assert file.names() == expected.names()
    assert told(file) == told(expected)
    with pytest.raises(KeyError):
        file.array("nothing")
    selection = (slice(3, 5), slice(0, 50))
    np.testing.assert_array_equal(file.values("g/é", selection), DATA[3:5])
    assert file.values("link", (slice(1, 3),)).tolist() == [1, 2]
    assert file.values("text", (slice(0, 2),)).tolist() == ["é", "long"]
    assert file.values("record", (slice(0, 1),)).tolist()[0][0] == 1
    file.close()


def test_metadata_come_in_few_requests(server: RangeServer) -> None:
    """Of 300 chunks of noise, whose metadata lie among them."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        noise = np.random.default_rng(0).integers(0, 255, (300, 50_000), "u1")
        file.create_dataset("x", data=noise, chunks=(1, 50_000), compression="gzip")
    server.files["/f"] = body = buffer.getvalue()
    found = open_native(targets(server.url), f"{server.url}/f")
    assert len(found.chunks("x").offsets) == 300
    sent = sum(int(span[1]) - int(span[0]) + 1 for span in map(_span, server.spans))
    assert len(server.spans) < 15
    assert sent < len(body) / 10
    found.close()


def _span(said: str | None) -> list[str]:
    assert said is not None
    return said.removeprefix("bytes=").split("-")


def test_arrays_of_many_chunks_are_asked_for_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_bytes(made())
    file = at(tmp_path / "f")
    monkeypatch.setattr(metadata_transfer, "CHUNKS", 10)  # of this process; the child told of all
    whole = metadata_transfer.FileMetadata(metadata_transfer.file_bytes(file, with_values=True))
    assert "g/é" not in whole.chunks
    del file._metadata.chunks["g/é"]  # type: ignore[attr-defined]
    assert len(file.chunks("g/é").offsets) == 300


def test_what_is_too_much_is_not_compared(tmp_path: Path, server: RangeServer) -> None:
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as made_one:
        made_one["x"] = np.zeros(10**6, "u1")
    server.files["/f"] = buffer.getvalue()
    reader = Targets(AccessPolicy(None, [server.url]), None, Limits(fetch_bytes=200_000))
    file = open_native(reader, f"{server.url}/f")
    assert isinstance(file, confined_file.ConfinedFile)
    for start in range(0, 10**6, 10**5):  # each chunk by itself, however many there are
        values = file.values("x", (slice(start, start + 10**5),))
        assert not values.any()
        assert len(file._file._blocks) < 10  # those of the chunk before are forgotten
    with pytest.raises(Unread, match=r"would take 1.00 MB, more than the limit"):
        file.values("x", (slice(0, 10**6),))
    (tmp_path / "f").write_bytes(made())
    few = Targets(AccessPolicy(None, [str(tmp_path)]), None, Limits(fetch_bytes=1000))
    file = open_native(few, str(tmp_path / "f"))
    with pytest.raises(Unread, match=r"would take 60.0 kB, more than the limit of 1.00 kB"):
        file.values("g/é", (slice(0, 300), slice(0, 50)))


def test_the_time_of_a_child_stands_still_while_it_waits(tmp_path: Path) -> None:
    body, until = made(), list[float]()
    child = Child(confined_file.__name__)

    def hear(said: dict[str, Any]) -> bytes:
        until.append(child._until)
        start, end = said["read"]
        return body[start:end]

    try:
        asked = {"do": "describe", "form": "HDF5", "path": None, "bytes": len(body), "limit": 2**28}
        _, data = child.ask(asked, b"", 60, hear)
    finally:
        child.end()
    assert "time" in metadata_transfer.FileMetadata(data).arrays
    assert set(until) == {math.inf}
    assert child._until < math.inf


def test_a_child_that_takes_too_long_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_bytes(made())
    at(tmp_path / "f").close()  # a child is there
    monkeypatch.setattr(confined_file, "SECONDS", 0)
    with pytest.raises(Unread, match="took longer than 0 s and was stopped") as caught:
        at(tmp_path / "f")
    assert caught.value.why == "cost"
    monkeypatch.undo()
    assert "time" in at(tmp_path / "f").names()


def test_no_broken_file_is_more_than_not_comparable(tmp_path: Path) -> None:
    """Bytes changed at random, the same in each run: HDF5 crashes on some."""
    body, path, ways = made(), tmp_path / "f", random.Random(1)
    reasons, opened = set[str](), 0
    for _ in range(100):
        broken = bytearray(body)
        for _ in range(ways.randint(1, 60)):
            broken[ways.randrange(len(body))] = ways.choice((0, 0xFF, ways.randrange(256)))
        path.write_bytes(broken)
        try:
            file = at(path)
        except Unread as error:
            reasons.add(str(error))
            continue
        opened += len(told(file)) > 0
        file.close()
    assert opened
    assert len(reasons) > 1


def test_bytes_that_cannot_be_fetched_are_a_failure(server: RangeServer) -> None:
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as made_one:
        made_one["x"] = np.zeros(10**6, "u1")
    server.files["/f"] = buffer.getvalue()
    file = open_native(targets(server.url), f"{server.url}/f")
    server.statuses["/f"] = 403
    with pytest.raises(FetchError, match=r"could not be read from .*denies access"):
        file.values("x", (slice(0, 10**6),))
    with pytest.raises(FetchError, match="denies access"):
        open_native(targets(server.url), f"{server.url}/f")
    with pytest.raises(AccessError):
        open_native(targets(), f"{server.url}/f")


def test_a_file_that_changes_meanwhile_is_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(made())
    file = at(path)
    os.utime(path, (1, 1))
    with pytest.raises(FetchError, match="changed since its first read"):
        file.values("time", (slice(0, 1),))


@pytest.mark.parametrize(
    ("body", "why", "reason"),
    [
        (b"", "format", "cannot be compared"),
        (b"\x1f\x8b not one of them", "format", "compressed with gzip as a whole"),
        pytest.param(
            b"GRIB\x00\x00\x00\x02",
            "damaged",
            "the file ends in its header",
            marks=pytest.mark.skipif(not find_spec("eccodes"), reason="needs eccodes"),
        ),
        (b"SIMPLE  =                    T", "damaged", "astropy"),
        (b"\x89HDF\r\n\x1a\n", "damaged", "HDF5 cannot open the file"),
        (b"II*\x00\x08\x00\x00\x00\xff\xff", "damaged", "tifffile"),
        (b"CDF\x01\x00\x00", "damaged", "header cannot be read"),
    ],
)
def test_what_is_not_compared(body: bytes, why: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(body)
    with pytest.raises(Unread, match=reason) as caught:
        at(tmp_path / "f")
    assert caught.value.why == why


def test_why_an_array_is_not_read_comes_from_the_child(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with h5py.File(path, "w") as made:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((4,))
        plist.set_filter(32123, h5py.h5z.FLAG_OPTIONAL)  # of a number that nobody has
        space = h5py.h5s.create_simple((4,))
        h5py.h5d.create(made.id, b"unknown", h5py.h5t.NATIVE_INT32, space, plist)
        made["unknown"].id.write_direct_chunk((0,), b"0123456789", 0)
        made.create_dataset("broken", data=DATA, chunks=(300, 50), compression="gzip")
        offset = made["broken"].id.get_chunk_info(0).byte_offset
        layout = h5py.VirtualLayout((3,), "i4")
        layout[:] = h5py.VirtualSource("other.h5", "x", (3,))
        made.create_virtual_dataset("view", layout)
    with path.open("r+b") as body:
        body.seek(offset)
        body.write(bytes(100))
    file = at(path)
    whys = {"view": "expression", "unknown": "library", "broken": "damaged"}
    for name, why in whys.items():
        with pytest.raises(Unread) as caught:
            file.values(name, (slice(0, 1),) * (2 if name == "broken" else 1))
        assert (name, caught.value.why) == (name, why)
        again = pickle.loads(pickle.dumps(caught.value))
        assert (again.why, str(again)) == (why, caught.value.sentence)


def test_a_user_block_stands_before_hdf5(tmp_path: Path) -> None:
    path = tmp_path / "f"
    for size in (0, 512, 32768):
        with h5py.File(path, "w", userblock_size=size) as file:
            file.create_dataset("x", data=DATA, chunks=(300, 50))
        native = at(path)
        (offset,) = native.chunks("x").offsets.tolist()
        assert path.read_bytes()[offset : offset + DATA.nbytes] == DATA.tobytes()


def test_a_library_that_is_not_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_bytes(made())
    monkeypatch.setattr(opening, "_is_installed", lambda name: False)
    with pytest.raises(Unread, match=r"h5py, which is not installed: .*\[verify\]") as caught:
        at(tmp_path / "f")
    assert caught.value.why == "library"
