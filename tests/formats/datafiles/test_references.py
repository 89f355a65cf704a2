"""Files opened directly are what xarray opens, or each variable that differs is named."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import refexplorer as rx

pytestmark = pytest.mark.child
EXAMPLES = max(settings().max_examples // 4, 10)
CLASSIC = ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4_CLASSIC")
SIZES = {"t": None, "x": 3, "y": 2, "z": 1}
LONG = 4
"""How long the unlimited dimension becomes."""


@contextmanager
def opened(path: Path) -> Iterator[rx.ReferenceSet]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rx.errors.LeftOutWarning)
        yield rx.open_references(path)


def check_like_xarray(path: Path, group: str | None = None, **options: Any) -> None:
    with opened(path) as refs, xr.open_dataset(path, group=group, **options) as theirs:
        ours = refs.to_xarray(group=group) if group else refs.to_xarray()
        left_out = refs.source.left_out
        prefix = f"{group}/" if group else ""
        lacking = theirs.variables.keys() - ours.variables.keys()
        assert {f"{prefix}{name}" for name in lacking} <= {each.name for each in left_out}
        assert ours.variables.keys() <= theirs.variables.keys()
        assert plain(ours.attrs) == plain(theirs.attrs)
        for name, mine in ours.variables.items():
            check_variable(mine, theirs.variables[name])


def check_variable(mine: Any, other: Any) -> None:
    assert mine.dims == other.dims
    mark = mine.encoding.get("_FillValue")
    if mark is not None and "_FillValue" not in other.encoding:
        other = other.where(other != mark)  # chunks that were never written, too many to be inline
    if other.dtype.kind in "OSU":
        assert np.ravel(mine).astype(object).tolist() == np.ravel(other).astype(object).tolist()
    else:
        assert mine.dtype.kind == other.dtype.kind
        np.testing.assert_allclose(mine.to_numpy(), other.to_numpy(), rtol=1e-6)
    assert plain(mine.attrs) == plain(other.attrs)
    for name in ("_FillValue", "missing_value", "scale_factor", "add_offset"):
        assert plain({name: mine.encoding.get(name)}) == plain({name: other.encoding.get(name)})


def plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return values without what JSON has not: types of numbers, and lists of one."""
    found = {}
    for name, value in attributes.items():
        value = value.tolist() if hasattr(value, "tolist") else value
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
        found[name] = repr(value)
    return found


ATTRIBUTES = st.dictionaries(
    st.sampled_from(["units", "long name", "n", "list"]),
    st.sampled_from(["m", "é", "", np.int16(3), np.float64(2.5), np.array([1.5, -2], "f4")]),
    max_size=2,
)


@st.composite
def variables(draw: st.DrawFn, kinds: list[Any]) -> dict[str, Any]:
    dims = draw(st.lists(st.sampled_from(list(SIZES)), max_size=3, unique=True))
    return {
        "kind": draw(st.sampled_from(kinds)),
        "dims": sorted(dims),  # t first, as the classic model wants it
        "is_scale": draw(st.booleans()) and len(dims) == 1,
        "fill": draw(st.sampled_from([None, None, 7])),
        "packing": draw(st.sampled_from([None, None, 0.5])),
        "written": draw(st.sampled_from(["all", "all", "none", "first"])),
        "attributes": draw(ATTRIBUTES),
        "chunk": draw(st.sampled_from([None, 1, 2])),
        "filters": draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "zlib": st.booleans(), "shuffle": st.booleans(), "fletcher32": st.booleans(),
                },
            )
        ),
    }  # fmt: skip


def write(group: Any, name: str, each: dict[str, Any], is_classic: bool) -> None:
    kind, dims = each["kind"], each["dims"]
    has_filters = dims and kind is not str and not is_classic
    name = dims[0] if each["is_scale"] and kind is not str else name
    if name in group.variables:
        return
    more = dict(each["filters"]) if has_filters and kind != "S1" else {}
    if has_filters and each["chunk"] is not None:
        more["chunksizes"] = [min(each["chunk"], SIZES[dim] or 9) for dim in dims]
    if each["fill"] is not None and kind is not str:
        more["fill_value"] = b"x" if kind == "S1" else each["fill"]
    if str(kind).startswith(">"):
        more["endian"] = "big"
    variable = group.createVariable(name, kind, dims, **more)
    variable.setncatts(each["attributes"])
    if each["packing"] is not None and kind in ("i1", "i2", "i4"):
        variable.setncatts({"scale_factor": each["packing"], "add_offset": 2.0})
    variable.set_auto_maskandscale(False)
    shape = [SIZES[dim] or LONG for dim in dims]
    count = int(np.prod(shape))
    values: Any = np.arange(count) % 11
    texts = {str: np.array(["", "é", "abc"], object), "S1": np.array([b"a", b"b", b"x"])}
    values = texts[kind][values % 3] if kind in texts else values.astype(kind)
    values = values.reshape(shape)
    if each["written"] == "all":
        variable[...] = values if dims else values.item()
    elif each["written"] == "first" and dims and "t" not in dims:
        variable[:1] = values[:1]


@settings(max_examples=EXAMPLES)
@given(
    st.lists(
        variables(
            ["i1", "u1", "i2", ">i2", "u2", ">f4", "i4", "u4", "i8", "u8", "f4", "f8", "S1", str]
        ),
        min_size=1,
        max_size=5,
    ),
    ATTRIBUTES,
    st.sampled_from([None, "g", "g/h"]),
)
def test_netcdf4(chosen: list[dict[str, Any]], attributes: Any, group: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.nc"
        with netCDF4.Dataset(path, "w") as file:
            for name, size in SIZES.items():
                file.createDimension(name, size)
            inside = file if group is None else file.createGroup(group)
            inside.setncatts(attributes)
            if group is not None:  # names that stand for other lengths in the root
                inside.createDimension("x", SIZES["x"])
            for number, each in enumerate(chosen):
                write(inside, f"v{number}", each, False)
        check_like_xarray(path, group, engine="netcdf4")


@settings(max_examples=EXAMPLES)
@given(
    st.lists(variables(["i1", "i2", "i4", "f4", "f8", "S1"]), min_size=1, max_size=5),
    ATTRIBUTES,
    st.sampled_from(CLASSIC),
)
def test_the_classic_model(chosen: list[dict[str, Any]], attributes: Any, form: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.nc"
        with netCDF4.Dataset(path, "w", format=form) as file:
            for name, size in SIZES.items():
                file.createDimension(name, size)
            file.setncatts(attributes)
            for number, each in enumerate(chosen):
                write(file, f"v{number}", each, True)
        check_like_xarray(path, engine="netcdf4")


KINDS: list[Any] = [
    "i1", "u1", "<i2", ">i2", ">u4", "<i8", "<u8", "<f2", ">f4", "<f8", "?", "S5", "<c8", "V3",
    [("a", "<i4"), ("b", ">f8")], h5py.string_dtype(), h5py.enum_dtype({"A": 1, "B": 2}, "u1"),
]  # fmt: skip


@st.composite
def datasets(draw: st.DrawFn) -> dict[str, Any]:
    kind = np.dtype(draw(st.sampled_from(KINDS)))
    shape = draw(st.lists(st.sampled_from([0, 1, 2, 3, 5, 9]), max_size=3))
    options: dict[str, Any] = {}
    is_chunked = draw(st.booleans())
    if shape and is_chunked:
        options["chunks"] = tuple(draw(st.sampled_from([1, 2, 3, 7])) for _ in shape)
        pairs = zip(shape, options["chunks"], strict=True)
        options["maxshape"] = tuple(draw(st.sampled_from([None, max(pair)])) for pair in pairs)
        names = ["gzip", "lzf", None]
        if kind.kind in "iuf" and kind.itemsize > 1 and np.prod(options["chunks"]) >= 8:
            names.append("szip")
        if not kind.hasobject:
            options["compression"] = draw(st.sampled_from(names))
        options["shuffle"] = draw(st.booleans())
        options["fletcher32"] = draw(st.booleans())
        if kind.kind in "iu" and kind.itemsize > 1 and draw(st.integers(0, 4)) == 0:
            options = {name: options[name] for name in ("chunks", "maxshape")}
            options["scaleoffset"] = 0
    if kind.kind in "iuf" and draw(st.integers(0, 3)) == 0:
        options["fillvalue"] = 5
    return {
        "name": draw(st.sampled_from(["", "g/", "g/h/"])),
        "kind": kind,
        "shape": tuple(shape),
        "options": options,
        "written": draw(st.sampled_from([1.0, 1.0, 0.5, 0.0])),
    }


@settings(max_examples=2 * EXAMPLES)
@given(
    st.lists(datasets(), min_size=1, max_size=5),
    st.sampled_from(["earliest", ("v108", "v110"), "latest"]),
)
def test_hdf5_has_the_values_that_h5py_reads(chosen: list[dict[str, Any]], version: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.h5"
        with h5py.File(path, "w", libver=version) as file:
            for number, each in enumerate(chosen):
                name = f"{each['name']}d{number}"
                made = file.create_dataset(name, each["shape"], each["kind"], **each["options"])
                values = sample(each["kind"], each["shape"])
                if each["written"] == 1:
                    made[...] = values
                elif each["written"] and each["shape"]:
                    made[: each["shape"][0] // 2] = values[: each["shape"][0] // 2]
        with opened(path) as refs, h5py.File(path) as file:
            group: Any = refs.to_zarr()
            for number, each in enumerate(chosen):
                name = f"{each['name']}d{number}"
                is_text = each["kind"].hasobject
                found: Any = file[name]
                theirs: Any = found.asstr()[...] if is_text else found[...]
                mine = group[name][...]
                assert np.array_equal(np.asarray(mine, np.asarray(theirs).dtype), theirs), name
            assert not refs.source.left_out


def sample(kind: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray:
    count = int(np.prod(shape))
    numbers = np.arange(count) % 100
    if kind.hasobject:
        return np.array(["", "é", "abc"], object)[numbers % 3].reshape(shape)
    if kind.kind == "S":
        return np.array([b"", b"a", b"abcde"])[numbers % 3].reshape(shape)
    if kind.kind == "V":
        data = (np.arange(count * kind.itemsize) % 251).astype("u1").tobytes()
        found = np.frombuffer(data, kind).reshape(shape)
        return np.zeros(shape, kind) if kind.names else found
    return numbers.astype(kind).reshape(shape)


def test_dimensions_without_names_are_those_of_netcdf4(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name, shape in {
            "a": (3, 3), "b": (4, 3, 5), "c": (5,), "s": (2, 3), "u": (3, 3, 3), "g/a": (3, 7),
            "g/h/b": (7, 7),
        }.items():  # fmt: skip
            file[name] = np.zeros(shape)
        file.create_dataset("w", (3,), "f4", maxshape=(None,))
        file["x"] = np.arange(6.0)
        file["x"].make_scale("x")
        file["p"] = np.zeros(6)
        file["p"].dims[0].attach_scale(file["x"])
    for group in (None, "g", "g/h"):
        check_like_xarray(tmp_path / "a.h5", group, engine="netcdf4")


def test_what_cannot_be_referenced_is_named(tmp_path: Path) -> None:
    path, large = tmp_path / "a.h5", np.arange(40_000, dtype="i4")
    with h5py.File(path, "w") as file:
        record = np.dtype([("a", h5py.string_dtype()), ("b", "i4")])
        file.create_dataset("record", (3,), record)
        file["nested"] = np.zeros(2, [("a", [("b", "i4")])])
        file["matrix"] = np.zeros(2, [("a", "i4", (2,))])
        file["ragged"] = np.array([np.arange(2), np.arange(3)], h5py.vlen_dtype("i4"))
        file.create_dataset("texts", data=["a" * 1000] * 100, dtype=h5py.string_dtype())
        file.create_dataset("scaled", data=large, chunks=(1000,), scaleoffset=0)
        file.create_dataset("dense", data=np.zeros(40_000), chunks=(40_000,), compression="lzf")
        mixed = file.create_dataset("mixed", data=large, chunks=(20_000,), compression="gzip")
        mixed.id.write_direct_chunk((0,), large[:20_000].tobytes(), 1)
        file["fine"] = large
    with pytest.warns(
        rx.errors.LeftOutWarning, match=r"^a\.h5 has variables that are left out: dense \(1 chunk"
    ):
        refs = rx.open_references(path)
    assert refs.arrays() == ("fine",)
    reasons = {each.name: each.reason for each in refs.source.left_out}
    for name, reason in {
        "record": "vary in length",
        "nested": "records in them",
        "matrix": "field of several values",
        "ragged": "vary in length",
        "texts": "100 texts vary in length",
        "scaled": "filter scale-offset, which no Zarr codec decodes",
        "dense": "the codec for LZF refuses",
        "mixed": "1 chunk skips filters that others have",
    }.items():
        assert reason in reasons.pop(name)
    assert not reasons
    assert [(each.code, each.severity) for each in refs.diagnostics] == [("left-out", "error")] * 8


def test_chunks_that_skip_filters(tmp_path: Path) -> None:
    path, values = tmp_path / "a.h5", np.arange(24, dtype="<i4")
    with h5py.File(path, "w") as file:
        for name, skipping in {"some": (16,), "all": (0, 8, 16)}.items():
            made = file.create_dataset(name, (24,), "<i4", chunks=(8,), compression=1, shuffle=True)
            made[:] = values
            for start in skipping:
                made.id.write_direct_chunk((start,), values[start : start + 8].tobytes(), 3)
    refs = rx.open_references(path)
    group: Any = refs.to_zarr()
    assert np.array_equal(group["some"][:], values)
    assert np.array_equal(group["all"][:], values)
    assert refs.array("all").metadata["filters"] is None
    assert isinstance(refs["some/2"], rx.types.Base64)
    assert refs.verify(values="all").good


def test_chunks_that_were_never_written(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with h5py.File(path, "w") as file:
        for name, fill in {"zero": None, "five": 5, "many": 5}.items():
            chunk = 2 if name == "many" else 1000
            made = file.create_dataset(name, (10_000,), "i4", chunks=(chunk,), fillvalue=fill)
            made[:1] = 7
        declared = file.create_dataset("declared", (10,), "i4", chunks=(2,), fillvalue=-1)
        declared.attrs["_FillValue"] = np.int32(-1)
    refs = rx.open_references(path)
    fills = {name: refs.array(name).fill_value for name in refs.arrays()}
    assert fills == {"zero": None, "five": None, "many": 5, "declared": -1}
    group: Any = refs.to_zarr()
    with h5py.File(path) as file:
        for name in fills:
            expected: Any = file[name]
            assert np.array_equal(group[name][:], expected[:])


def test_a_text_without_dimensions(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["note"] = "a text"
        file["names"] = np.array(["é", "bb"], object)
    refs = rx.open_references(path)
    assert not refs.diagnostics
    found: Any = refs.to_xarray()
    assert (found["note"].item(), found["names"].values.tolist()) == ("a text", ["é", "bb"])
    compared = refs.verify(values="all")
    assert compared.good, str(compared)
