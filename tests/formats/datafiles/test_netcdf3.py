"""Files of scipy, and one of netCDF-C, whose bytes are where the tables say."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import netcdf_file

from refexplorer.core.limits import Limits
from refexplorer.formats.datafiles.data_file import DataFile, Unread
from refexplorer.io.access import AccessPolicy
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.sources.opening import open_native
from tests.helpers.servers import RangeServer

CDF5 = zlib.decompress(
    base64.b64decode(
        "eJxzdnFjZYAAFiDmgrKZYGIlmbmpDKiAsQLBZkaT40YTZ07KTIfrQ6J50MRYczJzM0tQzWBsQJgLc5cEVCoCpqYI"
        "oYaJARVgtac0L7OkGFU9ozeEZofyWaDCBTD5YlQzsQGYf2F6S2DqBaCM/xDwl4GR6T/QZ4zMLKz/GZgaGNnYOf4z"
        "MDcwcnJx////p4ERADHyHE8="
    )
)
"""Written by netCDF-C 4.9 in the form NETCDF3_64BIT_DATA."""
DATA: dict[str, tuple[tuple[str, ...], Any]] = {
    "x": (("x",), np.arange(3, dtype=">f4")),
    "t": (("time",), np.arange(4, dtype=">i2")),
    "letters": (("x", "y"), np.full((3, 5), b"a", "S1")),
    "v": (("time", "y", "x"), np.arange(60, dtype=">f8").reshape(4, 5, 3)),
    "small": (("time", "x"), np.arange(12, dtype="i1").reshape(4, 3)),
    "scalar": ((), np.array(7, ">i4")),
}

RECORDS = ("x", "t", "letters", "v", "small")
"""All but the scalar, which scipy writes over the records."""


def written(path: Path, names: tuple[str, ...] = RECORDS, version: int = 1) -> bytes:
    with netcdf_file(path, "w", version=version) as file:
        file.createDimension("time", None)
        file.createDimension("x", 3)
        file.createDimension("y", 5)
        file.title = "all"
        for name in names:
            dimensions, data = DATA[name]
            made = file.createVariable(name, data.dtype, dimensions)
            if "time" in dimensions:
                made[:] = data
            else:
                made.data[...] = data
            made.units, made.scale_factor = "K", np.float32(0.5)
            made.valid_range = np.array([-1, 5], ">i2")
    return path.read_bytes()


def opened(path: Path) -> DataFile:
    return open_native(Targets(AccessPolicy(None, [str(path.parent)]), None, Limits()), str(path))


def assembled(file: DataFile, name: str, body: bytes) -> np.ndarray:
    """Put chunks in their places, as a reference set would."""
    array, chunks = file.array(name), file.chunks(name)
    values = np.empty(array.shape, array.dtype)
    for index, offset, length in zip(chunks.indices, chunks.offsets, chunks.lengths, strict=True):
        chunk = np.frombuffer(body[offset : offset + length], array.dtype)
        place = tuple(slice(i * n, (i + 1) * n) for i, n in zip(index, array.chunks, strict=True))
        values[place] = chunk.reshape(array.chunks)
    return values


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    "names", [RECORDS, ("x", "small"), ("small",), ("t",), ("t", "small"), ("x", "scalar")], ids=str
)
def test_variables_are_where_the_table_says(
    names: tuple[str, ...], version: int, tmp_path: Path
) -> None:
    body = written(tmp_path / "f.nc", names, version)
    file = opened(tmp_path / "f.nc")
    assert file.form == "NetCDF3"
    assert set(file.names()) == set(names)
    for name in names:
        dimensions, data = DATA[name]
        array = file.array(name)
        assert (array.shape, array.dtype) == (data.shape, data.dtype)
        assert array.dimensions == dimensions
        records = "time" in dimensions
        assert array.chunks == ((1, *data.shape[1:]) if records else data.shape)
        assert array.attributes == {"units": "K", "scale_factor": 0.5, "valid_range": [-1, 5]}
        np.testing.assert_array_equal(assembled(file, name, body), data)
        part = (slice(1, 3),) * data.ndim
        np.testing.assert_array_equal(file.values(name, part), data[part])


def test_cdf5(tmp_path: Path) -> None:
    (tmp_path / "f.nc").write_bytes(CDF5)
    file = opened(tmp_path / "f.nc")
    found = {name: assembled(file, name, CDF5).tolist() for name in file.names()}
    assert found == {
        "big": [1, 2**60, -3],
        "r": np.arange(12).reshape(4, 3).tolist(),
        "s": [1, 2, 3, -4],
    }
    assert file.array("big").attributes == {"limit": 2**63}
    assert [file.array(name).dtype for name in found] == [">i8", "u1", ">i2"]


def test_only_the_header_is_read_over_the_network(server: RangeServer, tmp_path: Path) -> None:
    with netcdf_file(tmp_path / "f.nc", "w") as made:
        made.createDimension("x", 10**6)
        for name in "abc":
            made.createVariable(name, ">f8", ("x",))[:] = 1
    server.files["/f"] = (tmp_path / "f.nc").read_bytes()
    file = open_native(Targets(AccessPolicy(None, [server.url]), None, Limits()), f"{server.url}/f")
    assert file.chunks("b").lengths.tolist() == [8 * 10**6]
    assert len(server.spans) == 2


def test_a_file_that_was_not_closed_has_as_many_records_as_fit(tmp_path: Path) -> None:
    body = bytearray(written(tmp_path / "f.nc", ("t", "small")))
    body[4:8] = b"\xff" * 4
    (tmp_path / "g.nc").write_bytes(body)
    assert opened(tmp_path / "g.nc").array("small").shape == (4, 3)


def test_a_file_that_ends_early(tmp_path: Path) -> None:
    body = written(tmp_path / "f.nc")
    (tmp_path / "g.nc").write_bytes(body[:-9])
    file = opened(tmp_path / "g.nc")
    with pytest.raises(Unread, match="ends before the last values of v"):
        [file.chunks(name) for name in file.names()]
    for size in range(4, 200, 7):
        (tmp_path / "g.nc").write_bytes(body[:size])
        with pytest.raises(Unread, match="the file ends before"):
            opened(tmp_path / "g.nc")


def test_no_count_of_a_header_takes_memory(tmp_path: Path) -> None:
    body = written(tmp_path / "f.nc", version=2)
    for place in range(4, 400, 4):
        (tmp_path / "g.nc").write_bytes(body[:place] + b"\x7f\xff\xff\xff" + body[place + 4 :])
        try:
            file = opened(tmp_path / "g.nc")
            for name in file.names():
                assert len(file.chunks(name).offsets) < 10
        except Unread:
            continue
