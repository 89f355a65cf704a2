"""Sound sets, in all the ways in which they are made: no verb may find an error or a warning."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.commands import run
from tests.helpers.file_sets import netcdf3_set, tiff_set, zarr_set
from tests.helpers.planted import findings
from tests.helpers.planted_sets import SETS, name_of, write_set
from tests.helpers.real_sets import ROOT, needs_sets
from tests.helpers.verifying import virtualised

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of eccodes and cfgrib
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
VERBS = ["check", "check --targets", "audit --decode all", "verify", "verify --values all"]
SAME = "the same as its files"
SOUND = [*SETS, "in parquet"]
PUBLISHED = {
    "cmip6-two-templates/kc1-manual-templated.json": set(),
    "cmip6-zstd/index.zstd": set(),
    "gdal-v0-min/ref.json": {"bad-dtype"},
    "goes-single": set(),
    "grib-gfs-tree-gz/zarr_tree_store.json.gz": {"array-without-references"},
    "its-live/its_live_catalog.json": set(),
    "netcdf3-kc1/kc1.json": set(),
    "padocc-3dagg/1.1a.json": {"fill-value-masks"},
    "parquet-esacci24/esacci24": set(),
    "parquet-pythia-wrf/combined.parq": set(),
    "pythia-arg-wrf/ARG_combined.json": set(),
    "pythia-radar/RADAR.json": set(),
}  # fmt: skip
"""Published sets and what may be said of them: values that are masked, `>u1`, 49 arrays
that have lost their references."""
WITH_FILES = ["tool-netcdf4-air/refs.json", "tool-tiff-tifffile/refs.json",
              "tool-zarr-v3/refs.json", "tool-netcdf4-air/air.nc",
              "tool-tiff-tifffile/lcmap_tiny_cog_2019.tif"]  # fmt: skip


def grave(source: Path, verb: str) -> list[tuple[str, str]]:
    """Return errors and warnings that a verb finds in a set, of which it says that it is good."""
    name, *options = verb.split()
    ran = run(name, source, *options, "--json")
    assert (ran.status, ran.err) == (0, ""), run(name, source, *options)
    if name == "audit":
        return []  # its status says it
    return [
        (finding.get("code", ""), finding["severity"])
        for finding in findings(ran)
        if finding["severity"] in ("error", "warning")
    ]


def is_same(source: Path) -> None:
    for verb in VERBS:
        assert grave(source, verb) == [], verb
    ran = run("verify", source)
    assert ran.out.splitlines()[0].startswith(f"{source.name}: {SAME}")


@pytest.mark.parametrize("name", SOUND)
def test_joined_sets(sound: Callable[[str], Path], name: str) -> None:
    is_same(sound(name))


@pytest.mark.parametrize("loadable", [[], ["time", "lat", "lon"]], ids=["referenced", "inline"])
def test_sets_of_virtualizarr(
    sound: Callable[[str], Path], tmp_path: Path, loadable: list[str]
) -> None:
    folder = sound("joined").parent
    files = [folder / name_of(number) for number in range(5)]
    is_same(virtualised(files, folder / f"{len(loadable)}.json", loadable_variables=loadable))


@pytest.mark.parametrize("name", ["f0.nc", "f3.nc"])
def test_a_file_opened_directly(sound: Callable[[str], Path], name: str) -> None:
    """Of the fourth a chunk was never written."""
    is_same(sound("joined").parent / name)


@pytest.mark.parametrize("shape", ["strips", "tiles", "colours", "pages", "big-endian"])
def test_tiff(tmp_path: Path, shape: str) -> None:
    is_same(write_set(tiff_set(tmp_path, shape), tmp_path))
    is_same(tmp_path / f"{shape}.tif")


@pytest.mark.parametrize("inline", [0, 30])
def test_netcdf3(tmp_path: Path, inline: int) -> None:
    is_same(write_set(netcdf3_set(tmp_path, inline), tmp_path))
    is_same(tmp_path / "0.nc")


@pytest.mark.parametrize("version", [2, 3])
def test_chunks_of_zarr(tmp_path: Path, version: Any) -> None:
    is_same(write_set(zarr_set(tmp_path, version)[0], tmp_path))


@needs_sets
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_sets(name: str) -> None:
    path = ROOT / name
    source = next(path.glob("*.json")) if name == "goes-single" else path
    found = grave(source, "check")
    assert {code for code, _ in found} <= PUBLISHED[name]
    assert {severity for _, severity in found} <= {"warning"}


@needs_sets
@pytest.mark.parametrize("name", WITH_FILES)
def test_published_sets_with_their_files(name: str) -> None:
    is_same(ROOT / name)


def test_a_set_that_refers_to_no_file(sound: Callable[[str], Path], tmp_path: Path) -> None:
    document = json.loads(sound("of kerchunk").read_text())
    held = {key: ref for key, ref in document["refs"].items() if isinstance(ref, str)}
    chunks = {key.rpartition("/")[0] for key in held if not key.rpartition("/")[2].startswith(".")}
    kept = {key: ref for key, ref in held.items() if key.rpartition("/")[0] in {"", *chunks}}
    for verb in VERBS:
        assert grave(write_set(document | {"refs": kept}, tmp_path), verb) == []
