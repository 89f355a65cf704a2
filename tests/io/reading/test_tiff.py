"""References that tifffile writes lead to the values that tifffile reads."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import tifffile
import zarr

import refexplorer as rx
from tests.helpers.forking import Interpreter, preloaded
from tests.helpers.real_sets import ROOT, needs_sets

IMAGE = np.arange(200 * 150, dtype=">u2").reshape(200, 150)


COLOURS = np.random.default_rng(1).integers(0, 255, (200, 150, 3), "u1")


def references(folder: Path, image: np.ndarray = IMAGE, **how: Any) -> Path:
    """Write a picture in tiles of 64 by 64, and references to them."""
    tifffile.imwrite(folder / "picture.tif", image, tile=(64, 64), **how)
    with tifffile.imread(folder / "picture.tif", aszarr=True) as store:
        store.write_fsspec(str(folder / "picture.json"), url="")
    return folder / "picture.json"


WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "zlib": {"compression": "zlib"},
    "zlib with a predictor": {"compression": "zlib", "predictor": True},
    "lzw": {"compression": "lzw"},
    "lzw with a predictor": {"compression": "lzw", "predictor": True},
    "zstd": {"compression": "zstd"},
    "packbits": {"compression": "packbits"},
    "lzma": {"compression": "lzma"},
    "jpeg": {"compression": "jpeg", "image": COLOURS, "photometric": "rgb"},
}
"""What tifffile writes, most of it for codecs that imagecodecs has."""


@pytest.mark.parametrize("way", WAYS)
def test_the_values_are_those_of_the_picture(tmp_path: Path, way: str) -> None:
    refs = rx.open_references(references(tmp_path, **WAYS[way]))
    picture: Any = refs.to_zarr()
    values = np.asarray(picture[:])
    assert np.array_equal(values, tifffile.imread(tmp_path / "picture.tif"))
    key = next(key for key in refs if not key.startswith("."))
    ladder = refs.trace(key)
    assert ladder.state == "fetched", ladder.message
    assert refs.audit(decode="all").good
    assert {found.code for found in refs.diagnostics} <= {"relative-url", "root-array"}


LOAD = """
import sys, numpy, tifffile, zarr, refexplorer as rx
import refexplorer.verbs.opening
assert "imagecodecs.numcodecs" not in sys.modules
"""
ASKS = """
refs = rx.open_references(sys.argv[1])
{question}
"""


@pytest.fixture(scope="module")
def programs() -> Iterator[Interpreter]:
    with preloaded(LOAD) as interpreter:
        yield interpreter


@pytest.mark.child
@pytest.mark.parametrize(
    "question",
    [
        "assert refs.trace('0.0').state == 'fetched', refs.trace('0.0')",
        "assert refs.audit(decode='all').good",
        "refs.to_zarr()[:]",
    ],
)
def test_a_process_that_never_heard_of_imagecodecs_registers_them(
    tmp_path: Path, question: str, programs: Interpreter
) -> None:
    path = references(tmp_path, compression="lzw", predictor=True)
    ran = programs.start(ASKS.format(question=question), path)
    assert (ran.communicate()[1], ran.returncode) == ("", 0)


@pytest.mark.child
def test_the_code_that_opens_it_registers_them(tmp_path: Path) -> None:
    path = references(tmp_path, compression="lzw", predictor=True)
    code = rx.open_references(path).code() + "import numpy\nprint(numpy.asarray(array[:]).sum())"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert ran.stdout.strip() == str(IMAGE.sum()), ran.stderr


def test_a_codec_of_no_package_is_named_in_the_error(tmp_path: Path) -> None:
    path = references(tmp_path, compression="lzw")
    path.write_text(path.read_text().replace("imagecodecs_lzw", "imagecodecs_none"))
    picture: Any = rx.open_references(path).to_zarr
    with pytest.raises(
        rx.errors.DecodeError, match="imagecodecs_none, which the installed imagecodecs lacks"
    ):
        picture()[:]


@needs_sets
def test_published_references_lead_to_the_values_of_their_files() -> None:
    folder = ROOT / "tool-tiff-tifffile"
    found = rx.open_references(folder / "refs.json").to_zarr()
    page = tifffile.imread(folder / "lcmap_tiny_cog_2019.tif")
    arrays = [array for _, array in found.arrays()] if isinstance(found, zarr.Group) else [found]
    assert any(np.array_equal(np.squeeze(array[...]), np.squeeze(page)) for array in arrays)
    air: Any = rx.open_references(ROOT / "tool-netcdf4-air/refs.json").to_zarr()
    with h5py.File(ROOT / "tool-netcdf4-air/air.nc") as file:
        for name in ("air", "lat", "lon", "time"):
            assert np.array_equal(air[name][...], file[name][...])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_codec_whose_settings_no_file_states(tmp_path: Path) -> None:
    """A TIFF does not say which colours its JPEG tiles have: only values show it."""
    path = references(tmp_path, COLOURS, compression="jpeg", photometric="ycbcr")
    document = json.loads(path.read_text())
    refs = rx.open_references(path)
    assert refs.verify().status == 2
    assert refs.verify(values="all").status == 0
    metadata = json.loads(document[".zarray"])
    metadata["compressor"] |= {"colorspace_jpeg": 2, "colorspace_data": 2}
    path.write_text(json.dumps(document | {".zarray": json.dumps(metadata)}))
    refs = rx.open_references(path)
    assert refs.verify().status == 2
    assert refs.verify(values="all").status == 1
