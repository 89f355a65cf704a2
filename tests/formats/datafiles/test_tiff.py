"""Compared with the reference sets that tifffile writes, and with the values that it reads."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

from refexplorer.core.limits import Limits
from refexplorer.formats.datafiles.data_file import Unread
from refexplorer.formats.datafiles.tiff import TiffFile
from refexplorer.io.access import AccessPolicy
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.sources.opening import open_native
from tests.helpers.file_codecs import decoded
from tests.helpers.servers import RangeServer

GREY = np.arange(64 * 96, dtype="u2").reshape(64, 96)
COLOUR = np.arange(64 * 96 * 3, dtype="u1").reshape(64, 96, 3)
STACK = np.arange(5 * 64 * 96, dtype="i2").reshape(5, 64, 96)
Write = Callable[[tifffile.TiffWriter], object]
CASES: dict[str, tuple[dict[str, Any], Write]] = {
    "one strip": ({}, lambda file: file.write(GREY)),
    "strips": ({}, lambda file: file.write(GREY, rowsperstrip=16)),
    "tiles": ({}, lambda file: file.write(GREY, tile=(32, 16), compression="zlib")),
    "edges": ({}, lambda file: file.write(GREY[:50, :90], tile=(32, 16), compression="lzw")),
    "big-endian": ({"byteorder": ">"}, lambda file: file.write(GREY, tile=(32, 32))),
    "BigTIFF": ({"bigtiff": True}, lambda file: file.write(GREY, tile=(32, 32))),
    "predictor": (
        {},
        lambda file: file.write(GREY, tile=(32, 32), compression="zlib", predictor=2),
    ),
    "float predictor": (
        {},
        lambda file: file.write(GREY.astype("f4"), tile=(32, 32), compression="zstd", predictor=3),
    ),
    "samples together": (
        {},
        lambda file: file.write(COLOUR, tile=(32, 32), photometric="rgb", compression="zlib"),
    ),
    "samples apart": (
        {},
        lambda file: file.write(
            np.moveaxis(COLOUR, 2, 0), tile=(32, 32), photometric="rgb", planarconfig="separate"
        ),
    ),
    "pages": ({}, lambda file: file.write(STACK, rowsperstrip=32, compression="packbits")),
    "one block": ({}, lambda file: file.write(STACK, contiguous=True)),
    "ImageJ": ({"imagej": True}, lambda file: file.write(STACK)),
    "OME": ({"ome": True}, lambda file: file.write(STACK, tile=(16, 32))),
    "no length": ({}, lambda file: file.write(GREY[None, :, :, None], tile=(32, 32))),
}


def pyramid(file: tifffile.TiffWriter) -> None:
    options: dict[str, Any] = {"tile": (16, 16), "compression": "zlib"}
    file.write(GREY, subifds=2, **options)
    for level in (2, 4):
        file.write(GREY[::level, ::level], subfiletype=1, **options)


def overviews(file: tifffile.TiffWriter) -> None:
    """As in a cloud-optimized GeoTIFF: pages that say of themselves that they are reduced."""
    for level in (1, 2, 4):
        file.write(
            GREY[::level, ::level],
            tile=(16, 16),
            subfiletype=int(level > 1),
            compression="zlib",
            metadata=None,
            extratags=[(42113, "s", 0, "99", False)] if level == 1 else [],
        )


CASES |= {"pyramid": ({}, pyramid), "overviews": ({}, overviews)}


def written(name: str) -> bytes:
    options, write = CASES[name]
    buffer = io.BytesIO()
    with tifffile.TiffWriter(buffer, **options) as file:
        write(file)
    return buffer.getvalue()


def opened(body: bytes) -> TiffFile:
    return TiffFile(io.BufferedReader(io.BytesIO(body)))


@pytest.mark.parametrize("name", CASES)
def test_chunks_are_where_the_set_of_tifffile_has_them(name: str) -> None:
    body = written(name)
    file = opened(body)
    told = io.StringIO()
    with (
        tifffile.TiffFile(io.BytesIO(body), name="f") as theirs,
        theirs.aszarr() as store,
    ):
        store.write_fsspec(told, "")
    refs = json.loads(told.getvalue())
    arrays = {key.removesuffix(".zarray").rstrip("/") for key in refs if key.endswith(".zarray")}
    assert arrays <= {*file.names(), *file.other_names()}
    for path in arrays:
        folder = f"{path}/" if path else ""
        array, chunks = file.array(path), file.chunks(path)
        zarray = json.loads(refs[f"{folder}.zarray"])
        assert (list(array.shape), list(array.chunks)) == (zarray["shape"], zarray["chunks"])
        assert array.dtype == np.dtype(zarray["dtype"])
        assert array.fill_value == zarray["fill_value"]
        assert list(array.dimensions or ()) == json.loads(refs[f"{folder}.zattrs"]).get(
            "_ARRAY_DIMENSIONS"
        )
        codecs = [*(zarray["filters"] or ()), zarray["compressor"]]
        assert [{"id": each.name, **each.settings} for each in array.filters or ()] == [
            each for each in codecs if each
        ]
        assert {
            f"{folder}{'.'.join(map(str, index))}": ["f", offset, length]
            for index, offset, length in zip(
                chunks.indices.tolist(),
                chunks.offsets.tolist(),
                chunks.lengths.tolist(),
                strict=True,
            )
        } == _of(refs, folder)


def _of(refs: dict[str, Any], folder: str) -> dict[str, Any]:
    return {
        key: value
        for key, value in refs.items()
        if isinstance(value, list) and key.startswith(folder)
    }


@pytest.mark.parametrize("name", CASES)
def test_the_bytes_of_chunks_decode_to_the_values(name: str) -> None:
    body = written(name)
    file = opened(body)
    with tifffile.TiffFile(io.BytesIO(body)) as theirs:
        expected = theirs.series[0].asarray()
    array, chunks = file.array("0"), file.chunks("0")
    values = np.zeros(array.shape, array.dtype)
    for index, offset, length in zip(chunks.indices, chunks.offsets, chunks.lengths, strict=True):
        data: Any = body[offset : offset + length]
        for each in reversed(array.filters or ()):
            data = decoded(each, data)
        chunk = np.frombuffer(np.asarray(data).tobytes(), array.dtype).reshape(array.chunks)
        place = tuple(
            slice(i * c, min((i + 1) * c, n))
            for i, c, n in zip(index, array.chunks, array.shape, strict=True)
        )
        values[place] = chunk[tuple(slice(each.stop - each.start) for each in place)]
    np.testing.assert_array_equal(values, expected)
    part = (slice(1, 4),) * expected.ndim
    np.testing.assert_array_equal(file.values("0", part), expected[part])


def test_levels_are_arrays() -> None:
    for name in ("pyramid", "overviews"):
        file = opened(written(name))
        assert file.names() == ("0", "1", "2")
        assert file.other_names() == {}
        shapes = [file.array(each).shape for each in file.names()]
        assert shapes == [(64, 96), (32, 48), (16, 24)]
        part = (slice(0, 16), slice(0, 24))
        np.testing.assert_array_equal(file.values("2", part), GREY[::4, ::4])
    assert opened(written("overviews")).array("0").fill_value == 99


def test_jpeg_takes_settings_that_are_not_reported() -> None:
    buffer = io.BytesIO()
    with tifffile.TiffWriter(buffer) as file:
        file.write(COLOUR, tile=(32, 32), photometric="rgb", compression="jpeg")
    assert opened(buffer.getvalue()).array("0").filters is None


def test_files_that_ome_names_are_not_opened(tmp_path: Path) -> None:
    tifffile.imwrite(tmp_path / "secret.ome.tif", STACK[:1], ome=True)
    uuid = "urn:uuid:00000000-0000-0000-0000-000000000001"
    xml = f"""<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"
      UUID="urn:uuid:00000000-0000-0000-0000-000000000002"><Image ID="Image:0"><Pixels ID="Pixels:0"
      DimensionOrder="XYCZT" Type="int16" SizeX="96" SizeY="64" SizeC="1" SizeZ="1" SizeT="2">
      <TiffData IFD="0" FirstT="0" PlaneCount="1"/>
      <TiffData IFD="0" FirstT="1" PlaneCount="1"><UUID FileName="{tmp_path}/secret.ome.tif"
      >{uuid}</UUID></TiffData></Pixels></Image></OME>"""
    path = tmp_path / "f.ome.tif"
    tifffile.imwrite(path, STACK[0], description=xml, metadata=None)
    with path.open("rb") as file:
        found = TiffFile(file)
        for name in found.names():
            assert len(found.chunks(name).offsets) <= 1


@pytest.mark.parametrize("size", [8, 20, 100, 300])
def test_what_is_no_whole_tiff(size: int) -> None:
    with pytest.raises(Unread, match=r"tifffile|of 12 tiles or strips"):
        opened(written("tiles")[:size]).chunks("0")


@pytest.mark.child
def test_no_broken_tiff_is_more_than_not_comparable(tmp_path: Path) -> None:
    """Bytes of the tags changed at random, the same in each run."""
    path, ways, reasons = tmp_path / "f", random.Random(1), set[str]()
    policy = AccessPolicy(None, [str(tmp_path)])
    for name in ("tiles", "pages", "overviews", "OME"):
        for _ in range(20):
            broken = bytearray(written(name))
            for _ in range(ways.randint(1, 20)):
                broken[ways.randrange(4, 700)] = ways.choice((0, 0xFF, ways.randrange(256)))
            path.write_bytes(broken)
            try:
                file = open_native(Targets(policy, None, Limits()), str(path))
                for each in file.names():
                    file.chunks(each)
            except Unread as error:
                reasons.add(str(error))
    assert len(reasons) > 5


@pytest.mark.child
def test_over_the_network_tiffs_cost_few_requests(server: RangeServer) -> None:
    buffer = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 255, (4096, 1024), "u1")
    with tifffile.TiffWriter(buffer) as file:
        file.write(noise, tile=(256, 256), compression="zlib")
    server.files["/f"] = body = buffer.getvalue()
    policy = AccessPolicy(None, [server.url])
    native = open_native(Targets(policy, None, Limits()), f"{server.url}/f")
    expected = opened(body)
    assert native.array("") == expected.array("")
    np.testing.assert_array_equal(native.chunks("").offsets, expected.chunks("").offsets)
    assert len(server.spans) < 6
    part = (slice(10, 20), slice(30, 40))
    np.testing.assert_array_equal(native.values("", part), noise[part])
