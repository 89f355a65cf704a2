"""Files in netCDF4 with their sets, as kerchunk and VirtualiZarr write them."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.checks.engine import Manner, run
from refexplorer.checks.look.files import FilesLook
from refexplorer.checks.report import Report
from refexplorer.checks.sorting import PlanSizes
from refexplorer.checks.states import CHUNK_TERMS, LedgerState, Rank
from refexplorer.checks.terms import CheckTerms, ReadTerms
from refexplorer.refset.opened_set import internals
from tests.helpers.kerchunk_sets import concatenated, made_once, translated

STEPS = 6
"""Times of a file."""
FILES = 3
_PACKED = {
    "dtype": "i2", "scale_factor": 0.1, "add_offset": 273.0, "_FillValue": np.int16(-999),
    "chunksizes": (3, 4, 8), "zlib": True, "shuffle": True,
}  # fmt: skip


def n_with(found: Report, *ranks: Rank) -> int:
    """Return how many chunks have one of some ranks in the ledger."""
    counts = found.ledger.all_counts().items()
    return sum(n for state, n in counts if CHUNK_TERMS[state].rank in ranks)


def n_unread(found: Report) -> int:
    """Return how many chunks are known to have references or values, and were not compared."""
    found_states = found.ledger.all_counts()
    return sum(
        found_states[state]
        for state in (LedgerState.REFERENCED, LedgerState.NOT_ALLOWED, LedgerState.UNREAD_FILE,
                      LedgerState.UNCOVERED, LedgerState.HELD)
    )  # fmt: skip


_WRITTEN: dict[str, bytes] = {}
"""What was written before: xarray takes a twentieth of a second for each file."""


def write_netcdf(path: Path, number: int, change: Mapping[str, Any] | None = None) -> Path:
    """Write one file of six days: a packed and compressed variable, and a plain one.

    Parameters
    ----------
    number
        Of the file; its times follow those of the one before.
    change
        What is otherwise in the encoding of ``foo``; ``"units"`` is an attribute; ``"start"`` the
        first day, and ``"since"`` the day that times are counted from.
    """
    name = repr((number, change or {}))
    if name not in _WRITTEN:
        _write_netcdf(path, number, dict(change or {}))
        _WRITTEN[name] = path.read_bytes()
    path.write_bytes(_WRITTEN[name])
    return path


def _write_netcdf(path: Path, number: int, change: dict[str, Any]) -> None:
    import xarray as xr

    chance = np.random.default_rng(number)
    start = change.pop("start", STEPS * number)
    units = change.pop("units", "K")
    since = change.pop("since", "1999-12-31")
    sizes = {"time": STEPS, "lat": 8, "lon": 16}
    days = np.datetime64("2000-01-01") + np.arange(start, start + STEPS)
    foo = np.round(chance.normal(280, 5, tuple(sizes.values())), 1)
    foo[0, 0, 0] = np.nan
    data = xr.Dataset(
        {
            "foo": (tuple(sizes), foo, {"units": units}),
            "bar": (tuple(sizes), chance.normal(5, 1, foo.shape).astype("f4")),
        },
        {
            "time": days.astype("M8[ns]"),
            "lat": ("lat", np.linspace(-70, 70, 8), {"units": "degrees_north"}),
            "lon": ("lon", np.linspace(0, 337.5, 16)),
        },
    )
    encoding: dict[str, Any] = {
        "foo": _PACKED | change,
        "bar": {"_FillValue": None},
        "time": {"units": f"days since {since}", "dtype": "i4"},
    }
    data.to_netcdf(path, engine="h5netcdf", encoding=encoding)


def write_files(folder: Path, changes: Mapping[int, Any] | None = None) -> list[Path]:
    """Write `FILES` files; `changes` are those of single files."""
    names = (folder / f"o_{number:04d}.nc" for number in range(FILES))
    found = changes or {}
    return [write_netcdf(path, number, found.get(number)) for number, path in enumerate(names)]


def write_files_with_own_epochs(folder: Path) -> list[Path]:
    """Write files each of which counts its times from a day of its own."""
    days = (f"1999-12-{31 - number:02d}" for number in range(FILES))
    return write_files(folder, {number: {"since": day} for number, day in enumerate(days)})


def joined(paths: list[Path], inline: int = 0, **options: Any) -> dict[str, Any]:
    """Return what kerchunk makes of several files, concatenated in time."""
    options = {"concat_dims": ["time"], "identical_dims": ["lat", "lon"]} | options

    def make() -> dict[str, Any]:
        singles = [translated(path, inline) for path in paths]
        return concatenated(singles, inline_threshold=inline, **options)

    return made_once(make, paths, inline, options)


def virtualised(paths: list[Path], target: Path, **options: Any) -> Path:
    """Write what VirtualiZarr makes of several files as kerchunk JSON."""
    virtualizarr = pytest.importorskip("virtualizarr")
    parsers = pytest.importorskip("virtualizarr.parsers")
    registry = pytest.importorskip("obspec_utils.registry").ObjectStoreRegistry(
        {"file://": pytest.importorskip("obstore.store").LocalStore()}
    )
    urls = [f"file://{path}" for path in paths]
    common = {"registry": registry, "parser": parsers.HDFParser()} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # codecs that Zarr v3 does not know, which it passes on
        if len(urls) == 1:
            data = virtualizarr.open_virtual_dataset(urls[0], **common)
        else:
            data = virtualizarr.open_virtual_mfdataset(
                urls, combine="nested", concat_dim="time", coords="minimal", compat="override",
                data_vars="minimal", **common,
            )  # fmt: skip
        data.vz.to_kerchunk(str(target), format="json")
    return target


def verified(source: Any, folder: Path, **options: Any) -> Report:
    """Open a set and verify it; files below a folder may be read."""
    return rx.open_references(source).allowing(f"file://{folder}").verify(**options)


ONE_FILE = PlanSizes(part_cost=1_000, asking_cost=1_000)
"""A part for each file."""


def verified_in_parts(
    source: Any, folder: Path, *, sizes: PlanSizes = ONE_FILE, values: str = "none", **manner: Any
) -> Report:
    """`verified`, of parts that are small."""
    refs = rx.open_references(source)
    inside = internals(refs)
    verb = "verify" if values == "none" else "verify --values"
    terms = CheckTerms.of_verb(verb, manner.pop("only", None), manner.pop("within", None))
    allow = (f"file://{folder}",)
    reading = ReadTerms(refs.source.location, allow, refs.limits, {}).of(refs.source)
    look, how = FilesLook(inside.opened, reading, terms, values), Manner(**manner, sizes=sizes)
    name = refs.source.name
    return run(name, inside.opened, inside.findings, reading, terms, look, how)


def codes(found: Report) -> set[tuple[str, str]]:
    """Return the causes and arrays of all findings."""
    return {(each.code, each.array) for each in found.findings}


class Changed:
    """A set with a mistake made in it.

    Parameters
    ----------
    document
        As kerchunk has it; it is copied.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = copy.deepcopy(document)
        self.refs: dict[str, Any] = self.document["refs"]

    def metadata(self, key: str, **changes: Any) -> None:
        """Change fields of a metadata key; None removes one."""
        text = self.refs[key]
        found = (json.loads(text) if isinstance(text, str) else dict(text)) | changes
        kept = {name: value for name, value in found.items() if value is not ...}
        self.refs[key] = json.dumps(kept)


def joined_by_hand(singles: list[dict[str, Any]]) -> dict[str, Any]:
    """Join files by hand, the metadata from the first one."""
    refs = copy.deepcopy(singles[0])
    for number, other in enumerate(singles):
        for key, ref in other.items():
            name, _, index = key.rpartition("/")
            if name in ("foo", "bar", "time") and not index.startswith("."):
                first, *rest = index.split(".")
                step = 2 if name == "foo" else 1
                refs[f"{name}/{'.'.join([str(int(first) + step * number), *rest])}"] = ref
    mine = Changed({"version": 1, "refs": refs})
    for name, shape in (("foo", [8, 16]), ("bar", [8, 16]), ("time", [])):
        mine.metadata(f"{name}/.zarray", shape=[STEPS * len(singles), *shape])
    return mine.document
