"""What opening leaves out of data files is counted, listed with its reason, and named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

import refexplorer as rx
from refexplorer.views.wire.context import notes
from tests.helpers.commands import run

pytest.importorskip("kerchunk")

DMRPP = """<?xml version="1.0"?>
<Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#" name="f.h5"
 xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#" dmrpp:href="f.h5">
<String name="bad"><Dim size="4"/><dmrpp:chunks>
<dmrpp:chunk offset="0" nBytes="16"/></dmrpp:chunks></String>
<Int8 name="good"><Dim size="2"/><dmrpp:chunks>
<dmrpp:chunk offset="0" nBytes="2"/></dmrpp:chunks></Int8></Dataset>"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Write a sound file with datasets that no reference can be made to, and one in a group."""
    path = tmp_path / "f.h5"
    ragged = np.dtype([("id", "<i4"), ("name", h5py.string_dtype())])
    with h5py.File(path, "w") as file:
        file["t"] = np.arange(4.0) + 1
        file.create_dataset("st", data=np.array([(1, b"abc"), (3, b"d")], dtype=ragged))
        file.create_dataset("g/st", data=np.array([(1, b"abc")], dtype=ragged))
    return path


def test_info_counts_them(path: Path) -> None:
    ran = run("info", path, "--json")
    assert json.loads(ran.out)["left_out"] == 2
    assert (ran.status, "has 2 errors" in ran.err) == (1, True)


def test_check_lists_each_with_its_reason(path: Path) -> None:
    ran = run("check", path, "--json")
    found = json.loads(ran.out)["findings"]
    said = {each["pointer"]: each for each in found if each["code"] == "left-out"}
    assert (ran.status, set(said)) == (1, {"/st", "/g~1st"})
    assert said["/st"]["severity"] == "error"
    assert said["/st"]["message"].startswith("The object `st` of the file is not in the set: its")
    assert "`g/st`" in said["/g~1st"]["message"]


def test_verify_names_them_and_does_not_call_the_set_good(path: Path) -> None:
    ran = run("verify", path)
    assert ran.status == 1
    assert ran.out.startswith("f.h5: incomplete: its files have 2 variables that it lacks\n")
    assert "The object `g/st` of the file is not in the set" in ran.out
    with pytest.warns(rx.errors.LeftOutWarning):
        again = rx.open_references(path).verify()
    assert (again.good, {each.code for each in again.findings}) == (False, {"left-out"})


def test_the_page_and_the_notebook_show_them(path: Path) -> None:
    with pytest.warns(rx.errors.LeftOutWarning):
        refs = rx.open_references(path)
    assert "2 objects of the file left out" in str(refs)
    assert "2 objects of the file left out" in refs._repr_html_()
    assert [each.code for each in notes(refs)].count("left-out") == 2


def test_nothing_of_another_package_reaches_stderr(path: Path) -> None:
    code = f"import refexplorer as rx; print(rx.open_references({str(path)!r}).arrays())"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "('t',)\n"
    said = [line for line in ran.stderr.splitlines() if "LeftOutWarning" not in line]
    assert not any("kerchunk" in line or "Traceback" in line for line in said)


def test_dimensions_without_values_are_not_left_out(tmp_path: Path) -> None:
    import netCDF4

    with netCDF4.Dataset(tmp_path / "n.nc", "w") as file:
        file.createDimension("x", 4)
        file.createVariable("v", "i4", ("x",))[:] = np.arange(4)
    assert rx.open_references(tmp_path / "n.nc").source.left_out == ()


def test_values_in_other_files_are_named(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "v.h5", "w") as file:
        layout = h5py.VirtualLayout(shape=(4,), dtype="i4")
        layout[:] = h5py.VirtualSource(str(tmp_path / "o.h5"), "x", shape=(4,))
        file.create_virtual_dataset("away", layout)
        file["here"] = np.arange(4)
    with pytest.warns(rx.errors.LeftOutWarning):
        (row,) = rx.open_references(tmp_path / "v.h5").source.left_out
    assert (row.name, "virtual dataset" in row.reason) == ("away", True)


def test_variables_of_dmrpp_are_left_out_alike(tmp_path: Path) -> None:
    (tmp_path / "f.dmrpp").write_text(DMRPP)
    with pytest.warns(rx.errors.LeftOutWarning):
        refs = rx.open_references(tmp_path / "f.dmrpp")
    (row,) = refs.source.left_out
    assert (row.name, row.kind) == ("bad", "object")
    assert "strings vary in length" in row.reason
    assert [each.code for each in refs.diagnostics].count("left-out") == 1
