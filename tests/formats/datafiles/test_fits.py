"""Compared with the values that astropy reads, where it is installed."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.checks.report import Report
from refexplorer.core.limits import Limits
from refexplorer.formats.datafiles.data_file import Unread
from refexplorer.io.access import AccessPolicy
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.sources.opening import open_native
from tests.helpers.servers import RangeServer
from tests.helpers.verifying import verified

pytestmark = pytest.mark.child
fits: Any = pytest.importorskip("astropy.io.fits")
IMAGE = np.arange(40 * 30, dtype=">i2").reshape(40, 30)
CUBE = np.arange(2 * 3 * 4, dtype=">f4").reshape(2, 3, 4)
TABLE = np.array([(1, 2.5, b"ab"), (3, 4.5, b"c")], [("a", ">i4"), ("b", ">f8"), ("c", "S3")])


def written() -> bytes:
    scaled = fits.ImageHDU(IMAGE.astype("u2"), name="SCALED")  # unsigned: BZERO
    ragged = fits.Column("r", "PJ()", array=np.array([[1], [2, 3]], object))
    parts = [
        fits.PrimaryHDU(IMAGE),
        fits.ImageHDU(CUBE, name="CUBE"),
        fits.ImageHDU(CUBE[0]),
        scaled,
        fits.BinTableHDU(TABLE, name="TABLE"),
        fits.BinTableHDU.from_columns([ragged], name="RAGGED"),
        fits.CompImageHDU(IMAGE, name="PACKED"),
    ]
    parts[1].header["BUNIT"] = "Jy"
    buffer = io.BytesIO()
    fits.HDUList(parts).writeto(buffer)
    return buffer.getvalue()


def test_data_are_where_the_table_says(server: RangeServer) -> None:
    body = written()
    server.files["/f"] = body
    targets = Targets(AccessPolicy(None, [server.url]), None, Limits())
    file = open_native(targets, f"{server.url}/f")
    assert file.names() == ("PRIMARY", "CUBE", "2", "SCALED", "TABLE", "RAGGED", "PACKED")
    assert file.other_names()["1"] == "CUBE"
    for name, expected in (("PRIMARY", IMAGE), ("CUBE", CUBE), ("2", CUBE[0]), ("4", TABLE)):
        array, chunks = file.array(name), file.chunks(name)
        assert (array.shape, array.chunks) == (expected.shape, expected.shape)
        assert array.filters == ()
        (offset,), (length,) = chunks.offsets.tolist(), chunks.lengths.tolist()
        found = np.frombuffer(body[offset : offset + length], array.dtype).reshape(array.shape)
        part = (slice(1, 2),) * expected.ndim
        for values, wanted in ((found, expected), (file.values(name, part), expected[part])):
            for field in expected.dtype.names or (...,):
                np.testing.assert_array_equal(values[field], wanted[field])
    assert file.array("CUBE").attributes["BUNIT"] == "Jy"
    (scaling,) = file.array("SCALED").filters or ()
    assert (scaling.name, scaling.settings["offset"]) == ("fixedscaleoffset", 32768)
    for name, reason in {"RAGGED": "columns of varying", "PACKED": "a compressed image"}.items():
        with pytest.raises(Unread, match=reason):
            file.array(name)


def test_a_file_that_ends_in_a_header(tmp_path: Path) -> None:
    """astropy warns of the last extension, and leaves it out."""
    path = tmp_path / "a.fits"
    images = [fits.PrimaryHDU(np.zeros((2, 2), "i2")), fits.ImageHDU(np.ones((2, 2), "i2"))]
    fits.HDUList(images).writeto(path)
    assert len(rx.open_references(path).arrays()) == 2
    path.write_bytes(path.read_bytes()[:-3000])
    with pytest.raises(rx.RefexplorerError, match="ends in the header of the extension at 5,760"):
        rx.open_references(path)


def test_a_scale_that_no_codec_has_leaves_the_other_images(tmp_path: Path) -> None:
    path = tmp_path / "a.fits"
    images = [fits.PrimaryHDU(np.zeros((2, 2), "i2")), fits.ImageHDU(np.ones((2, 2), "i2"))]
    images[1].header["BSCALE"] = 1.0
    fits.HDUList(images).writeto(path)
    data = path.read_bytes()
    for header in (b"BSCALE  =                  1.0", b"BSCALE  =                    1"):
        data = data.replace(header, b"BSCALE  =                  0.0")
    assert b"BSCALE  =                  0.0" in data
    path.write_bytes(data)
    with pytest.warns(UserWarning, match="scaled by 0.0 and 0"):
        assert rx.open_references(path).arrays() == ("PRIMARY",)


def test_rows_of_text_have_a_length_of_their_own(tmp_path: Path) -> None:
    path, codec = tmp_path / "a.fits", "FITSAscii"
    columns = [
        fits.Column("n", "I4", array=np.array([1, 22, 333]), ascii=True),
        fits.Column("x", "F8.3", array=np.array([1.5, 2.5, -3]), ascii=True),
    ]
    table = fits.TableHDU.from_columns(columns, name="TABLE")
    fits.HDUList([fits.PrimaryHDU(), table]).writeto(path)
    types = [["n", "<i2"], ["x", "<f8"]]
    filters = [{"id": codec, "indtypes": [["n", "S4"], ["x", "S8"]], "outdtypes": types}]
    meta = {"zarr_format": 2, "shape": [3], "chunks": [3], "dtype": types, "order": "C"}
    meta |= {"compressor": None, "fill_value": None, "filters": filters}

    def found(length: int) -> Report:
        refs = {".zgroup": {"zarr_format": 2}, "TABLE/.zarray": meta}
        refs |= {"TABLE/0": [str(path), 5760, length]}
        return verified({"version": 1, "refs": refs}, tmp_path, values="all")

    assert found(36).good
    (length,) = (each for each in found(24).findings if each.code == "length")
    assert "has 24 bytes, the chunk of `TABLE` 36" in str(length.message)
