"""Sets of other formats than HDF5, as their writers make them and with mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.data.verify.report.verification import Verification
from tests.helpers.verifying import codes

tifffile = pytest.importorskip("tifffile")

SHAPES: dict[str, Any] = {
    "strips": ((100, 120), {"rowsperstrip": 25}),
    "tiles": ((128, 128), {"tile": (32, 32)}),
    "deflated": ((128, 128), {"tile": (32, 32), "compression": "zlib"}),
    "predicted": ((128, 128), {"tile": (32, 32), "compression": "zlib", "predictor": True}),
    "colours": ((64, 64, 3), {"tile": (32, 32), "photometric": "rgb"}),
    "pages": ((5, 64, 64), {"tile": (32, 32), "photometric": "minisblack"}),
    "volume": ((5, 64, 64), {"photometric": "minisblack"}),
    "big-endian": ((64, 64), {"tile": (32, 32), "byteorder": ">"}),
}


def tiff_set(folder: Path, name: str) -> dict[str, Any]:
    """Return what tifffile writes of a file of one of `SHAPES`."""
    shape, options = SHAPES[name]
    values = np.random.default_rng(0).integers(1, 200, shape, "u2" if len(shape) == 2 else "u1")
    path, source = folder / f"{name}.tif", folder / f"{name}.json"
    tifffile.imwrite(path, values, **options)
    with tifffile.imread(path, aszarr=True) as store:
        store.write_fsspec(source, url=f"file://{folder}", version=0)
    found: dict[str, Any] = json.loads(source.read_text())
    return found


def verified(document: dict[str, Any], folder: Path) -> Verification:
    return rx.open_references(document).verify(allow=[f"file://{folder}"], values="all")


@pytest.mark.parametrize("name", SHAPES)
def test_tifffile(tmp_path: Path, name: str) -> None:
    found = verified(tiff_set(tmp_path, name), tmp_path)
    assert found.findings == ()
    assert found.good, str(found)
    assert dict(found.counts.forms) == {"TIFF": 1}


def test_mistakes_in_a_set_of_a_tiff(tmp_path: Path) -> None:
    document = tiff_set(tmp_path, "deflated")
    document["1.2"], document["2.1"] = document["2.1"], document["1.2"]
    document["0.0"][1] += 1
    document["3.3"][2] -= 1
    array = json.loads(document[".zarray"])
    document[".zarray"] = json.dumps(array | {"dtype": ">u2"})
    found = verified(document, tmp_path)
    assert {("misplaced", ""), ("offset", ""), ("length", ""), ("byte-order", "")} <= codes(found)
    (mine,) = [each for each in found.findings if each.code == "misplaced"]
    assert set(mine.keys) == {"1.2", "2.1"}


def test_zeros_of_a_tiff_are_masked_by_the_fill_value(tmp_path: Path) -> None:
    """tifffile writes a fill value of 0, which xarray masks in Zarr v2."""
    document = tiff_set(tmp_path, "volume")
    with tifffile.TiffFile(tmp_path / "volume.tif", mode="r+b") as file:
        start = file.pages[0].dataoffsets[0]
    with (tmp_path / "volume.tif").open("r+b") as raw:
        raw.seek(start)
        raw.write(b"\0")
    found = verified(document, tmp_path)
    assert codes(found) == {("masked", "")}
    assert (found.counts.false_nan, found.good) == (1, True)
