"""What is no reference set is told by its first bytes, wherever it comes from, with what to do."""

from __future__ import annotations

import gzip
import io
import json
import shlex
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import h5py
import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
import tifffile
import zarr
import zstandard
from PIL import Image

import refexplorer as rx
from refexplorer.formats.datafiles.confined_references import READERS
from refexplorer.formats.other_files import kind_of
from refexplorer.hosts.cli.program import EXAMPLES
from tests.helpers.commands import run
from tests.helpers.servers import RangeServer, range_server

NETCDF3 = b"CDF%c" + bytes(28)
FITS = b"SIMPLE  =                    T / conforms".ljust(2880)
BULLETIN = b"\x01\r\r\n123\r\r\nHTXA80 KWBC 010000\r\r\n"
INTAKE = b"""
sources:
  sst:
    driver: zarr
    args:
      urlpath: "reference://"
      storage_options:
        fo: "set.json"
"""
CELL = {"cell_type": "markdown", "metadata": {}, "source": ["# A"]}


def hdf5(user_block: int = 0) -> bytes:
    held = io.BytesIO()
    with h5py.File(held, "w", userblock_size=user_block) as file:
        file["x"] = np.arange(4)
    return held.getvalue()


def stac_item() -> bytes:
    asset = {"href": "set.json", "type": "application/json", "roles": ["references"]}
    item = {"type": "Feature", "stac_version": "1.0.0", "links": [], "assets": {"a": asset}}
    return json.dumps(item).encode()


def tiff(big: bool, order: str) -> bytes:
    held = io.BytesIO()
    tifffile.imwrite(held, np.zeros((4, 4), "u1"), bigtiff=big, byteorder=order)  # type: ignore[arg-type]
    return held.getvalue()


def zipped(name: str) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as file:
        file.writestr(name, "{}")
    return held.getvalue()


def tarred() -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as file:
        file.addfile(tarfile.TarInfo("a"))
    return held.getvalue()


def parquet() -> bytes:
    held = io.BytesIO()
    pq.write_table(pa.table({"path": ["a"]}), held)
    return held.getvalue()


def arrow() -> bytes:
    held = io.BytesIO()
    with pa.ipc.new_file(held, pa.schema([("a", pa.int64())])):
        pass
    return held.getvalue()


def array() -> bytes:
    held = io.BytesIO()
    np.save(held, np.arange(3))
    return held.getvalue()


def image(form: str) -> bytes:
    held = io.BytesIO()
    Image.new("L", (2, 2)).save(held, form)
    return held.getvalue()


FILES: dict[str, tuple[bytes, str, str]] = {
    "hdf5": (hdf5(), "an HDF5 or NetCDF4 file", "kerchunk.hdf.SingleHdf5ToZarr"),
    "hdf5 after 2 kB": (hdf5(2048), "an HDF5 or NetCDF4 file", "open_virtual_dataset"),
    "netcdf3": (NETCDF3 % 1, "a NetCDF3 file", "kerchunk.netCDF3.NetCDF3ToZarr"),
    "netcdf3, 64-bit offsets": (NETCDF3 % 2, "a NetCDF3 file (64-bit offsets)", "NetCDF3Parser"),
    "netcdf3, 64-bit data": (NETCDF3 % 5, "a NetCDF3 file (64-bit data)", "NetCDF3Parser"),
    "grib1": (b"GRIB\0\0\x20\x01" + bytes(24), "a GRIB1 file", "convert it to GRIB2"),
    "grib2": (b"GRIB\0\0\0\x02" + bytes(24), "a GRIB2 file", "kerchunk.grib2.scan_grib"),
    "a bulletin": (BULLETIN + b"GRIB\0\0\x20\x01" + bytes(24), "a GRIB1 file", "convert it"),
    "tiff": (tiff(False, "<"), "a TIFF file", "kerchunk.tiff.tiff_to_zarr"),
    "big-endian tiff": (tiff(False, ">"), "a TIFF file", "kerchunk.tiff.tiff_to_zarr"),
    "bigtiff": (tiff(True, "<"), "a BigTIFF file", "kerchunk.tiff.tiff_to_zarr"),
    "big-endian bigtiff": (tiff(True, ">"), "a BigTIFF file", "kerchunk.tiff.tiff_to_zarr"),
    "fits": (FITS, "a FITS file", "kerchunk.fits.process_file"),
    "hdf4": (b"\x0e\x03\x13\x01" + bytes(9), "an HDF4 file", "kerchunk.hdf4.HDF4ToZarr"),
    "bufr": (b"BUFR\0\0\x20\x04" + bytes(9), "a BUFR file", "convert it"),
    "parquet": (parquet(), "a parquet file", "the folder with `.zmetadata`"),
    "arrow": (arrow(), "an Arrow IPC file", "JSON, parquet or Icechunk"),
    "npy": (array(), "a NumPy array", "JSON, parquet or Icechunk"),
    "png": (image("PNG"), "a PNG image", "no references"),
    "jpeg": (image("JPEG"), "a JPEG image", "no references"),
    "zip": (zipped("a.json"), "a zip file", "unpack it"),
    "zarr in zip": (zipped("x/zarr.json"), "a Zarr store in a zip file", "ZipStore"),
    "tar": (tarred(), "a tar archive", "unpack it"),
    "page": (b"\n<!DOCTYPE html><p>503", "an HTML page", "login or error page"),
    "page after a comment": (b"<!-- a -->\n<html><p>503", "an HTML page", "login or error"),
    "xml": (b"<?xml version='1.0'?><catalog/>", "an XML document", "the reference set itself"),
    "notebook": (json.dumps({"cells": [CELL], "nbformat": 4}).encode(), "a Jupyter notebook", ""),
    "empty notebook": (b'{"cells": [], "nbformat": 4}', "a Jupyter notebook", "JupyterLab"),
    "large notebook": (json.dumps({"cells": [CELL] * 20_000}).encode(), "a Jupyter notebook", ""),
    "stac item": (stac_item(), "a STAC document", "one of its assets"),
    "index by wgrib2": (b"1:0:d=2023010100:TMP:2 m above ground:anl:\n", "an index of a GRIB", ""),
    "index of ECMWF": (b'{"param": "2t", "_offset": 0, "_length": 9}\n' * 2, "an index of a", ""),
    "pointer": (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer", "lfs pull"),
    "intake-esm": (b'{"esmcat_version": "0.1.0"}', "an intake-esm catalogue", "the assets"),
    "intake": (INTAKE, "an intake catalogue", "the reference set of an entry"),
    ".zgroup": (b'{"zarr_format": 2}', "the metadata of a Zarr store", "the folder"),
    "zarr.json": (b'{"zarr_format": 3, "node_type": "group"}', "the metadata of a Zarr", "folder"),
}


def says(source: object, name: str, what: str, remedy: str) -> None:
    with pytest.raises(rx.errors.SourceError) as caught:
        rx.open_references(source)
    sentence = str(caught.value)
    assert sentence.startswith(f"{name} is {what}")
    assert ", not a reference set; " in sentence
    assert remedy in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence


@pytest.mark.parametrize(("data", "what", "remedy"), FILES.values(), ids=FILES)
def test_a_file_of_this_machine(data: bytes, what: str, remedy: str, tmp_path: Path) -> None:
    packed = {"a.gz": gzip.compress(data), "a.zst": zstandard.compress(data)}
    plain = () if kind_of(data) else ("a.bin", "a.json")
    for name, content in (dict.fromkeys(plain, data) | packed).items():
        (tmp_path / name).write_bytes(content)
        says(tmp_path / name, name, what, remedy)
    says(data, "bytes", what, remedy)


@pytest.fixture(scope="module")
def server() -> Iterator[RangeServer]:
    with range_server() as running:
        yield running


@pytest.mark.parametrize(("data", "what", "remedy"), FILES.values(), ids=FILES)
def test_a_file_elsewhere(data: bytes, what: str, remedy: str, server: RangeServer) -> None:
    server.files = {"/a.nc": data, "/a.json": data}
    says(f"{server.url}/a.json", "a.json", what, remedy)
    if kind_of(data) in READERS:  # which opens by itself
        return
    says(f"{server.url}/a.nc", "a.nc", what, remedy)
    with fsspec.open("memory://other/a.nc", "wb") as file:
        file.write(data)
    says("memory://other/a.nc", "a.nc", what, remedy)


def test_of_a_large_file_elsewhere_only_the_start_is_read(server: RangeServer) -> None:
    server.files = {"/a.nc": image("PNG").ljust(10**7)}
    server.spans.clear()
    says(f"{server.url}/a.nc", "a.nc", "a PNG image", "no references")
    assert "bytes=0-65535" in server.spans
    assert None not in server.spans


def test_a_large_document_elsewhere_is_read_once(server: RangeServer) -> None:
    refs = {f"x/{number}": ["s3://b/f", number, 1] for number in range(5000)}
    data = json.dumps(refs).encode()
    assert len(data) > 2**17
    server.files = {"/set": data}  # a name that does not tell what it is
    server.spans.clear()
    assert {**rx.open_references(f"{server.url}/set")} == {**rx.open_references(data)}
    assert [span for span in server.spans if span != "bytes=0-0"] == [
        "bytes=0-65535",
        "bytes=65536-",
    ]
    with pytest.raises(rx.errors.LimitError, match="set has more than 100,000 bytes"):
        rx.open_references(f"{server.url}/set", limits=rx.Limits(document_bytes=100_000))


def test_a_file_above_the_limit_is_reported_first(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(image("PNG").ljust(3 * 10**6))
    with pytest.raises(rx.errors.SourceError, match="a PNG image"):
        rx.open_references(tmp_path / "a.png", limits=rx.Limits(document_bytes=2 * 10**6))


@pytest.mark.parametrize("version", [2, 3])
def test_a_zarr_store_on_a_web_server(version: int, tmp_path: Path, server: RangeServer) -> None:
    group = zarr.open_group(tmp_path / "a.zarr", mode="w", zarr_format=version)  # type: ignore[arg-type]
    group.create_array("x", shape=(4,), dtype="i4")
    files = [path for path in (tmp_path / "a.zarr").rglob("*") if path.is_file()]
    held = {f"/{path.relative_to(tmp_path)}": path.read_bytes() for path in files}
    server.files = held
    says(f"{server.url}/a.zarr", "a.zarr", f"a Zarr v{version} store", "xarray.open_zarr")


@pytest.mark.parametrize(
    "refs",
    [
        {".zgroup": {"zarr_format": 2}, "cells": "a", "nbformat": "b"},
        {"cells": ["cells.nc", 0, 4]},
        {"a": "<html>"},
        {"x": {"_offset": 5}, "y": {"esmcat_version": "a"}},
        {"zarr_format": "x"},
        {"version": 1, "refs": {"zarr.json": {"zarr_format": 3, "node_type": "group"}}},
    ],
)
def test_a_set_that_looks_like_something_else_opens(refs: dict[str, object]) -> None:
    assert rx.open_references(json.dumps(refs).encode()).count == len(refs.get("refs", refs))  # type: ignore[arg-type]


CALLS = {
    verb: line
    for verb, lines in EXAMPLES.items()
    if "combined.json" in (line := next(iter(lines)).partition(" > ")[0])
}
"""The first example of each verb that takes a set."""


def called(verb: str, source: str) -> list[str]:
    """Return the arguments of the first example of a verb, with another set in it."""
    sets = {"combined.json", "before.json"}
    return [source if word in sets else word for word in shlex.split(CALLS[verb])[1:]]


@pytest.mark.parametrize("verb", CALLS)
def test_every_verb_says_what_a_file_is(
    verb: str, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    packed = tmp_path / "sst.nc.gz"  # to a packed file no references can be made
    packed.write_bytes(gzip.compress((demo / "sst_2025-07.nc").read_bytes()))
    ran = run(*called(verb, packed.name))
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("refexplorer: sst.nc.gz is an HDF5 or NetCDF4 file, not a reference")
    assert list(tmp_path.iterdir()) == [packed]


@pytest.mark.parametrize(
    "verb",
    sorted(CALLS.keys() - {"serve", "diff", "audit", "verify", "repair", "lock", "mcp", "why"}),
)
def test_every_verb_reads_standard_input(
    verb: str, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = (demo / "sst.v1.json").read_bytes()
    ran = run(*called(verb, "-"), stdin=data)
    differs = verb == "dialects"
    assert (ran.status, "Traceback" in ran.err) == (int(differs), False), ran.err
    assert ran.out
    ran = run(*called(verb, "-"), stdin=b"[")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("refexplorer: standard input")


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, bytes])
def test_standard_input_may_be_compressed(pack: Callable[[bytes], bytes], demo: Path) -> None:
    packed = pack((demo / "sst.v1.json").read_bytes())
    assert "source\tstandard input\n" in run("info", "-", stdin=packed).out
    assert run("explain", "-", "wind/7.0.0", stdin=packed).status == 0
    assert run("diff", demo / "sst.v1.json", "-", stdin=packed).status == 0
    assert run("diff", "-", demo / "sst.v1.json", stdin=packed).status == 0


@pytest.mark.parametrize(
    ("data", "words", "said"),
    [
        (b"", ["info", "-"], "standard input is empty."),
        (hdf5(), ["info", "-"], "standard input is an HDF5 or NetCDF4 file, not a reference set"),
        (b"{}", ["diff", "-", "-"], "Only one of the two sets can come from standard input"),
        (hdf5(), ["serve", "-", "--no-browser"], "standard input is an HDF5 or NetCDF4 file"),
    ],
)
def test_standard_input_that_is_refused(data: bytes, words: list[str], said: str) -> None:
    ran = run(*words, stdin=data)
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert said in ran.err


@pytest.mark.child
def test_standard_input_that_is_closed() -> None:
    command = f"{sys.executable} -m refexplorer info - <&-"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (2, "refexplorer: Standard input is closed.\n")
