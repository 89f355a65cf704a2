"""Faults that were seen in published files and by trial, each as small as it gets.

Answers are those of h5py, netCDF4,
cfgrib, tifffile and astropy; the headline is the first line of `verify`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

from tests.helpers.cells import cells_of_set
from tests.helpers.commands import Run, run
from tests.helpers.kerchunk_sets import concatenated, translated
from tests.helpers.planted import Case, drop, findings, put, replace
from tests.helpers.planted_sets import write_set

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of eccodes and cfgrib
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:The following exception was caught:UserWarning"),
]
SAME = "the same as its files"


def headline(ran: Run) -> str:
    return ran.out.splitlines()[0].partition(": ")[2]


def coverage(ran: Run) -> str:
    (line,) = [line for line in ran.out.splitlines() if line.strip().startswith("Read: ")]
    return line.strip()


def is_named(ran: Run, *words: str) -> None:
    """Expect exit status 1, and words in what is printed."""
    assert ran.status == 1, ran.out
    assert [word for word in words if word not in ran.out] == []


def converted(source: Path) -> dict[str, Any]:
    """Return the references that a data file becomes."""
    target = source.with_suffix(".refs.json")
    ran = run("convert", source, target, "--to", "v0")
    assert ran.status == ("left out" in ran.err), ran.err
    found: dict[str, Any] = json.loads(target.read_text())
    return found


def values(refs: dict[str, Any], folder: Path, name: str) -> np.ndarray | None:
    """Return what a set reads in an array, None if it cannot."""
    found = cells_of_set({key: ref for key, ref in refs.items() if key.startswith(name)}, folder)
    return found[name].values if name in found and found[name].readable.all() else None


def is_read_or_named(source: Path, name: str, right: Any) -> None:
    """Expect of a file opened directly that a dataset reads as its library has it, or is named."""
    mine = values(converted(source), source.parent, name)
    ran = run("verify", source, "--values", "all")
    assert ran.err == ""
    if mine is not None and np.array_equal(mine, right):
        assert ran.status == 0
    else:
        is_named(ran, f"`{name}`")
        is_named(run("check", source), f"`{name}`")
        assert re.search(r"left out.*[1-9]", run("info", source).out)


def has_chunk(refs: dict[str, Any], name: str) -> bool:
    return any(key.startswith(f"{name}/") and "/." not in key for key in refs)


# Datasets that have no byte range


def compact(file: h5py.File, name: str = "v") -> None:
    layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    layout.set_layout(h5py.h5d.COMPACT)
    space, kind = h5py.h5s.create_simple((4,)), h5py.h5t.py_create(np.dtype("f8"))
    made = h5py.Dataset(h5py.h5d.create(file.id, name.encode(), kind, space, layout))
    made[...] = [1, 2, 3, 4]


def virtual(file: h5py.File, name: str = "v") -> None:
    layout = h5py.VirtualLayout((4,), "f8")
    layout[:] = h5py.VirtualSource(file["x"])
    file.create_virtual_dataset(name, layout)


def text(file: h5py.File, name: str = "v") -> None:
    file.create_dataset(name, data="a scalar text", dtype=h5py.string_dtype())


def checksummed(file: h5py.File, name: str = "v") -> None:
    file.create_dataset(name, data=np.arange(1.0, 2049), chunks=(1024,), fletcher32=True)


def scaled(file: h5py.File, name: str = "v") -> None:
    file.create_dataset(name, data=np.arange(1, 2049), chunks=(1024,), scaleoffset=0)


def records(file: h5py.File, name: str = "v") -> None:
    kind = [("id", "<i4"), ("name", h5py.string_dtype())]
    file.create_dataset(name, data=np.array([(1, "a"), (2, "b")], dtype=kind))


def unfiltered(file: h5py.File, name: str = "v") -> None:
    """HDF5 stores chunks that do not shrink without their filters."""
    data = file.create_dataset(name, (24,), "<i4", chunks=(8,), compression="gzip", shuffle=True)
    data[:] = np.arange(1, 25)
    plain = np.arange(17, 25, dtype="<i4").tobytes()
    data.id.write_direct_chunk((16,), plain, filter_mask=3)


def written(folder: Path, make: Callable[[h5py.File], None]) -> Path:
    path = folder / "a.h5"
    with h5py.File(path, "w", libver="latest") as file:
        file["x"] = np.arange(1.0, 5)
        make(file)
    return path


@pytest.mark.parametrize("make", [compact, checksummed, scaled, unfiltered])
def test_a_dataset_of_a_file_opened_directly(
    tmp_path: Path, make: Callable[[h5py.File], None]
) -> None:
    path = written(tmp_path, make)
    with h5py.File(path) as file:
        right = file["v"][()]
    is_read_or_named(path, "v", right)


@pytest.mark.parametrize("make", [text, records])
def test_text_of_a_file_opened_directly(tmp_path: Path, make: Callable[[h5py.File], None]) -> None:
    """The text is in the set, or it is said that it is not."""
    path = written(tmp_path, make)
    refs = converted(path)
    ran = run("verify", path)
    if not has_chunk(refs, "v"):
        is_named(ran, "`v`")
        assert headline(ran).startswith("incomplete: ")
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("make", [compact, text, virtual])
def test_a_dataset_without_reference_in_a_set_of_kerchunk(
    tmp_path: Path, make: Callable[[h5py.File], None]
) -> None:
    """Its metadata are in the set; it reads as the fill value."""
    path = written(tmp_path, make)
    source = write_set(translated(path), tmp_path)
    assert "v/.zarray" in json.loads(source.read_text())["refs"]
    is_named(run("verify", source), "`v`", "v/0" if make is compact else "`v`", "a.h5")


@pytest.mark.parametrize("is_marked", [True, False])
@pytest.mark.parametrize("kind", ["f4", "i4"])
def test_a_chunk_that_was_never_written_and_reads_as_missing_only_in_the_set(
    tmp_path: Path, kind: str, is_marked: bool
) -> None:
    """HDF5's fill value is 0; kerchunk fills with `_FillValue`, or with a 0 that xarray masks."""

    def make(file: h5py.File) -> None:
        data = file.create_dataset("v", (8,), kind, chunks=(4,))
        data[:4] = [1, 2, 3, 4]
        if is_marked:
            data.attrs["_FillValue"] = np.array(-999, kind)

    path = written(tmp_path, make)
    document = translated(path)
    read = values(document["refs"], tmp_path, "v")
    with h5py.File(path) as file:
        assert np.array_equal(file["v"][4:], np.zeros(4))
    assert read is not None
    assert np.isnan(read[4:]).all()
    ran = run("verify", write_set(document, tmp_path))
    if is_marked:
        is_named(ran, "`v`", "fills missing chunks with a different value", "-999")
    else:
        assert (ran.status, headline(ran)) == (0, SAME)
        assert "chunks never written, equal to 0" in ran.out


def test_a_netcdf_variable_shorter_than_its_unlimited_dimension(tmp_path: Path) -> None:
    """The set has its full length, as netCDF4 reads it."""
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("t", None)
        for name in ("v", "w"):
            file.createVariable(name, "f4", ("t",), fill_value=False, chunksizes=(1,))
        file["v"][:] = [1, 2, 3]
        file["w"][:2] = [1, 2]
    assert json.loads(converted(path)["w/.zarray"])["shape"] == [3]
    ran = run("verify", path)
    assert (ran.status, headline(ran)) == (0, SAME), ran.out


def never_filled(file: h5py.File) -> None:
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((4,))
    plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    plist.set_fill_value(np.array(7, "i4"))
    space = h5py.h5s.create_simple((8,))
    h5py.h5d.create(file.id, b"v", h5py.h5t.STD_I32LE, space, plist)
    file["v"][:4] = 1


def times(file: h5py.File) -> None:
    stored = np.array(["2000-01-01", "NaT"], "M8[s]")
    file["v"] = stored.astype(h5py.opaque_dtype(stored.dtype))


def complex_nan(file: h5py.File) -> None:
    file["v"] = np.array([1 + 2j, np.nan])


def records_nan(file: h5py.File) -> None:
    file["v"] = np.array([(1, np.nan), (2, 3.0)], [("a", "<i4"), ("b", "<f8")])


@pytest.mark.parametrize("make", [never_filled, times, complex_nan, records_nan])
def test_values_equal_to_themselves(tmp_path: Path, make: Callable[[h5py.File], None]) -> None:
    """NaN equals NaN; HDF5 reads chunks without fill value from memory that nobody wrote."""
    ran = run("verify", written(tmp_path, make), "--values", "all")
    assert (ran.status, headline(ran)) == (0, SAME), ran.out


def test_values_that_are_arrays_are_no_damage(tmp_path: Path) -> None:
    path = written(tmp_path, lambda file: file.create_dataset("v", (2,), np.dtype(("f4", (3,)))))
    ran = run("verify", path)
    is_named(ran, "`v`", "Each value of v is an array, which Zarr has no data type for")
    assert headline(ran).startswith("incomplete: ")


@pytest.mark.parametrize("make", [checksummed, records])
def test_what_kerchunk_drops_is_not_in_the_set(
    tmp_path: Path, make: Callable[[h5py.File], None]
) -> None:
    path = written(tmp_path, make)
    with h5py.File(path) as file:
        document = translated(path)
        assert set(file) == {"x", "v"}
    document["refs"] = {key: ref for key, ref in document["refs"].items() if key[:2] != "v/"}
    ran = run("verify", write_set(document, tmp_path))
    assert (ran.status, headline(ran)) == (
        0,
        f"{SAME} in 1 of 2 variables; others are not in it",
    )
    assert "`v`" in ran.out


def test_a_dataset_of_each_kind_is_accounted_for(tmp_path: Path) -> None:
    """No dataset is dropped silently, and no log line of another package is printed."""
    path = tmp_path / "nine.h5"
    makers = [compact, text, checksummed, scaled, records, unfiltered]
    with h5py.File(path, "w", libver="latest") as file:
        file["plain"] = np.arange(1.0, 5)
        file["texts"] = np.array([b"ab", b"cd"])
        file.create_dataset("gzip", data=np.arange(1.0, 9), compression="gzip")
        for make in makers:
            make(file, make.__name__)
    refs, ran = converted(path), run("verify", path)
    assert "kerchunk" not in ran.err
    assert "Traceback" not in ran.err
    with h5py.File(path) as file:
        for name, data in file.items():
            if f"`{name}`" in ran.out:
                continue
            if name in ("text", "texts", "records"):
                assert has_chunk(refs, name), name
            else:
                mine = values(refs, tmp_path, name)
                assert mine is not None, name
                assert np.array_equal(mine, data[()]), name
    assert "9 datasets" in coverage(ran) or "9 variables" in coverage(ran)


@pytest.mark.parametrize("inline", [0, 500])
def test_chunks_stored_without_their_filters(tmp_path: Path, inline: int) -> None:
    """As a byte range, a chunk that the set cannot decode."""
    path = written(tmp_path, unfiltered)
    refs = translated(path)["refs"]
    with h5py.File(path) as file:
        chunk = file["v"].id.get_chunk_info(2)
    refs["v/2"] = [str(path), chunk.byte_offset, chunk.size]
    is_named(run("verify", write_set(refs, tmp_path)), "`v`", "a.h5")


def test_an_inline_chunk_that_cannot_be_decoded(tmp_path: Path) -> None:
    """Kerchunk inlines the chunk that was stored without filters."""
    path = written(tmp_path, unfiltered)
    source = write_set(translated(path), tmp_path)
    is_named(run("verify", source), "`v`", "v/2")
    is_named(run("check", source), "`v`", "v/2")


@pytest.mark.parametrize("verb", ["verify", "repair"])
def test_a_set_that_is_rightly_without_filters(tmp_path: Path, verb: str) -> None:
    """HDF5 stored every chunk without its filters, so the set has none."""
    path, right = tmp_path / "a.h5", np.arange(1, 17, dtype="<i4")
    with h5py.File(path, "w", libver="latest") as file:
        data = file.create_dataset("v", (16,), "<i4", chunks=(8,), compression="gzip")
        for start in (0, 8):
            data.id.write_direct_chunk((start,), right[start : start + 8].tobytes(), filter_mask=1)
        chunks = [data.id.get_chunk_info(number) for number in range(2)]
        assert np.array_equal(data[()], right)
    array = {"zarr_format": 2, "shape": [16], "chunks": [8], "dtype": "<i4", "order": "C",
             "compressor": None, "filters": None, "fill_value": 0}  # fmt: skip
    refs: dict[str, Any] = {".zgroup": '{"zarr_format":2}', "v/.zarray": json.dumps(array)}
    refs["v/.zattrs"] = json.dumps({"_ARRAY_DIMENSIONS": ["x"]})
    refs |= {f"v/{n}": [str(path), each.byte_offset, each.size] for n, each in enumerate(chunks)}
    source, target = write_set(refs, tmp_path), tmp_path / "repaired.json"
    if verb == "verify":
        assert run("verify", source, "--values", "all").status == 0
    else:
        run("repair", source, "--to", "v0", "-o", target)
        after = json.loads((target if target.exists() else source).read_text())
        mine = values(after, tmp_path, "v")
        assert mine is not None
        assert np.array_equal(mine, right)


# What a set leaves out


def sparse(folder: Path) -> dict[str, Any]:
    """Return what kerchunk makes of a file of which five of eight chunks were never written."""
    path = folder / "sparse.nc"
    with h5py.File(path, "w") as file:
        data = file.create_dataset("flux", (4, 4), "f4", chunks=(1, 2), fillvalue=np.float32(-999))
        data.attrs["_FillValue"] = np.float32(-999)
        data[0], data[2, 2:] = [1, 2, 3, 4], [7, 8]
        for axis, name in enumerate(("t", "x")):
            scale = file.create_dataset(name, data=np.arange(1, 5, dtype="f4"))
            scale.make_scale(name)
            data.dims[axis].attach_scale(scale)
    refs: dict[str, Any] = translated(path)["refs"]
    return refs


def test_chunks_that_were_never_written(tmp_path: Path) -> None:
    frames = pytest.importorskip("kerchunk.df")
    refs = sparse(tmp_path)
    frames.refs_to_dataframe(refs, str(tmp_path / "set.parq"), record_size=3)
    for source in (write_set(refs, tmp_path), tmp_path / "set.parq", tmp_path / "sparse.nc"):
        ran = run("verify", source, "--values", "all")
        assert (ran.status, headline(ran)) == (0, SAME)


def test_chunks_that_were_written_and_are_lost(tmp_path: Path) -> None:
    refs = sparse(tmp_path)
    one = {key: ref for key, ref in refs.items() if key != "flux/0.0"}
    is_named(run("verify", write_set(one, tmp_path)), "`flux`", "flux/0.0", "sparse.nc")
    none = {key: ref for key, ref in refs.items() if not key.startswith("flux/0")}
    is_named(run("verify", write_set(none, tmp_path)), "`flux`", "flux/0.0", "sparse.nc")


def test_a_variable_that_the_set_leaves_out(tmp_path: Path) -> None:
    """That may be on purpose: the headline says it, and the status is 0."""
    kept = {key: ref for key, ref in sparse(tmp_path).items() if not key.startswith("flux/")}
    ran = run("verify", write_set(kept, tmp_path))
    assert (ran.status, headline(ran)) == (
        0,
        f"{SAME} in 2 of 3 variables; others are not in it",
    )
    assert "`flux`" in ran.out


def test_only_coordinates_are_left_out(tmp_path: Path) -> None:
    kept = {key: ref for key, ref in sparse(tmp_path).items() if key[:2] not in ("t/", "x/")}
    ran = run("verify", write_set(kept, tmp_path))
    assert (ran.status, headline(ran)) == (
        0,
        f"{SAME} in 1 of 3 variables; others are not in it",
    )


def day(folder: Path, number: int) -> Path:
    path = folder / f"d{number}.nc"
    with h5py.File(path, "w") as file:
        time = file.create_dataset("time", data=np.arange(4 * number, 4 * number + 4) + 1.0)
        time.make_scale("time")
        time.attrs["units"] = "days since 2000-01-01"
        rows = np.arange(24, dtype="i4").reshape(4, 6) + 100 * number
        data = file.create_dataset("v", data=rows, chunks=(1, 6), compression="gzip", fillvalue=-1)
        data.attrs["_FillValue"] = np.int32(-1)
        x = file.create_dataset("x", data=np.arange(6.0) + 1)
        x.make_scale("x")
        data.dims[0].attach_scale(time)
        data.dims[1].attach_scale(x)
    return path


def joined(paths: list[Path], **options: Any) -> dict[str, Any]:
    singles = [translated(path) for path in paths]
    return concatenated(singles, concat_dims=["time"], identical_dims=["x"], **options)


def test_a_file_that_is_dropped_in_the_middle(tmp_path: Path) -> None:
    """The set has its times, and no data for them; which file it was no reference says."""
    days = [day(tmp_path, number) for number in range(4)]
    document = joined(days, inline_threshold=0)
    refs = document["refs"]
    document["refs"] = {key: ref for key, ref in refs.items() if ref[0] != str(days[1])}
    source = write_set(document, tmp_path)
    ran = run("verify", source)
    assert "`v`" in ran.out
    assert "v/4.0" in ran.out
    assert headline(ran) != SAME
    assert [each for each in findings(run("verify", source, "--json")) if each["array"] == "v"]


def test_repair_does_not_cut_a_set_that_holds_its_chunks(tmp_path: Path) -> None:
    source = write_set(
        joined([day(tmp_path, number) for number in range(3)], inline_threshold=500), tmp_path
    )
    target = tmp_path / "repaired.json"
    assert "not compared" in headline(run("verify", source))
    ran = run("repair", source, "--to", "v0", "-o", target)
    if target.exists():
        assert json.loads(json.loads(target.read_text())["v/.zarray"])["shape"] == [12, 6]
    assert ran.status == 2


# What is unknown is not good


@pytest.mark.parametrize("size", [len(b"<html>"), None], ids=["small", "of the same size"])
def test_a_file_of_an_unknown_format_beside_sound_ones(
    case: Callable[[str], Case], size: int | None
) -> None:
    mine = case("joined")
    replace(2, lambda whole: b"\1" * (size or whole))(mine)
    ran = run("verify", mine.source)
    assert ran.status in (1, 2)
    assert "f2.nc" in ran.out
    assert not headline(ran).startswith(SAME)


def test_files_of_which_only_some_are_allowed(case: Callable[[str], Case], tmp_path: Path) -> None:
    mine = case("joined")
    away = tmp_path / "away"
    away.mkdir()
    shutil.move(mine.folder / "f2.nc", away)
    for key, ref in mine.refs.items():
        if ref[0] == "f2.nc":
            put(key, [str(away / "f2.nc"), *ref[1:]])(mine)
    mine.write()
    ran = run("verify", mine.source)
    assert ran.status == 2
    assert headline(ran).startswith("not known: 1 file")
    assert run("verify", mine.source, "--allow", away).status == 0


@pytest.mark.parametrize("values", ["none", "all"])
def test_the_coverage_is_always_said(sound: Callable[[str], Path], values: str) -> None:
    """A chunk that was never written is in its place, too."""
    ran = run("verify", sound("joined"), "--values", values)
    assert ran.status == 0
    assert coverage(ran).startswith(
        "Read: 5 of 5 files. At the right position: 57 of 57 chunks. Decoded: "
    )
    assert "Not compared: nothing" not in ran.out


def test_the_coverage_of_a_set_that_differs(case: Callable[[str], Case]) -> None:
    mine = case("joined")
    drop("temp/0.0.0")(mine)
    mine.write()
    assert coverage(run("verify", mine.source)).startswith(
        "Read: 5 of 5 files. At the right position: 56 of 57"
    )


def test_check_and_audit_do_not_say_the_same(sound: Callable[[str], Path]) -> None:
    for verb in ("check", "audit"):
        ran = run(verb, sound("joined"))
        assert ran.status == 0
        assert SAME not in ran.out


# Nothing is certified from memory


@pytest.mark.parametrize("change", ["cut", "gone"])
@pytest.mark.parametrize("verb", ["audit", "verify", "check"])
def test_files_are_asked_again_when_a_run_resumes(
    case: Callable[[str], Case], tmp_path: Path, verb: str, change: str
) -> None:
    mine = case("joined")
    kept = tmp_path / "kept"
    options = {"audit": "--decode all --results", "verify": "--results",
               "check": "--targets --results"}[verb]  # fmt: skip
    first: list[str | Path] = [*options.split(), kept]
    again = [*first, "--resume"]
    assert run(verb, mine.source, *first).status == 0
    path = mine.folder / "f2.nc"
    if change == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:900])
        os.utime(path, (1, 1))
    is_named(run(verb, mine.source, *again), "f2.nc")


# A set that readers cannot open


@pytest.mark.parametrize("key", [".zgroup", "run/.zgroup", "run/first/.zgroup"])
def test_a_group_that_is_missing(case: Callable[[str], Case], key: str) -> None:
    """xarray and Zarr refuse the set, or show an empty dataset."""
    mine = case("in groups")
    drop(key)(mine)
    mine.write()
    is_named(run("check", mine.source), "group")


def test_a_root_array_is_no_missing_group(tmp_path: Path) -> None:
    array = {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i4", "order": "C",
             "compressor": None, "filters": None, "fill_value": 0}  # fmt: skip
    source = write_set({".zarray": json.dumps(array), "0": "abcdefgh"}, tmp_path)
    assert run("check", source).status == 0


def test_chunks_of_no_array(case: Callable[[str], Case]) -> None:
    """Their maker meant data."""
    mine = case("joined")
    mine.refs["wave/0.0.0"] = mine.refs["wind/0.0.0"]
    mine.write()
    is_named(run("check", mine.source), "wave/0.0.0")
    is_named(run("verify", mine.source), "wave/0.0.0")


# Groups


def grouped(folder: Path) -> Path:
    path = folder / "grid.h5"
    with h5py.File(path, "w") as file:
        for name, each in (
            ("time", [1.0]),
            ("lon", np.arange(-9.0, -3)),
            ("lat", np.arange(1.0, 5)),
        ):
            file.create_dataset(f"Grid/{name}", data=np.array(each, "f4")).make_scale(name)
        rain = np.arange(1, 25, dtype="f4").reshape(1, 6, 4)
        data = file.create_dataset("Grid/rain", data=rain, chunks=(1, 3, 4), fillvalue=-9999.0)
        data.attrs["_FillValue"] = np.float32(-9999.0)
        for axis, name in enumerate(("time", "lon", "lat")):
            data.dims[axis].attach_scale(file[f"Grid/{name}"])
    return path


def test_dimensions_of_a_group_in_a_file_opened_directly(tmp_path: Path) -> None:
    """As netCDF4 names them; an intact file is no fault."""
    path = grouped(tmp_path)
    import netCDF4

    with netCDF4.Dataset(path) as file:
        right = file["Grid/rain"].dimensions
    attributes = json.loads(converted(path)["Grid/rain/.zattrs"])
    assert tuple(attributes["_ARRAY_DIMENSIONS"]) == right
    assert run("verify", path).status == 0


def rain(folder: Path, dimensions: list[str]) -> Path:
    """Write a set of a variable of a group, moved to the root."""
    refs = translated(grouped(folder))["refs"]
    kept = {key[5:]: ref for key, ref in refs.items() if key.startswith("Grid/rain")}
    attributes = json.loads(kept["rain/.zattrs"]) | {"_ARRAY_DIMENSIONS": dimensions}
    kept |= {"rain/.zattrs": json.dumps(attributes), ".zgroup": refs[".zgroup"]}
    return write_set(kept, folder)


def test_dimensions_with_the_group_in_front(tmp_path: Path) -> None:
    source = rain(tmp_path, ["Grid/time", "Grid/lon", "Grid/lat"])
    is_named(run("verify", source), "`rain`", "grid.h5", "time, lon, lat")


def test_coordinates_of_a_group_that_are_lost(tmp_path: Path) -> None:
    ran = run("verify", rain(tmp_path, ["time", "lon", "lat"]))
    assert (ran.status, headline(ran)) == (
        0,
        f"{SAME} in 1 of 4 variables; others are not in it",
    )


# Other formats


def test_dimensions_of_a_tiff_are_not_in_the_file(tmp_path: Path) -> None:
    """No TIFF names its dimensions: a set may call them x and y."""
    tifffile = pytest.importorskip("tifffile")
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.arange(1, 4097, dtype="u2").reshape(64, 64), tile=(32, 32))
    refs = {f"band/{key}": ref for key, ref in converted(path).items()}
    refs |= {".zgroup": '{"zarr_format":2}'}
    refs["band/.zattrs"] = json.dumps({"_ARRAY_DIMENSIONS": ["y", "x"]})
    assert headline(run("verify", write_set(refs, tmp_path), "--values", "all")) == SAME


def test_a_predictor_that_the_set_forgot(tmp_path: Path) -> None:
    tifffile = pytest.importorskip("tifffile")
    path = tmp_path / "a.tif"
    data = np.arange(1, 4097, dtype="u2").reshape(64, 64)
    tifffile.imwrite(path, data, tile=(32, 32), compression="zlib", predictor=2)
    refs = converted(path)
    refs[".zarray"] = json.dumps(json.loads(refs[".zarray"]) | {"filters": None})
    is_named(run("verify", write_set(refs, tmp_path)), "filters", "a.tif")


def test_a_last_strip_that_is_short(tmp_path: Path) -> None:
    """No byte range can be made a chunk of the last strip; its values are kept inline."""
    tifffile = pytest.importorskip("tifffile")
    path = tmp_path / "rain.tif"
    tifffile.imwrite(path, np.ones((50, 40), "f4"), rowsperstrip=16, compression="zlib")
    ran = run("verify", path, "--values", "all")
    assert (ran.status, headline(ran)) == (0, SAME)


def test_an_image_of_fits_with_an_offset(tmp_path: Path) -> None:
    fits = pytest.importorskip("astropy.io.fits")
    path = tmp_path / "a.fits"
    counts = np.array([[1, 2, 40000], [65535, 5, 6]], "u2")
    fits.HDUList([fits.PrimaryHDU(), fits.ImageHDU(counts, name="COUNTS")]).writeto(path)
    mine = values(converted(path), tmp_path, "COUNTS")
    assert mine is not None
    assert np.array_equal(mine, counts)
    assert run("verify", path, "--values", "all").status == 0


def test_an_image_of_fits_that_the_set_leaves_out(tmp_path: Path) -> None:
    fits = pytest.importorskip("astropy.io.fits")
    path = tmp_path / "a.fits"
    images = [fits.ImageHDU(np.ones((2, 3), ">i4"), name=name) for name in ("A", "B")]
    fits.HDUList([fits.PrimaryHDU(), *images]).writeto(path)
    refs = {key: ref for key, ref in converted(path).items() if not key.startswith("B/")}
    ran = run("verify", write_set(refs, tmp_path))
    assert (ran.status, headline(ran)) == (
        0,
        f"{SAME} in 1 of 2 variables; others are not in it",
    )


DMRPP = """<?xml version="1.0" encoding="UTF-8"?>
<Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#" name="data.bin" dmrpp:href="data.bin"
    xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#" dapVersion="4.0" dmrVersion="1.0">
    <Int32 name="x"><Dim size="4"/>%s</Int32>
</Dataset>"""


@pytest.mark.parametrize(
    "storage",
    [
        '<dmrpp:chunk offset="0" nBytes="16"/>',
        '<dmrpp:chunks fillValue="-99"/><dmrpp:compact>AQAAAAIAAAADAAAABAAAAA==</dmrpp:compact>',
    ],
    ids=["a chunk without chunks", "compact beside chunks"],
)
def test_a_variable_of_dmrpp_is_read_or_named(tmp_path: Path, storage: str) -> None:
    (tmp_path / "data.bin").write_bytes(np.arange(1, 5, dtype="<i4").tobytes())
    source = tmp_path / "a.dmrpp"
    source.write_text(DMRPP % storage)
    mine = values(converted(source), tmp_path, "x")
    if mine is None or not np.array_equal(mine, [1, 2, 3, 4]):
        is_named(run("check", source), "`x`")
        is_named(run("verify", source), "`x`")


# GRIB


def grib(folder: Path, *fields: dict[str, Any]) -> Path:
    import eccodes

    usual = {
        "Ni": 4, "Nj": 4, "latitudeOfFirstGridPointInDegrees": 50.0,
        "latitudeOfLastGridPointInDegrees": 20.0, "longitudeOfFirstGridPointInDegrees": 10.0,
        "longitudeOfLastGridPointInDegrees": 40.0, "iDirectionIncrementInDegrees": 10.0,
        "jDirectionIncrementInDegrees": 10.0, "dataDate": 20250101, "bitsPerValue": 16,
    }  # fmt: skip
    path = folder / "a.grib2"
    with path.open("wb") as file:
        for number, each in enumerate(fields):
            message = eccodes.codes_grib_new_from_samples("regular_ll_sfc_grib2")
            for key, value in (usual | each).items():
                eccodes.codes_set(message, key, value)
            eccodes.codes_set_values(message, 280.0 + number + np.arange(16.0))
            eccodes.codes_write(message, file)
            eccodes.codes_release(message)
    return path


def test_coordinates_of_messages_opened_directly(tmp_path: Path) -> None:
    """Step and level are no zeros, and there is nothing to warn of."""
    path = grib(tmp_path, {"shortName": "2t", "step": 6})
    import cfgrib

    (right,) = cfgrib.open_datasets(str(path), backend_kwargs={"indexpath": ""})
    refs = converted(path)
    level, step = (values(refs, tmp_path, name) for name in ("heightAboveGround", "step"))
    assert level == right.heightAboveGround.values
    assert step == right.step.values / np.timedelta64(1, "h")
    grave = [each for each in findings(run("check", path, "--json")) if each["severity"] != "info"]
    assert grave == []


def test_keys_that_are_chunks_of_no_array_in_a_set_of_kerchunk(tmp_path: Path) -> None:
    """Scalars of messages have keys such as ``step/``, which no reader asks for."""
    grib2 = pytest.importorskip("kerchunk.grib2")
    path = grib(tmp_path, {"shortName": "2t", "step": 6})
    (document,) = grib2.scan_grib(str(path), inline_threshold=0)
    document["templates"] = {"u": str(path)}
    assert "step/" in document["refs"]
    is_named(run("verify", write_set(document, tmp_path)), "`step/`", "a.grib2")


def test_rows_and_columns_of_a_message_swapped(tmp_path: Path) -> None:
    """The grid is a square: no size says it."""
    grib2 = pytest.importorskip("kerchunk.grib2")
    path = grib(tmp_path, {"shortName": "sp"})
    (document,) = grib2.scan_grib(str(path))
    document["templates"] = {"u": str(path)}
    attributes = json.loads(document["refs"]["sp/.zattrs"])
    attributes["_ARRAY_DIMENSIONS"] = ["longitude", "latitude"]
    document["refs"]["sp/.zattrs"] = json.dumps(attributes)
    is_named(run("verify", write_set(document, tmp_path)), "`sp`", "a.grib2")


def winds(folder: Path) -> Path:
    """Write one message that has two fields, as forecast centres write winds."""
    both = grib(folder, {"shortName": "10u"}, {"shortName": "10v"})
    data = both.read_bytes()
    size = int.from_bytes(data[8:16], "big")
    first, second = data[:size], data[size:]
    start = 16
    while second[start + 4] < 4:  # sections of the product come after those of the grid
        start += int.from_bytes(second[start : start + 4], "big")
    body = first[16:-4] + second[start:]
    both.write_bytes(first[:8] + (16 + len(body)).to_bytes(8, "big") + body)
    return both


def test_the_second_field_of_a_message(tmp_path: Path) -> None:
    path = winds(tmp_path)
    import cfgrib

    (right,) = cfgrib.open_datasets(str(path), backend_kwargs={"indexpath": ""})
    assert set(right.data_vars) == {"u10", "v10"}
    ran = run("verify", path)
    assert any("v10/.zarray" in key for key in converted(path)) or ran.status == 1
    assert "v10" in ran.out


def test_the_second_field_of_a_message_that_the_set_leaves_out(tmp_path: Path) -> None:
    grib2 = pytest.importorskip("kerchunk.grib2")
    path = winds(tmp_path)
    (document, *_) = grib2.scan_grib(str(path))
    document["templates"] = {"u": str(path)}
    ran = run("verify", write_set(document, tmp_path))
    assert ran.status == 0
    assert headline(ran).startswith(f"{SAME} in 1 of 2 ")
    assert "v10" in ran.out


# Mended before, and kept so


def test_a_compressor_that_the_writer_forgot(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with h5py.File(path, "w") as file:
        file.create_dataset("t", data=np.ones((4, 64), "f4"), chunks=(1, 64), compression="gzip")
    refs = translated(path)["refs"]
    array = json.loads(refs["t/.zarray"]) | {"filters": None, "compressor": None}
    refs["t/.zarray"] = json.dumps(array)
    is_named(run("verify", write_set(refs, tmp_path)), "`t`", "filters", "a.nc")


def test_packing_by_a_codec(tmp_path: Path) -> None:
    """It scales the fill value as well, so that nothing is missing."""
    path = tmp_path / "a.nc"
    with h5py.File(path, "w") as file:
        data = file.create_dataset(
            "albedo", data=np.array([20, 255, 180], "u1"), chunks=(3,), compression="gzip",
            fillvalue=255,
        )  # fmt: skip
        data.attrs.update(scale_factor=0.5, _FillValue=np.uint8(255))
    refs = translated(path)["refs"]
    codec = {"id": "fixedscaleoffset", "scale": 2.0, "offset": 0.0, "dtype": "<f8", "astype": "|u1"}
    array = json.loads(refs["albedo/.zarray"])
    array |= {"dtype": "<f8", "filters": [codec, *array["filters"]]}
    refs["albedo/.zarray"] = json.dumps(array)
    attributes = json.loads(refs["albedo/.zattrs"])
    del attributes["scale_factor"]
    refs["albedo/.zattrs"] = json.dumps(attributes)
    is_named(run("verify", write_set(refs, tmp_path)), "`albedo`", "scale_factor", "a.nc")


def test_dimensions_without_scales(tmp_path: Path) -> None:
    """Names of dimensions are made up; that is no difference."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["g/short"] = np.arange(1.0, 5)
        file["g/cube"] = np.arange(1.0, 85).reshape(3, 4, 7)
    assert run("verify", path, "--values", "all").status == 0
    assert run("verify", write_set(translated(path), tmp_path), "--values", "all").status == 0
