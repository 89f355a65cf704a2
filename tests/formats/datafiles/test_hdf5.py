"""Compared with h5py, and the bytes of chunks with what numcodecs makes of them."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import h5netcdf
import h5py
import numpy as np
import pytest

import refexplorer as rx
from refexplorer.formats.datafiles import hdf5, metadata_transfer
from refexplorer.formats.datafiles.data_file import Unread
from refexplorer.formats.datafiles.hdf5 import Hdf5File
from refexplorer.formats.datafiles.hdf5_metadata import ATTRIBUTE_BYTES
from tests.helpers.file_codecs import decoded

DATA = np.arange(7 * 10, dtype="<i4").reshape(7, 10)
Write = Callable[[h5py.File], object]


def written(write: Write, **options: Any) -> bytes:
    with TemporaryFile() as buffer:
        with h5py.File(buffer, "w", **options) as file:
            write(file)
        buffer.seek(0)
        return buffer.read()


def opened(write: Write, **options: Any) -> tuple[Hdf5File, bytes]:
    body = written(write, **options)
    return Hdf5File(io.BytesIO(body)), body


def assembled(file: Hdf5File, name: str, body: bytes) -> np.ndarray:
    """Decode all chunks of an array by numcodecs, as a reference set would."""
    array, chunks = file.array(name), file.chunks(name)
    assert array.filters is not None
    assert chunks.masks is not None
    values = np.full(array.shape, np.array(array.fill_value, array.dtype))
    for number, index in enumerate(chunks.indices):
        data: Any = body[chunks.offsets[number] :][: chunks.lengths[number]]
        for bit, each in reversed(list(enumerate(array.filters))):
            if not chunks.masks[number] >> np.uint32(bit) & 1:
                data = decoded(each, data)
        chunk = np.frombuffer(np.asarray(data).tobytes(), array.dtype).reshape(array.chunks)
        place = tuple(
            slice(i * c, min((i + 1) * c, n))
            for i, c, n in zip(index, array.chunks, array.shape, strict=True)
        )
        values[place] = chunk[tuple(slice(each.stop - each.start) for each in place)]
    return values


FILTERS: dict[str, dict[str, Any]] = {
    "none": {},
    "zlib": {"compression": "gzip"},
    "shuffle": {"compression": 1, "shuffle": True},
    "fletcher32": {"compression": "gzip", "shuffle": True, "fletcher32": True},
    "lzf": {"compression": "lzf", "shuffle": True},
    "szip": {"compression": "szip"},
}


@pytest.mark.parametrize("filters", FILTERS)
@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("userblock_size", [0, 512])
def test_chunks_are_where_the_table_says(filters: str, libver: str, userblock_size: int) -> None:
    def write(file: h5py.File) -> None:
        file.create_dataset("g/x", data=DATA, chunks=(3, 4), **FILTERS[filters])

    file, body = opened(write, libver=libver, userblock_size=userblock_size)
    assert file.array("g/x").chunks == (3, 4)
    assert len(file.chunks("g/x").indices) == 9
    np.testing.assert_array_equal(assembled(file, "g/x", body), DATA)


def test_tables_are_those_of_h5py() -> None:
    def write(file: h5py.File) -> None:
        data = file.create_dataset("x", (50, 60), "f8", chunks=(7, 8), compression="gzip")
        data[:20, 30:] = 1

    file, body = opened(write)
    chunks = file.chunks("x")
    with h5py.File(io.BytesIO(body)) as theirs:
        dataset = theirs["x"]
        assert len(chunks.indices) == dataset.id.get_num_chunks() == 3 * 5
        for number in range(15):
            info = dataset.id.get_chunk_info(number)
            assert tuple(chunks.indices[number] * (7, 8)) == info.chunk_offset
            assert (chunks.offsets[number], chunks.lengths[number]) == (info.byte_offset, info.size)


def test_filters_left_out_for_a_chunk_are_in_its_mask() -> None:
    raw = DATA[:3, :4].tobytes()

    def write(file: h5py.File) -> None:
        data = file.create_dataset("x", data=DATA, chunks=(3, 4), compression="gzip", shuffle=True)
        data.id.write_direct_chunk((0, 0), raw, filter_mask=0b11)

    file, body = opened(write)
    chunks = file.chunks("x")
    assert chunks.masks is not None
    assert sorted(chunks.masks.tolist()) == [0] * 8 + [3]
    np.testing.assert_array_equal(assembled(file, "x", body), DATA)


def test_what_no_codec_decodes_has_the_name_of_its_format() -> None:
    def write(file: h5py.File) -> None:
        file.create_dataset("x", data=DATA, chunks=(3, 4), scaleoffset=0)
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((3, 4))
        plist.set_filter(32013, h5py.h5z.FLAG_OPTIONAL, (3, 1))
        space = h5py.h5s.create_simple(DATA.shape)
        h5py.h5d.create(file.id, b"y", h5py.h5t.NATIVE_INT32, space, plist)

    file, _ = opened(write)
    filters = [file.array(name).filters for name in ("x", "y")]
    assert [[each.name for each in found or ()] for found in filters] == [
        ["scaleoffset"],
        ["hdf5-32013"],
    ]
    assert filters[1] is not None
    assert filters[1][0].settings == {"parameters": [3, 1]}
    np.testing.assert_array_equal(file.values("x", (slice(2, 4), slice(0, 10))), DATA[2:4])


@pytest.mark.parametrize(("code", "name"), [(32026, b"blosc2"), (32013, b"zfp; a comment")])
def test_a_filter_that_no_codec_decodes_is_named(code: int, name: bytes, tmp_path: Path) -> None:
    """HDF5's Blosc2 chunks are frames, which imagecodecs' codec of that name refuses."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["x"] = DATA
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk(DATA.shape)
        plist.set_filter(code, h5py.h5z.FLAG_OPTIONAL, ())
        space = h5py.h5s.create_simple(DATA.shape)
        made = h5py.h5d.create(file.id, b"y", h5py.h5t.NATIVE_INT32, space, plist)
        made.write_direct_chunk((0, 0), b"frame")
    with pytest.warns(UserWarning, match=f"HDF5 has no plugin here for filter {code}"):
        assert "y/.zarray" not in rx.open_references(path)


def test_contiguous_and_unwritten_data() -> None:
    def write(file: h5py.File) -> None:
        file["x"] = DATA
        file["scalar"] = np.float32(2)
        file.create_dataset("late", (4, 5), "i2")
        file.create_dataset("chunked", (4, 5), "i2", chunks=(2, 5), fillvalue=-9)
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        space = h5py.h5s.create_simple((4, 5))
        h5py.h5d.create(file.id, b"early", h5py.h5t.STD_I16LE, space, plist)

    file, body = opened(write)
    for name, expected in (("x", DATA), ("scalar", np.float32(2)), ("early", np.zeros((4, 5)))):
        assert file.array(name).chunks == np.shape(expected)
        assert file.chunks(name).indices.shape == (1, np.ndim(expected))
        np.testing.assert_array_equal(assembled(file, name, body), expected)
    assert file.chunks("late").indices.shape == (0, 2)
    assert file.chunks("chunked").indices.shape == (0, 2)
    assert file.array("chunked").fill_value == -9
    assert file.array("late").fill_value == 0


def test_compact_data_has_no_byte_range() -> None:
    def write(file: h5py.File) -> None:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((3,))
        dataset = h5py.h5d.create(file.id, b"x", h5py.h5t.STD_I32LE, space, plist)
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(3, dtype="i4"))

    file, _ = opened(write)
    with pytest.raises(Unread, match="x are part of its metadata"):
        file.chunks("x")
    assert file.values("x", (slice(0, 3),)).tolist() == [0, 1, 2]


DTYPES = [
    "<i2", ">i2", "<u8", "|i1", ">f4", "<f8", "<f2", "|S5", "?", "<c8", "|V3",
    [("a", "<i4"), ("b", ">f8", (2,)), ("c", "S3")],
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_types_are_those_of_the_file(dtype: Any) -> None:
    file, body = opened(lambda file: file.create_dataset("x", data=np.ones(6, dtype), chunks=(4,)))
    array = file.array("x")
    assert array.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(assembled(file, "x", body), np.ones(6, dtype))


def test_an_enumeration_has_the_type_of_its_numbers() -> None:
    kind = h5py.enum_dtype({"land": 0, "sea": 1}, "<i2")
    file, _ = opened(lambda file: file.create_dataset("x", data=np.ones(4, "i2"), dtype=kind))
    assert file.array("x").dtype == np.dtype("<i2")
    assert file.array("x").dtype.metadata is None


def test_types_that_numpy_has_not() -> None:
    def write(file: h5py.File) -> None:
        kind = h5py.h5t.STD_I16LE.copy()
        kind.set_precision(12)
        h5py.h5d.create(file.id, b"bits", kind, h5py.h5s.create_simple((3,)))
        wide = h5py.h5t.STD_I32LE.copy()
        wide.set_precision(24)
        wide.set_size(3)
        h5py.h5d.create(file.id, b"three", wide, h5py.h5s.create_simple((3,)))

    file, _ = opened(write)
    for name in ("bits", "three"):
        with pytest.raises(Unread, match="NumPy has no type for"):
            file.array(name)


def test_values_of_varying_length() -> None:
    def write(file: h5py.File) -> None:
        file.create_dataset("text", data=["é", "long"], dtype=h5py.string_dtype())
        ragged = file.create_dataset("ragged", (2,), h5py.vlen_dtype("i4"))
        ragged[0], ragged[1] = [1], [2, 3]

    file, _ = opened(write)
    for name in ("text", "ragged"):
        assert file.array(name).dtype == object
        with pytest.raises(Unread, match="vary in length"):
            file.chunks(name)
    assert file.values("text", (slice(0, 2),)).tolist() == ["é", "long"]
    assert [each.tolist() for each in file.values("ragged", (slice(0, 2),))] == [[1], [2, 3]]


def test_attributes_are_plain() -> None:
    given = {
        "text": "é",
        "bytes": np.bytes_(b"K"),
        "texts": ["a", "bc"],
        "scale": np.float32(0.1),
        "one": np.array([3], "i2"),
        "range": np.array([1, 2], ">u4"),
        "grid": np.array([[1.5, 2], [3, np.inf]]),
        "flag": True,
        "none": h5py.Empty("S1"),
        "fixed": np.array([b"x", b"yz"]),
    }

    def write(file: h5py.File) -> None:
        file["x"] = 1
        file["x"].attrs.update(given)
        file["x"].attrs["place"] = file["x"].ref

    file, _ = opened(write)
    array = file.array("x")
    assert array.attributes == {
        "text": "é",
        "bytes": "K",
        "texts": ["a", "bc"],
        "scale": float(np.float32(0.1)),
        "one": 3,
        "range": [1, 2],
        "grid": [[1.5, 2.0], [3.0, float("inf")]],
        "flag": True,
        "none": "",
        "fixed": ["x", "yz"],
    }
    assert list(array.unread) == ["place"]


def test_an_attribute_that_is_too_large_is_reported_as_unread() -> None:
    def write(file: h5py.File) -> None:
        file["x"] = 1
        file["x"].attrs["units"] = "K"
        file["x"].attrs["all"] = np.zeros(ATTRIBUTE_BYTES + 1, "i1")

    array = opened(write, libver="latest")[0].array("x")
    assert array.attributes == {"units": "K"}
    assert "1.05 MB, more than" in array.unread["all"]


def test_links_are_other_names_and_lead_out_of_no_file(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "secret.h5", "w") as other:
        other["x"] = DATA

    def write(file: h5py.File) -> None:
        file["b/x"] = DATA
        file["a"] = file["b/x"]
        file["c/soft"] = h5py.SoftLink("../b/x")
        file["c/full"] = h5py.SoftLink("/b/x")
        file["c/gone"] = h5py.SoftLink("/b/nothing")
        file["c/out"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "/x")
        file["c/through"] = h5py.SoftLink("/c/out")
        file["b/up"] = file["/"]

    file, _ = opened(write)
    assert file.names() == ("a",)
    assert file.other_names() == {"b/x": "a", "c/soft": "a", "c/full": "a"}
    assert file.array("c/soft").name == "a"
    with pytest.raises(KeyError):
        file.array("b/up")
    with pytest.raises(KeyError):
        file.array("c/out")


def test_values_in_other_files_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(bytes(range(100)))
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other.create_dataset("x", data=DATA, maxshape=(None, 10), chunks=(7, 10))

    def write(file: h5py.File) -> None:
        places = [(str(tmp_path / "secret"), 0, 100)]
        file.create_dataset("raw", (100,), "u1", external=places)
        layout = h5py.VirtualLayout((7, 10), "i4", maxshape=(None, 10))
        source = h5py.VirtualSource(str(tmp_path / "other.h5"), "x", (7, 10), maxshape=(None, 10))
        layout[: h5py.h5s.UNLIMITED] = source[: h5py.h5s.UNLIMITED]
        file.create_virtual_dataset("view", layout)
        file["own"] = 1

    file, _ = opened(write, libver="latest")
    assert set(file.names()) == {"raw", "view", "own"}
    for name, reason in (("raw", "in other files"), ("view", "virtual dataset")):
        for ask in (file.array, file.chunks, lambda name: file.values(name, ())):
            with pytest.raises(Unread, match=reason):
                ask(name)


def test_netcdf4_names_dimensions() -> None:
    buffer = io.BytesIO()
    with h5netcdf.File(buffer, "w") as made:
        made.dimensions = {"time": None, "x": 4, "name": 2, "letters": 3}
        made.resize_dimension("time", 2)
        made.create_variable("x", ("x",), "f4", data=np.arange(4, dtype="f4"))
        made.create_variable("v", ("time", "x"), "i2", fillvalue=-5)
        made.create_variable("name", ("name", "letters"), "S1")
        group = made.create_group("g")
        group.dimensions = {"y": 5}
        group.create_variable("w", ("y", "x"), "f8")
    file = Hdf5File(io.BytesIO(buffer.getvalue()))
    found = {name: file.array(name) for name in file.names()}
    assert {name: each.dimensions for name, each in found.items()} == {
        "x": ("x",),
        "v": ("time", "x"),
        "name": ("name", "letters"),
        "letters": ("letters",),
        "g/w": ("y", "x"),
        "time": ("time",),
        "g/y": ("y",),
    }
    assert {name for name, each in found.items() if each.is_dimension} == {"time", "letters", "g/y"}
    assert found["v"].attributes == {"_FillValue": -5}
    assert not any(each.unread for each in found.values())


def test_dimensions_without_scales() -> None:
    def write(file: h5py.File) -> None:
        file["x"] = np.arange(10)
        file["x"].make_scale("x")
        file["none"], file["some"] = DATA, DATA
        file["some"].dims[1].attach_scale(file["x"])

    file, _ = opened(write)
    assert file.array("none").dimensions is None
    assert file.array("some").dimensions == ("phony_dim_0", "x")


def test_what_is_no_whole_hdf5_file() -> None:
    body = written(lambda file: file.create_dataset("x", data=DATA))
    for broken in (body[:1000], body[:8] + bytes(len(body)), b"\x89HDF\r\n\x1a\n", b""):
        with pytest.raises(Unread, match="HDF5 cannot open the file: "):
            Hdf5File(io.BytesIO(broken))


def test_a_broken_dataset_is_not_the_end_of_the_file() -> None:
    def write(file: h5py.File) -> None:
        file["a"], file["b"] = DATA, DATA

    body = bytearray(written(write))
    with h5py.File(io.BytesIO(body)) as file:
        place = h5py.h5o.get_info(file["a"].id).addr
    body[place] = 77  # the version of the header
    found = Hdf5File(io.BytesIO(body))
    assert found.names() == ("a", "b")
    assert found.array("b").shape == DATA.shape
    with pytest.raises(Unread, match="HDF5 cannot open a: "):
        found.array("a")


def test_no_more_objects_are_listed_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(file: h5py.File) -> None:
        for number in range(4):
            file[f"g/{number}"] = number

    assert len(opened(write)[0].names()) == 4
    monkeypatch.setattr(hdf5, "OBJECTS", 4)
    with pytest.raises(Unread, match="more than 4 groups and datasets"):
        opened(write)


def test_attributes_beyond_the_limit_are_said_to_be_unread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def write(file: h5py.File) -> None:
        file["x"] = 1
        file["x"].attrs.update({f"a{number}": number for number in range(5)})

    monkeypatch.setattr(hdf5, "ATTRIBUTES", 3)
    array = opened(write)[0].array("x")
    assert len(array.attributes) == 3
    assert list(array.unread.values()) == ["It has 5 attributes, and 3 are read."]


def test_groups_within_groups_within_groups() -> None:
    """As deep as no recursion goes."""

    def write(file: h5py.File) -> None:
        group = file
        for _ in range(2000):
            group = group.create_group("g")
        group["x"] = DATA
        group["up"] = file["g"]

    file, _ = opened(write)
    (name,) = file.names()
    assert name == "g/" * 2000 + "x"
    assert file.array(name).shape == DATA.shape


def test_a_dimension_whose_scale_is_gone_has_no_name() -> None:
    def write(file: h5py.File) -> None:
        file["x"], file["y"], file["data"] = np.arange(10), np.arange(7), DATA
        for axis, name in enumerate(("y", "x")):
            file[name].make_scale(name)
            file["data"].dims[axis].attach_scale(file[name])
        del file["y"]

    file, _ = opened(write)
    assert file.array("data").dimensions == ("phony_dim_0", "x")


def test_values_of_small_coordinates_go_along_with_the_metadata() -> None:
    """What asks for more than its own filters, or for much memory, is asked for by itself."""
    much = metadata_transfer.COORDINATES // 8 + 1

    def write(file: h5py.File) -> None:
        file.create_dataset("g/lat", data=np.arange(4.0), chunks=(3,), compression="gzip")
        file["time"], file["plain"] = np.arange(5, dtype="<i4"), np.arange(4.0)
        file["long"] = np.zeros(much)
        file.create_dataset("few", data=np.zeros(2), chunks=(much,), maxshape=(None,))
        file.create_dataset("odd", data=np.arange(9), scaleoffset=0)
        file.create_dataset("names", data=["a"], dtype=h5py.string_dtype())
        for name in ("g/lat", "time", "long", "few", "odd", "names"):
            file[name].make_scale()

    body = written(write)
    broken = body.replace(
        body[Hdf5File(io.BytesIO(body)).chunks("g/lat").offsets[0] :][:8], b"?" * 8
    )
    for data, names in ((body, {"g/lat", "time"}), (broken, {"time"})):
        told = metadata_transfer.FileMetadata(
            metadata_transfer.file_bytes(Hdf5File(io.BytesIO(data)), with_values=True)
        )
        assert set(told.values) == names
        assert told.values["time"].dtype == "<i4"
        assert told.values["time"].tolist() == [0, 1, 2, 3, 4]
        assert len(told.arrays) == 7
