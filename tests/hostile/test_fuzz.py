"""A short run of the fuzzer; `python -m tests.hostile.fuzz` is the long one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import refexplorer as rx
from refexplorer.formats.forms import FORMS, LAST
from refexplorer.formats.source import Source, SourceForm
from tests.hostile.fuzz import Fuzzer, damaged, fuzzer
from tests.hostile.seeds import SEEDS

pytestmark = pytest.mark.child
CASES = 8
FOUND = [
    ("hdf5", 77), ("hdf5", 130), ("netcdf3_64", 72), ("zarr_3", 2151), ("parquet", 2190),
    ("tiff_stack", 2321),
]  # fmt: skip
"""Cases of long runs that showed a fault, which was mended."""
NEEDED = {
    "netcdf4": "netCDF4", "netcdf3": "netCDF4", "netcdf3_64": "netCDF4", "fits": "astropy",
    "grib": "eccodes", "icechunk": "icechunk",
}  # fmt: skip


@pytest.fixture(scope="module")
def tried() -> Iterator[Fuzzer]:
    with fuzzer() as made:
        yield made


@pytest.mark.parametrize("form", SEEDS)
def test_damaged_files(form: str, tried: Fuzzer) -> None:
    if form in NEEDED:
        pytest.importorskip(NEEDED[form], reason=f"{NEEDED[form]} is not installed")
    faults = [tried.fault(form, seed) for seed in range(CASES)]
    assert not list(filter(None, faults))


def test_every_form_of_files_has_a_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A form that no seed opens is fuzzed by nobody: write one in `seeds.py`."""
    pytest.importorskip("icechunk", reason="icechunk is not installed")
    answered = set[str]()

    def watch(form: SourceForm, name: str) -> None:
        ask = getattr(form, name)

        def watched(*given: Any) -> Source | None:
            found: Source | None = ask(*given)
            answered.update([form.name] if found is not None else [])
            return found

        monkeypatch.setattr(form, name, watched)

    for form in (*FORMS, LAST):
        watch(form, "of_file")
        watch(form, "of_folder")
    for name, write in SEEDS.items():
        folder = tmp_path / name
        folder.mkdir()
        with suppress(ImportError, rx.RefexplorerError):
            rx.open_references(folder / write(folder))
    # objects alone, and documents of this machine, which are opened without asking each form
    unasked = {"VirtualiZarr", "JSON"}
    assert answered == {form.name for form in (*FORMS, LAST)} - unasked


@pytest.mark.parametrize(("form", "seed"), FOUND)
def test_cases_that_showed_a_fault(form: str, seed: int, tried: Fuzzer) -> None:
    if form in NEEDED:
        pytest.importorskip(NEEDED[form], reason=f"{NEEDED[form]} is not installed")
    assert tried.fault(form, seed) is None


def test_sound_files_have_the_values_of_their_library(tmp_path: Path, tried: Fuzzer) -> None:
    path = tmp_path / SEEDS["hdf5"](tmp_path)
    ours = tried.ours.ask(form="hdf5", path=str(path), library=False)["values"]
    assert ours == tried.library.ask(form="hdf5", path=str(path), library=True)["values"]
    assert len(ours) == 3


def test_a_case_is_the_same_in_each_run(tried: Fuzzer) -> None:
    first = tried.case("json_v1", 3).read_bytes()
    assert tried.case("json_v1", 3).read_bytes() == first
    assert tried.case("json_v1", 4).read_bytes() != first


def test_nothing_is_left_of_a_file(tried: Fuzzer) -> None:
    import random

    assert all(isinstance(damaged(b"", random.Random(seed)), bytes) for seed in range(9))
