"""Inputs after public reports: commands, Python, explorer and saved page tell the same truth."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.views.explorer.explorer_controller import ExplorerController
from refexplorer.views.saved.recording import record
from tests.helpers.commands import run
from tests.helpers.explorer import Host
from tests.helpers.real_sets import ROOT, needs_sets
from tests.helpers.replaying import Replays

FIELD = ROOT.parent / "field"


class Case(NamedTuple):
    form: str
    values: dict[str, list[Any]]  # The first values of arrays, as the file's own library has them
    codes: frozenset[str] = frozenset()  # Findings that must be there
    absent: frozenset[str] = frozenset()  # Those that would be false
    left_out: str = ""  # An object that has no references


INTEGERS = [0, 1, 2, 3]
ACCENTS = frozenset({"suspicious-characters"})
FILLS = frozenset({"fill-value-ignored", "fill-value-masks"})
CASES = {
    "published-shapes/dmrpp-zero-is-data.dmrpp": Case("DMR++", {"x": INTEGERS}, absent=FILLS),
    "published-shapes/dmrpp-compact-beside-chunks.dmrpp": Case("DMR++", {"x": INTEGERS}),
    "published-shapes/dmrpp-https-namespace.dmrpp": Case("DMR++", {"x": INTEGERS}),
    "published-shapes/dmrpp-chunk-without-chunks.dmrpp": Case("DMR++", {"x": INTEGERS}),
    "published-shapes/dmrpp-accent.dmrpp": Case("DMR++", {"x": INTEGERS}, absent=ACCENTS),
    "published-shapes/float32-fill-digits.json": Case("V1", {}, absent=FILLS),
    "published-shapes/fill-value-is-missing-value.json": Case("V1", {}, absent=FILLS),
    "published-shapes/fill-value-not-a-flag.json": Case("V1", {}, absent=FILLS),
    "published-shapes/codec-gribberish.json": Case("V1", {}, frozenset({"codec-not-installed"})),
    "published-shapes/stac-item-holds-references.json": Case("STAC", {}),
    "published-shapes/root-array-geotiff.json": Case("V0", {}, frozenset({"root-array"})),
    "published-shapes/fletcher32.h5": Case("data file", {"x": []}),
    "parquet-missing/refs.parq": Case("parquet", {"flux": [1, 2, 3, 4]}),
    "parquet-missing/lostvar.json": Case("V1", {}),
    "parq-zip/combined-ref.parq.zip": Case("parquet", {"flux": [1, 2, 3, 4]}),
    "packed-fill/packed.nc": Case("data file", {}),
    "phony-dims/cal.h5": Case("data file", {}),
    "group-dims/grid.h5": Case("data file", {}),
    "filter-mask/mixed.h5": Case("data file", {}),
    "compound-vlen/gedi.h5": Case("data file", {}, left_out="model_data"),
    "grib-layers/t1.grib2": Case("data file", {}),
    "grib-submessage/wind.grib2": Case("data file", {}),
    "grib-dims/sq.grib2": Case("data file", {}),
    "fits-table/spec.fits": Case("data file", {}),
    "tiff-bands/bands.tif": Case("data file", {}),
    "tiff-strips/rain.tif": Case("data file", {}),
    "cog/dem.tif": Case("data file", {}),
    "v3-lzw/refs.json": Case("V1", {}),
}


UNOPENED = {
    "published-shapes/root-array-geotiff.json": "refs.to_zarr() opens it",
    "tiff-bands/bands.tif": "refs.to_zarr() opens it",
    "tiff-strips/rain.tif": "refs.to_zarr() opens it",
    "published-shapes/codec-gribberish.json": "`pip install gribberish`",
    "phony-dims/cal.h5": "refs.to_xarray(group='gt1l') opens one",
    "group-dims/grid.h5": "refs.to_xarray(group='Grid') opens one",
    "v3-lzw/refs.json": "installed for Zarr v2 only",
}


def opened(path: Path) -> rx.ReferenceSet:
    with warnings.catch_warnings():  # of variables that are left out, which is tested below
        warnings.simplefilter("ignore", rx.errors.LeftOutWarning)
        return rx.open_references(path).allowing(str(path.parent))


def state_of(refs: rx.ReferenceSet, array: str, index: tuple[int, ...]) -> str:
    try:
        return str(refs.chunk(array, index).state)
    except rx.errors.AccessError:
        return "ask"
    except rx.RefexplorerError:
        return "failed"


@needs_sets
@pytest.mark.skipif(not FIELD.is_dir(), reason="the inputs of reports lie elsewhere")
@pytest.mark.parametrize("name", CASES)
def test_each_place_says_the_same(name: str, replays: Replays) -> None:
    case, path = CASES[name], FIELD / name
    folder = str(path.parent)
    refs = opened(path)
    assert refs.source.form == case.form
    # Python
    findings = {each.code for each in refs.diagnostics}
    assert case.codes <= findings
    assert not case.absent & findings
    assert case.left_out in ("", *(each.name for each in refs.source.left_out))
    for array, expected in case.values.items():
        assert np.asarray(refs.read(array)).reshape(-1)[: len(expected)].tolist() == expected
    # the command line
    ran = run("check", path, "--json")
    assert (case.left_out in ran.err) if case.left_out else (ran.err == "")
    assert {each["code"] for each in json.loads(ran.out)["findings"]} == findings
    told = run("info", path)
    has_errors = any(each.severity == "error" for each in refs.diagnostics)
    assert told.status == has_errors
    assert bool(told.err) == bool(case.left_out)
    assert f"form\t{case.form}" in told.out
    # the explorer
    host = Host(refs)
    hello = host.ask("hello")
    assert hello["form"] == case.form
    assert {each["code"] for each in hello["notes"] or ()} == findings
    for array in refs.arrays()[:8]:
        index = (0,) * len(refs.array(array).shape)
        reading, _ = host.read(array, [*index])
        assert reading["state"] == state_of(refs, array, index), reading
    # a saved page
    controller = ExplorerController(refs, allow=[folder], served=True, at_once=True)
    packed = record(controller, read=[], check_targets=False, keys=200).packed({"reports": []})
    ((saved, _),) = replays("explorer", packed, [{"op": "hello"}])
    assert saved["form"] == case.form
    assert {each["code"] for each in saved["notes"]} == findings
    assert saved["arrays"] == hello["arrays"]


@needs_sets
@pytest.mark.skipif(not FIELD.is_dir(), reason="the inputs of reports lie elsewhere")
@pytest.mark.parametrize("name", CASES)
def test_xarray_opens_it_or_one_sentence_says_why(name: str) -> None:
    path = FIELD / name
    refs = opened(path)
    with warnings.catch_warnings():  # of what may not be read, or is left out
        warnings.simplefilter("ignore", rx.errors.LeftOutWarning)
        try:
            dataset = refs.to_xarray()
        except rx.errors.DecodeError as error:
            why = str(error)
        else:
            why = ""
    assert UNOPENED.get(name, "") in why
    assert bool(why) == (name in UNOPENED)
    if why:
        return
    at_root = {array for array in refs.arrays() if "/" not in array}
    assert {str(each) for each in dataset.variables} >= at_root
