"""Faults that are planted in sound sets, and what a report must name for each."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.helpers.commands import Run
from tests.helpers.planted_sets import FILES, FLOW, name_of, with_fields, write_file


class Case:
    """A copy of a sound set in a folder of its own, to be spoiled.

    Attributes
    ----------
    document
        The set; written by `write`. Of records there is none: faults change their files.
    """

    def __init__(self, source: Path) -> None:
        self.source = source
        self.folder = source.parent
        is_json = source.suffix == ".json"
        self.document: dict[str, Any] = json.loads(source.read_text()) if is_json else {}

    @property
    def refs(self) -> dict[str, Any]:
        found: dict[str, Any] = self.document.get("refs", self.document)
        return found

    def chunks(self, array: str) -> list[str]:
        """Return the keys of chunks of an array."""
        return [key for key in self.refs if key.startswith(f"{array}/") and _last(key)[0] != "."]

    def write(self) -> None:
        if self.document:
            self.source.write_text(json.dumps(self.document))


def unnamed(fault: Fault, text: Run, data: Run) -> list[str]:
    """Return what the text, or the JSON, of a run does not say of a fault."""
    if fault.array is None:
        group = fault.keys[0].rpartition("/")[0]
        named = f"`{group}`" in text.out if group else "root" in text.out
        return [] if named and "group" in text.out else ["the group"]
    said = [
        finding for finding in findings(data)
        if finding["severity"] == "error"
        and finding["array"] == fault.array
        and {*fault.keys} <= {finding.get("key"), *finding["keys"]}
        and fault.file in {None, *(_last(url) for url in finding["files"])}
    ]  # fmt: skip
    words = [f"`{fault.array}`", *([fault.file] if fault.file else [])]
    missing = [word for word in words if word not in text.out]
    alike = {key for finding in said for key in finding["keys"]} | {*fault.keys}
    if any(_last(key)[0] not in ".z" for key in fault.keys):
        missing += [] if any(key in text.out for key in alike) else ["a key, in the text"]
    return missing if said else ["an error in the JSON", *missing]


def findings(data: Run) -> list[dict[str, Any]]:
    """Return the findings in the JSON that a verb printed."""
    document = json.loads(data.out)
    found: list[dict[str, Any]] = document["findings"]
    return found


Plant = Callable[[Case], None]


class Fault(NamedTuple):
    """One fault.

    Attributes
    ----------
    plant
        Spoils a case: its document, or its files.
    array
        The array that has to be named; None where a group is concerned.
    keys
        Keys that have to be named; those of chunks in the text, too, or another one that the same
        finding has.
    file
        The file that has to be named; None where no file is concerned.
    of
        The sound set.
    mends
        Whether the files say enough for `repair`.
    """

    plant: Plant
    array: str | None
    keys: tuple[str, ...] = ()
    file: str | None = "f2.nc"
    of: str = "joined"
    mends: bool = True


def both(*plants: Plant) -> Plant:
    def plant(case: Case) -> None:
        for each in plants:
            each(case)

    return plant


# References


def put(key: str, ref: str | list[Any]) -> Plant:
    return lambda case: case.refs.update({key: ref})


def renamed(key: str, other: str) -> Plant:
    return lambda case: case.refs.update({other: case.refs.pop(key)})


def swap(one: str, other: str) -> Plant:
    def plant(case: Case) -> None:
        case.refs[one], case.refs[other] = case.refs[other], case.refs[one]

    return plant


def shift(key: str, offset: int = 0, length: int = 0) -> Plant:
    def plant(case: Case) -> None:
        url, start, size = case.refs[key]
        case.refs[key] = [url, start + offset, size + length]

    return plant


def same_as(key: str, other: str) -> Plant:
    """Give a key the reference of another key."""

    def plant(case: Case) -> None:
        case.refs[key] = case.refs[other]

    return plant


def point(key: str, url: str) -> Plant:
    """Have a key refer to the same place of another file."""

    def plant(case: Case) -> None:
        case.refs[key] = [url, *case.refs[key][1:]]

    return plant


def moved(array: str, places: Callable[[list[int]], Iterable[int]]) -> Plant:
    """Have all chunks of an array lie at other places of its grid."""

    def plant(case: Case) -> None:
        found = {key: case.refs.pop(key) for key in case.chunks(array)}
        for key, ref in found.items():
            index = places([int(part) for part in _last(key).split(".")])
            case.refs[f"{array}/{'.'.join(map(str, index))}"] = ref

    return plant


def drop(*keys: str) -> Plant:
    """Remove keys; one that ends in an asterisk all that start so, except metadata."""

    def plant(case: Case) -> None:
        for key in keys:
            for found in [each for each in case.refs if _fits(each, key)]:
                del case.refs[found]

    return plant


def _fits(key: str, pattern: str) -> bool:
    if not pattern.endswith("*"):
        return key == pattern
    return key.startswith(pattern[:-1]) and not _last(key).startswith(".")


def _last(key: str) -> str:
    return key.rpartition("/")[2]


def drop_file(number: int) -> Plant:
    """Remove every reference to a file."""

    def plant(case: Case) -> None:
        for key in [key for key, ref in case.refs.items() if ref[0] == name_of(number)]:
            del case.refs[key]

    return plant


def fields(key: str, **changes: Any) -> Plant:
    return lambda case: with_fields(case.refs, key, **changes)


def twice_in_text(case: Case) -> None:
    """Write a key twice, of which readers take the last: a chunk of another file."""
    text = json.dumps(case.refs)
    case.source.write_text(f'{text[:-1]}, "temp/4.0.0": {json.dumps(case.refs["temp/2.0.0"])}}}')
    case.document = {}


def consolidated(case: Case) -> None:
    """Add metadata in one key, as xarray reads them, of which one field is another one."""
    found = {key: json.loads(text) for key, text in case.refs.items() if _last(key)[0] == "."}
    found["temp/.zattrs"]["scale_factor"] = 0.2
    case.refs[".zmetadata"] = json.dumps({"zarr_consolidated_format": 1, "metadata": found})


def hold(key: str, change: Callable[[bytes], bytes]) -> Plant:
    """Put the bytes of a chunk, changed, into the set."""

    def plant(case: Case) -> None:
        case.refs[key] = inline(change(_bytes(case, key)))

    return plant


def inline(data: bytes) -> str:
    return "base64:" + base64.b64encode(data).decode()


def _bytes(case: Case, key: str) -> bytes:
    ref = case.refs[key]
    if isinstance(ref, str):
        return base64.b64decode(ref[7:]) if ref.startswith("base64:") else ref.encode()
    url, start, size = ref
    data: bytes = (case.folder / url).read_bytes()[start : start + size]
    return data


def set_float(at: int, value: float) -> Callable[[bytes], bytes]:
    """Return what replaces one float of a chunk."""
    return lambda data: data[: 8 * at] + struct.pack("<d", value) + data[8 * at + 8 :]


# Files


def rewrite(number: int, **differently: Any) -> Plant:
    """Write a file once more, something in it differently."""
    return lambda case: write_file(case.folder, number, **differently)


def cut(number: int, size: Callable[[int], int]) -> Plant:
    def plant(case: Case) -> None:
        path = case.folder / name_of(number)
        path.write_bytes(path.read_bytes()[: size(path.stat().st_size)])

    return plant


def replace(number: int, content: Callable[[int], bytes]) -> Plant:
    def plant(case: Case) -> None:
        path = case.folder / name_of(number)
        path.write_bytes(content(path.stat().st_size))

    return plant


def copied(number: int, other: int) -> Plant:
    def plant(case: Case) -> None:
        path = case.folder / name_of(number)
        path.write_bytes((case.folder / name_of(other)).read_bytes())

    return plant


def gone(number: int) -> Plant:
    return lambda case: (case.folder / name_of(number)).unlink()


PAGE = b"<!DOCTYPE html><html><body><h1>503 Service Unavailable</h1></body></html>\n"

# Templates, gen, records, messages


def template(name: str, value: str | None) -> Plant:
    def plant(case: Case) -> None:
        case.document["templates"][name] = value
        if value is None:
            del case.document["templates"][name]

    return plant


def gen(item: int, **changes: Any) -> Plant:
    def plant(case: Case) -> None:
        case.document["gen"][item] |= changes

    return plant


def gen_text(item: int, field: str, old: str, new: str) -> Plant:
    def plant(case: Case) -> None:
        before = case.document["gen"][item][field]
        assert old in before
        case.document["gen"][item][field] = before.replace(old, new)

    return plant


def times(start: int, stop: int, step: int) -> dict[str, Any]:
    return {"i": {"start": start, "stop": stop, "step": step}}


def records(name: str, change: Callable[[list[dict[str, Any]]], None]) -> Plant:
    """Change the rows of a record file."""

    def plant(case: Case) -> None:
        table = pq.read_table(case.source / name)
        rows = table.to_pylist()
        change(rows)
        pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), case.source / name)

    return plant


def swap_rows(rows: list[dict[str, Any]]) -> None:
    rows[1], rows[2] = rows[2], rows[1]


def in_row(**changes: Callable[[Any], Any]) -> Callable[[list[dict[str, Any]]], None]:
    def change(rows: list[dict[str, Any]]) -> None:
        rows[1] |= {column: value(rows[1][column]) for column, value in changes.items()}

    return change


def null_row(rows: list[dict[str, Any]]) -> None:
    rows[1] = {"path": None, "offset": 0, "size": 0, "raw": None}


def no_records(name: str) -> Plant:
    return lambda case: (case.source / name).unlink()


def record_size(size: int) -> Plant:
    def plant(case: Case) -> None:
        path = case.source / ".zmetadata"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"record_size": size}))

    return plant


def message(key: str, number: int) -> Plant:
    """Have a key refer to another message; all are of one length."""

    def plant(case: Case) -> None:
        url, _, size = case.refs[key]
        case.refs[key] = [url, number * size, size]

    return plant


def cut_messages(case: Case) -> None:
    path = case.folder / "a.grib2"
    path.write_bytes(path.read_bytes()[: 2 * case.refs["t2m/0.0.0"][2] + 50])


_FIVES = np.full(48, 5, "<f4").tobytes()
_ZLIB, _SHUFFLE = {"id": "zlib", "level": 4}, {"id": "shuffle", "elementsize": 2}
_T, _W, _TA, _WA, _D = (
    "temp/.zarray",
    "wind/.zarray",
    "temp/.zattrs",
    "wind/.zattrs",
    "time/.zattrs",
)


def _temp(plant: Plant, *keys: str, **about: Any) -> Fault:
    return Fault(plant, "temp", keys, **about)


def _metadata(key: str, of: str = "joined", **changes: Any) -> Fault:
    """One or several fields of an array differ from what every file says."""
    array = key.rpartition("/")[0]
    return Fault(fields(key, **changes), array, (key,), "f0.nc", of)


def _stale(array: str, *keys: str, **differently: Any) -> Fault:
    """Say how the third file was written once more; the files no longer agree: nothing mends it."""
    return Fault(rewrite(2, **differently), array, keys, mends=False)


REFERENCES: dict[str, Fault] = {
    "two chunks of a file swapped": _temp(swap("temp/4.0.0", "temp/4.1.0"), "temp/4.0.0"),
    "two times of a file swapped": _temp(swap("temp/4.0.0", "temp/5.0.0"), "temp/5.0.0"),
    "two files swapped": _temp(swap("temp/4.0.0", "temp/6.0.0"), "temp/4.0.0"),
    "two arrays swapped": _temp(swap("temp/4.0.0", "wind/4.0.0"), "temp/4.0.0"),
    "two longitudes swapped": _temp(swap("temp/5.1.0", "temp/5.1.1"), "temp/5.1.1"),
    "two values of plain coordinates swapped": Fault(
        swap("time/2", "time/3"), "time", ("time/2",), mends=False),
    "offset too large by one": _temp(shift("temp/4.0.0", 1), "temp/4.0.0"),
    "offset too small": _temp(shift("temp/5.1.1", -8), "temp/5.1.1"),
    "offset behind the end": _temp(shift("temp/4.0.0", 10**9), "temp/4.0.0"),
    "offset of a plain chunk": Fault(shift("time/2", 8), "time", ("time/2",)),
    "length too small by one": _temp(shift("temp/4.0.0", 0, -1), "temp/4.0.0"),
    "length too large by one": _temp(shift("temp/4.0.0", 0, 1), "temp/4.0.0"),
    "length of a plain chunk": Fault(shift("lat/0", 0, -8), "lat", ("lat/0",), "f0.nc"),
    "length is the end": Fault(shift("wind/4.0.0", 0, 5_000), "wind", ("wind/4.0.0",)),
    "length of nothing": _temp(put("temp/4.0.0", ["f2.nc", 0, 0]), "temp/4.0.0"),
    "a whole file for a chunk": _temp(put("temp/4.0.0", ["f2.nc"]), "temp/4.0.0"),
    "another dataset": _temp(same_as("temp/4.0.0", "wind/4.0.0"), "temp/4.0.0"),
    "another dataset of the same size": Fault(
        same_as("lat/0", "time/0"), "lat", ("lat/0",), "f0.nc"),
    "another coordinate": Fault(same_as("lon/0", "lat/0"), "lon", ("lon/0",), "f0.nc"),
    "one chunk twice": _temp(same_as("temp/5.0.0", "temp/4.0.0"), "temp/5.0.0"),
    "the first chunk for all times": Fault(
        both(*[same_as(f"wind/{n}.0.0", "wind/0.0.0") for n in range(10)]),
        "wind", ("wind/1.0.0",), "f0.nc"),
    "another file for a chunk": _temp(point("temp/4.0.0", "f1.nc"), "temp/4.0.0", file="f1.nc"),
    "another file for a time": Fault(same_as("time/2", "time/1"), "time", ("time/2",), "f1.nc"),
    "another file for an array's part": _temp(
        both(*[same_as(f"temp/{t}.{y}.{x}", f"temp/{t - 2}.{y}.{x}")
               for t in (4, 5) for y in (0, 1) for x in (0, 1)]),
        "temp/4.0.0", file="f1.nc"),
    "a file that is not there": _temp(point("temp/4.0.0", "f7.nc"), "temp/4.0.0", file="f7.nc"),
    "first chunk lost": _temp(drop("temp/0.0.0"), "temp/0.0.0", file="f0.nc"),
    "inner chunk lost": _temp(drop("temp/5.1.0"), "temp/5.1.0"),
    "last chunk lost": _temp(drop("temp/9.1.1"), "temp/9.1.1", file="f4.nc"),
    "all chunks of a time lost": _temp(drop("temp/4.*"), "temp/4.0.0"),
    "all chunks of a longitude lost": _temp(
        drop(*[f"temp/{t}.{y}.1" for t in range(10) for y in (0, 1)]),
        "temp/0.0.1", file="f0.nc"),
    "variable lost in the part of one file": _temp(drop("temp/4.*", "temp/5.*"), "temp/4.0.0"),
    "variable lost in the part of the last file": Fault(
        drop("wind/8.*", "wind/9.*"), "wind", ("wind/8.0.0",), "f4.nc"),
    "variable lost in all but one part": Fault(
        drop(*[f"wind/{n}.0.0" for n in range(10) if n not in (4, 5)]), "wind", ("wind/0.0.0",),
        "f0.nc"),
    "all chunks of an array lost": _temp(drop("temp/*"), "temp/0.0.0", file="f0.nc"),
    "only chunk of a coordinate lost": Fault(drop("lat/0"), "lat", ("lat/0",), "f0.nc"),
    "chunk of a joined coordinate lost": Fault(drop("time/2"), "time", ("time/2",)),
    "all chunks of a joined coordinate lost": Fault(drop("time/*"), "time", ("time/0",), "f0.nc"),
    "file in the middle dropped": Fault(drop_file(2), "time", ("time/2",), None, mends=False),
    "last file dropped": Fault(drop_file(4), "time", (), None, mends=False),
    "key twice in the text": Fault(twice_in_text, "temp", ("temp/4.0.0",), "f1.nc"),
    "chunks transposed": _temp(moved("temp", lambda i: (i[0], i[2], i[1])), "temp/0.0.1",
                               file="f0.nc"),
    "times off by one chunk": _temp(moved("temp", lambda i: ((i[0] + 1) % 10, *i[1:])),
                                    "temp/1.0.0", file="f0.nc"),
    "times off by one chunk, and none at the start": Fault(
        moved("wind", lambda i: (i[0] + 1, *i[1:])), "wind", ("wind/0.0.0",), "f0.nc"),
    "latitudes off by one chunk": _temp(moved("temp", lambda i: (i[0], 1 - i[1], i[2])),
                                        "temp/0.0.0", file="f0.nc"),
    "longitudes off by one chunk": _temp(moved("temp", lambda i: (*i[:2], 1 - i[2])),
                                         "temp/0.0.0", file="f0.nc"),
    "files in another order": Fault(
        moved("wind", lambda i: (8 - i[0] // 2 * 2 + i[0] % 2, *i[1:])), "wind", ("wind/0.0.0",),
        "f4.nc"),
    "times of a file in another order": Fault(
        moved("wind", lambda i: (i[0] // 2 * 2 + 1 - i[0] % 2, *i[1:])), "wind", ("wind/0.0.0",),
        "f0.nc"),
    "keys of another separator": Fault(
        both(*[renamed(f"wind/{n}.0.0", f"wind/{n}/0/0") for n in range(10)]),
        "wind", ("wind/0.0.0",), "f0.nc"),
}  # fmt: skip
METADATA: dict[str, Fault] = {
    "shape too long": _metadata(_T, shape=[24, 4, 6])._replace(file=None),
    "shape too short": _metadata(_T, shape=[16, 4, 6])._replace(file="f4.nc"),
    "shape ends inside a file": _metadata(_W, shape=[19, 4, 6])._replace(file="f4.nc"),
    "shape of a coordinate too short": _metadata("lat/.zarray", shape=[3]),
    "shape of the joined coordinate too long": _metadata("time/.zarray", shape=[24])._replace(
        file=None),
    "shape of another axis": _metadata(_T, shape=[20, 4, 8])._replace(file=None),
    "chunks of half the times": _metadata(_T, chunks=[1, 2, 3]),
    "chunks of another shape and the same size": _metadata(_T, chunks=[2, 3, 2]),
    "chunks of twice the times": _metadata(_W, chunks=[4, 4, 6]),
    "data type twice as wide": _metadata(_T, dtype="<i4"),
    "data type without sign": _metadata(_T, dtype="<u2"),
    "data type of floats": _metadata(_W, dtype="<i4", fill_value=0),
    "data type twice as wide, of floats": _metadata(_W, dtype="<f8"),
    "data type of a coordinate": _metadata("time/.zarray", dtype="<i8"),
    "byte order": _metadata(_T, dtype=">i2"),
    "byte order of floats": _metadata(_W, dtype=">f4"),
    "byte order of a coordinate": _metadata("lat/.zarray", dtype=">f8"),
    "shuffle missing": _metadata(_T, filters=[_ZLIB]),
    "zlib missing": _metadata(_T, filters=[_SHUFFLE]),
    "all filters missing": _metadata(_T, filters=None),
    "zlib twice": _metadata(_T, filters=[_SHUFFLE, _ZLIB, _ZLIB]),
    "filters in the wrong order": _metadata(_T, filters=[_ZLIB, _SHUFFLE]),
    "elements of another size": _metadata(_T, filters=[_SHUFFLE | {"elementsize": 4}, _ZLIB]),
    "shuffle that no file has": _metadata(_W, filters=[_SHUFFLE | {"elementsize": 4}, _ZLIB]),
    "another compressor": _metadata(_W, filters=None, compressor={"id": "bz2", "level": 1}),
    "a filter of a plain coordinate": _metadata("lat/.zarray", filters=[_ZLIB]),
    "order of the values in a chunk": _metadata(_W, order="F"),
    "fill value of an unwritten chunk": _metadata(_T, fill_value=7),
    "another value marked as missing": _metadata(_TA, _FillValue=-1),
    "missing values no longer marked": Fault(
        both(fields(_TA, _FillValue=...), fields(_T, fill_value=None)), "temp", (_TA,), "f0.nc"),
    "more values missing": _metadata(_TA, missing_value=50),
    "scale_factor": _metadata(_TA, scale_factor=0.2),
    "scale_factor lost": _metadata(_TA, scale_factor=...),
    "scale_factor of a plain variable": _metadata(_WA, scale_factor=0.01),
    "add_offset": _metadata(_TA, add_offset=0.0),
    "add_offset lost": _metadata(_TA, add_offset=...),
    "integers read as unsigned": _metadata(_TA, _Unsigned="true"),
    "units": _metadata(_TA, units="degC"),
    "units lost": _metadata(_WA, units=...),
    "units of times": _metadata(_D, units="hours since 2000-01-01"),
    "epoch of times": _metadata(_D, units="days since 2000-01-02"),
    "calendar": _metadata(_D, calendar="noleap"),
    "units of times that the set holds": _metadata(
        _D, "of kerchunk", units="hours since 2000-01-01")._replace(keys=()),
    "calendar of times that the set holds": _metadata(_D, "of kerchunk", calendar="360_day"),
    "dimensions in another order": _metadata(_TA, _ARRAY_DIMENSIONS=["time", "lon", "lat"]),
    "dimensions of another name": _metadata(_TA, _ARRAY_DIMENSIONS=["time", "y", "x"]),
    "dimensions lost": _metadata(_TA, _ARRAY_DIMENSIONS=...)._replace(file=None),
    "consolidated metadata of another scale_factor": Fault(
        consolidated, "temp", (), None),
    "attributes of two variables swapped": Fault(swap(_TA, _WA), "temp", (_TA,), "f0.nc"),
    "metadata of an array lost": Fault(drop(_W), "wind", ("wind/0.0.0",), None, mends=False),
    "attributes of an array lost": Fault(drop(_TA), "temp", (_TA,), "f0.nc"),
    "root group lost": Fault(drop(".zgroup"), None, (".zgroup",), None),
}  # fmt: skip
FILES_CHANGED: dict[str, Fault] = {
    "file compressed at another level": Fault(
        rewrite(2, level=1, extra=40), "temp", ("temp/4.0.0",)),
    "file with a dataset in front": Fault(rewrite(2, extra=300), "temp", ("temp/4.0.0",)),
    "file with another scale_factor": _stale("temp", _TA, scale=0.2),
    "file with another add_offset": _stale("temp", _TA, offset=0.0),
    "file with other units": _stale("temp", _TA, units="degC"),
    "file with another epoch": _stale("time", _D, since="days since 2000-02-01"),
    "file with another calendar": _stale("time", _D, calendar="noleap"),
    "file with another data type": _stale("temp", _T, dtype="<i4"),
    "file with another byte order": _stale("temp", _T, dtype=">i2"),
    "file with another fill value": _stale("temp", fill=-1),
    "file without shuffle": _stale("temp", _T, shuffle=False),
    "file with chunks of another shape": _stale("temp", _T, chunks=(4, 2, 3)),
    "file with another grid": _stale("lat", lat=10.5),
    "file without a variable": _stale("wind", "wind/4.0.0", wind=False),
    "file with other times than the set holds": Fault(
        rewrite(2, hours=36), "time", (), of="of kerchunk", mends=False),
    "file with another grid than the set holds": Fault(
        rewrite(2, lat=10.5), "lat", (), of="of kerchunk", mends=False),
    "file cut by some bytes": _temp(cut(2, lambda size: size - 8), mends=False),
    "file cut in half": _temp(cut(2, lambda size: size // 2), mends=False),
    "file of no bytes": _temp(cut(2, lambda size: 0), mends=False),
    "last file cut": _temp(cut(4, lambda size: size - 8), file="f4.nc", mends=False),
    "web page for a file": _temp(replace(2, lambda size: PAGE), mends=False),
    "web page of the same size": _temp(
        replace(2, lambda size: PAGE.ljust(size, b"\n")), mends=False),
    "file gone": _temp(gone(2), mends=False),
    "file replaced by the one before": Fault(
        copied(2, 1), "time", (), of="of kerchunk", mends=False),
}  # fmt: skip
HELD: dict[str, Fault] = {
    "a time that the set holds": Fault(
        hold("time/0", set_float(9, 90.0)), "time", ("time/0",), of="of kerchunk", mends=False),
    "a latitude that the set holds": Fault(
        hold("lat/0", set_float(2, 30.01)), "lat", ("lat/0",), "f0.nc", "of kerchunk",
        mends=False),
    "a coordinate that the set holds, too short": Fault(
        hold("lon/0", lambda data: data[:-8]), "lon", ("lon/0",), None, "of kerchunk",
        mends=False),
    "a coordinate that the set held is lost": Fault(
        drop("lat/0"), "lat", ("lat/0",), "f0.nc", "of kerchunk"),
    "the joined coordinate that the set held is lost": Fault(
        drop("time/0"), "time", ("time/0",), "f0.nc", "of kerchunk", mends=False),
    "a held chunk of other values": Fault(
        put("wind/4.0.0", inline(zlib.compress(_FIVES))),
        "wind", ("wind/4.0.0",), mends=False),
    "a held chunk that cannot be decoded": Fault(
        hold("temp/4.0.0", lambda data: data[::-1]), "temp", ("temp/4.0.0",), None, mends=False),
    "a held chunk of another place": Fault(
        both(same_as("temp/4.0.0", "temp/6.0.0"), hold("temp/4.0.0", bytes)),
        "temp", ("temp/4.0.0",), mends=False),
    "a held chunk of half its length": Fault(
        hold("time/2", lambda data: data[:16]), "time", ("time/2",), None, mends=False),
    "text for a chunk": Fault(
        put("temp/4.0.0", "f2.nc"), "temp", ("temp/4.0.0",), None,
        mends=False),
}  # fmt: skip
FORMS: dict[str, Fault] = {
    "template of another file": Fault(
        template("f2", "f1.nc"), "temp", ("temp/4.0.0",), "f1.nc", "with templates", mends=False),
    "template of a file that is not there": Fault(
        template("f2", "f7.nc"), "temp", ("temp/4.0.0",), "f7.nc", "with templates", mends=False),
    "template lost": Fault(
        template("f2", None), "temp", ("temp/4.0.0",), None, "with templates", mends=False),
    "stride of offsets too small": Fault(
        gen_text(0, "offset", f"* {FLOW}", f"* {FLOW - 8}"), "flow", ("flow/2.0",), "f0.nc",
        "with gen"),
    "stride of offsets twice": Fault(
        gen_text(1, "offset", f"* {FLOW}", f"* {2 * FLOW}"), "flow", ("flow/1.0",), "f0.nc",
        "with gen"),
    "start of offsets": Fault(
        gen_text(0, "offset", "{{ ", "{{ 8 + "), "flow", ("flow/0.0",), "f0.nc", "with gen"),
    "length of generated ranges": Fault(
        gen(0, length=str(FLOW - 8)), "flow", ("flow/0.0",), "f0.nc", "with gen"),
    "generated rows off by one": Fault(
        gen_text(0, "offset", "(i % 4)", "((i + 1) % 4)"), "flow", ("flow/0.0",), "f0.nc",
        "with gen"),
    "generated files off by one": Fault(
        gen_text(0, "url", "{{ i // 4 }}", "{{ (i // 4 + 1) % 5 }}"), "flow", ("flow/0.0",),
        "f1.nc", "with gen"),
    "last generated key lost": Fault(
        gen(1, dimensions=times(1, 19, 2)), "flow", ("flow/19.0",), "f4.nc", "with gen"),
    "first generated key lost": Fault(
        gen(0, dimensions=times(2, 20, 2)), "flow", ("flow/0.0",), "f0.nc", "with gen"),
    "step of generated keys": Fault(
        gen(1, dimensions=times(1, 20, 4)), "flow", ("flow/3.0",), "f0.nc", "with gen"),
    "a gen item lost": Fault(
        lambda case: case.document["gen"].pop(), "flow", ("flow/1.0",), "f0.nc", "with gen"),
    "shape shorter than what is generated": _metadata(
        "flow/.zarray", "with gen", shape=[16, 6])._replace(file="f4.nc"),
    "record file lost": Fault(
        no_records("temp/refs.2.parq"), "temp", ("temp/3.1.0",), "f1.nc", "in parquet"),
    "record file of the joined coordinate lost": Fault(
        no_records("time/refs.0.parq"), "time", ("time/0",), "f0.nc", "in parquet"),
    "rows of records swapped": Fault(
        records("temp/refs.1.parq", swap_rows), "temp", ("temp/2.0.0",), "f1.nc",
        "in parquet"),
    "row of records empty": Fault(
        records("temp/refs.1.parq", null_row), "temp", ("temp/2.0.0",), "f1.nc", "in parquet"),
    "row of another file": Fault(
        records("temp/refs.1.parq", in_row(path=lambda path: "f3.nc")), "temp",
        ("temp/2.0.0",), "f3.nc", "in parquet"),
    "row of another offset": Fault(
        records("temp/refs.1.parq", in_row(offset=lambda offset: offset + 1)), "temp",
        ("temp/2.0.0",), "f1.nc", "in parquet"),
    "row of another length": Fault(
        records("temp/refs.1.parq", in_row(size=lambda size: size - 1)), "temp",
        ("temp/2.0.0",), "f1.nc", "in parquet"),
    "records of another number of rows": Fault(
        record_size(8), "temp", ("temp/1.1.1",), "f1.nc", "in parquet", False),
    "chunk of another group": Fault(
        swap("run/first/v/1", "run/second/v/1"), "run/first/v", ("run/first/v/1",), "f0.nc",
        "in groups"),
    "all chunks of another group": Fault(
        both(*[same_as(f"run/first/v/{n}", f"run/second/v/{n}") for n in range(4)]),
        "run/first/v", ("run/first/v/0",), "f0.nc", "in groups"),
    "metadata of a group lost": Fault(
        drop("run/first/.zgroup"), None, ("run/first/.zgroup",), None, "in groups"),
    "metadata of a group above lost": Fault(
        drop("run/.zgroup"), None, ("run/.zgroup",), None, "in groups"),
    "chunk lost in a group": Fault(
        drop("run/second/v/3"), "run/second/v", ("run/second/v/3",), "f0.nc", "in groups"),
    "chunk lost in Zarr v3": Fault(
        drop("v/c/1/0"), "v", ("v/c/1/0",), "f0.nc", "in Zarr v3"),
    "two chunks swapped in Zarr v3": Fault(
        swap("v/c/0/0", "v/c/3/0"), "v", ("v/c/0/0",), "f0.nc", "in Zarr v3"),
    "data type in Zarr v3": _metadata("v/zarr.json", "in Zarr v3", data_type="float32"),
    "byte order in Zarr v3": _metadata(
        "v/zarr.json", "in Zarr v3",
        codecs=[{"name": "bytes", "configuration": {"endian": "little"}}]),
    "a codec in Zarr v3": _metadata(
        "v/zarr.json", "in Zarr v3", codecs=[
            {"name": "bytes", "configuration": {"endian": "big"}}, {"name": "crc32c"}]),
    "scale_factor in Zarr v3": _metadata(
        "v/zarr.json", "in Zarr v3", attributes={"units": "K", "scale_factor": 2.0}),
    "chunks of another shape in Zarr v3": _metadata(
        "v/zarr.json", "in Zarr v3",
        chunk_grid={"name": "regular", "configuration": {"chunk_shape": [4, 3]}}),
    "shape too short in Zarr v3": _metadata("v/zarr.json", "in Zarr v3", shape=[6, 6]),
    "dimensions lost in Zarr v3": _metadata(
        "v/zarr.json", "in Zarr v3", dimension_names=...)._replace(file=None),
    "root group lost in Zarr v3": Fault(
        drop("zarr.json"), None, ("zarr.json",), None, "in Zarr v3"),
    "message of another step": Fault(
        swap("t2m/1.0.0", "t2m/2.0.0"), "t2m", ("t2m/1.0.0",), "a.grib2", "of messages"),
    "message of another member": Fault(
        message("t2m/1.0.0", 4), "t2m", ("t2m/1.0.0",), "a.grib2", "of messages"),
    "message of another variable": Fault(
        message("t2m/1.0.0", 7), "t2m", ("t2m/1.0.0",), "a.grib2", "of messages"),
    "message lost": Fault(drop("t2m/1.0.0"), "t2m", ("t2m/1.0.0",), "a.grib2", "of messages"),
    "message too short": Fault(
        shift("t2m/1.0.0", 0, -1), "t2m", ("t2m/1.0.0",), "a.grib2", "of messages"),
    "messages cut": Fault(cut_messages, "t2m", ("t2m/2.0.0",), "a.grib2", "of messages", False),
    "steps of messages lost": Fault(
        drop("step/0"), "step", ("step/0",), None, "of messages", mends=False),
}  # fmt: skip
FAULTS: Mapping[str, Fault] = REFERENCES | METADATA | FILES_CHANGED | HELD | FORMS
assert FILES == 5
