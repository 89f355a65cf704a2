"""The six lessons: their texts, and their sets, each of which has one fault.

`make` writes a set next to copies of the demo files, some of which it changes by a few bytes, so
that no other package is needed. `three_forms` is for comparing tools and needs all three.
"""

from __future__ import annotations

import json
import os
import struct
import time
import tomllib
import warnings
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent
FILES = ("sst_2025-07.nc", "sst_2025-08.nc", "sst_2025-09.nc")
_DAYS = 6  # Days of a file. It has a chunk of `wind` for each of them, and of `sst` for every two
_COORDINATES = {
    "lat": (6168, 384), "lon": (6552, 768), "wind_lat": (7320, 96), "wind_lon": (7416, 192),
}  # fmt: skip
_TIME = 6144, 4 * _DAYS
_ROW = 48 * 4  # bytes of a row of `wind`
_SCALE, _SCALE_CHANGED = (struct.pack("<d", factor) for factor in (0.01, 0.005))
_DAY = 24 * 3600.0  # seconds
_HEADER = b"\0" * 512  # HDF5 lets a file begin with a user block of this size

References = dict[str, Any]
FileContents = dict[str, bytes]


class SetLesson(NamedTuple):
    """A lesson: its title, its steps in order, and the function that puts the fault into a set."""

    title: str
    steps: dict[str, str]  # Title → text, whose paragraphs are separated by blank lines
    spoil: Callable[[References, FileContents], None]


def _shifted(refs: References, files: FileContents) -> None:
    """Shift one file: one day of wind starts 24 points too late."""
    for key, reference in list(refs.items()):
        if isinstance(reference, list) and reference[0] != FILES[0]:
            del refs[key]
    for name in ("time", "sst", "wind"):
        _, *rest = json.loads(refs[f"{name}/.zarray"])["shape"]
        _change(refs, f"{name}/.zarray", shape=[_DAYS, *rest])
    for name in FILES[1:]:
        del files[name]
    refs["wind/3.0.0"][1] += _ROW // 2


def _joined(refs: References, files: FileContents) -> None:
    """Exchange the temperatures of August and September, but not times and winds."""
    half = _DAYS // 2
    for chunk in range(half, 2 * half):
        for part in ("0.0", "0.1"):
            one, other = f"sst/{chunk}.{part}", f"sst/{chunk + half}.{part}"
            refs[one], refs[other] = refs[other], refs[one]


def _packed(refs: References, files: FileContents) -> None:
    """Give the last file a different scale factor from the first, whose metadata the set has."""
    files[FILES[2]] = files[FILES[2]].replace(_SCALE, _SCALE_CHANGED)


def _missing(refs: References, files: FileContents) -> None:
    """Drop the reference of one chunk that the file has."""
    del refs["sst/4.0.1"]


def _stale(refs: References, files: FileContents) -> None:
    """Publish the last file again after creating the set: all bytes are moved by 512."""
    files[FILES[2]] = _HEADER + files[FILES[2]]


def _slow(refs: References, files: FileContents) -> None:
    """Give each day its own coordinate chunk, and each row of each day a wind chunk."""
    times = [refs.pop(f"time/{number}") for number in range(len(FILES))]
    for day in range(_DAYS * len(FILES)):
        name, start, _ = times[day // _DAYS]
        refs[f"time/{day}"] = [name, start + 4 * (day % _DAYS), 4]
        name, start, _ = refs.pop(f"wind/{day}.0.0")
        for row in range(24):
            refs[f"wind/{day}.{row}.0"] = [name, start + _ROW * row, _ROW]
    for key, chunks in (("time", [1]), ("wind", [1, 1, 48])):
        _change(refs, f"{key}/.zarray", chunks=chunks)


def _change(refs: References, key: str, **fields: Any) -> None:
    refs[key] = json.dumps(json.loads(refs[key]) | fields)


_SPOILERS = {
    "odd-day": _shifted,
    "cool-august": _joined,
    "warm-september": _packed,
    "two-warm-days": _missing,
    "it-worked-yesterday": _stale,
    "slow-map": _slow,
}
STEPS = {
    "story": "The complaint",
    "turn": "Your turn",
    "wrong": "What is wrong",
    "tools": "Other tools",
    "repair": "Repair",
    "letter": "What to write to the owner",
}
"""The fields of a text in `lessons.toml`, and their names on the page."""


def _lessons() -> dict[str, SetLesson]:
    texts = tomllib.loads((FOLDER / "lessons.toml").read_text(encoding="utf-8"))
    lessons = {}
    for number, (name, spoil) in enumerate(_SPOILERS.items(), 1):
        steps = {title: texts[name][field].strip() for field, title in STEPS.items()}
        lessons[name] = SetLesson(f"Lesson {number}: {texts[name]['title']}", steps, spoil)
    return lessons


LESSONS = _lessons()


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text, each in one line."""
    return [" ".join(each.split()) for each in text.split("\n\n")]


@cache
def _shared() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="refexplorer-lessons-")


@cache
def shared(name: str) -> Path:
    """Return the path of a lesson's set that is deleted when this process ends."""
    return make(name, Path(_shared().name).resolve() / name)


def make(name: str, folder: str | Path) -> Path:
    """Write the set of one lesson and its files into `folder`; return the path of the set."""
    folder = Path(folder)
    if name not in LESSONS:
        raise KeyError(f"There is no lesson {name!r}; the lessons are {', '.join(LESSONS)}.")
    files = {each: (FOLDER / each).read_bytes() for each in FILES}
    refs = _sound()
    LESSONS[name].spoil(refs, files)
    folder.mkdir(parents=True, exist_ok=True)
    for each, content in files.items():
        (folder / each).write_bytes(content)
        if content[: len(_HEADER)] != _HEADER:
            published = time.time() - 2 * _DAY
            os.utime(folder / each, (published, published))
    path = folder / f"{name}.json"
    path.write_text(json.dumps(refs, indent=1), encoding="utf-8")
    return path


def _sound() -> References:
    """Return the set of all files with its coordinates in the files, as VirtualiZarr needs."""
    refs: References = json.loads((FOLDER / "sst.v0.json").read_text(encoding="utf-8"))
    refs = {key: reference for key, reference in refs.items() if not key.startswith("land/")}
    for name, span in _COORDINATES.items():
        refs[f"{name}/0"] = [FILES[0], *span]
    for number, name in enumerate(FILES):
        refs[f"time/{number}"] = [name, *_TIME]
    _change(refs, "time/.zarray", chunks=[_DAYS])
    _change(refs, "sst/.zattrs", _FillValue=-32768)  # other tools need it there for Zarr v3
    return refs


def three_forms(path: Path, *, loaded: Iterable[str] = ()) -> dict[str, Any]:
    """Return a set as kerchunk's dict, VirtualiZarr's store and Icechunk's store."""
    # Icechunk's store has the values of the arrays in `loaded`, and references for the others.
    # Icechunk's references are dated yesterday, later than all files except one that was
    # republished: Icechunk does not read a file that is newer than its reference.
    import icechunk
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr.parsers import KerchunkJSONParser

    folder = path.resolve().parent
    refs = {
        key: [str(folder / value[0]), *value[1:]] if isinstance(value, list) else value
        for key, value in json.loads(path.read_text(encoding="utf-8")).items()
    }
    written = folder / "absolute.json"
    written.write_text(json.dumps({"version": 1, "refs": refs}), encoding="utf-8")
    store = KerchunkJSONParser()(written.as_uri(), ObjectStoreRegistry({"file://": LocalStore()}))

    icechunk.set_logs_filter("error")
    prefix, config = f"{folder.as_uri()}/", icechunk.RepositoryConfig.default()
    place = icechunk.local_filesystem_store(str(folder))
    # Icechunk 1 has no name for it and takes None, of which Icechunk 2.3 warns.
    access = getattr(icechunk.credentials, "LocalFileSystemAccess", None)
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(prefix, place))
    repository = icechunk.Repository.create(
        icechunk.local_filesystem_storage(mkdtemp(prefix="icechunk-", dir=folder)),
        config,
        authorize_virtual_chunk_access={prefix: access},
    )
    session = repository.writable_session("main")
    made = datetime.fromtimestamp(time.time() - _DAY, UTC)
    virtual = store.to_virtual_dataset(loadable_variables=list(loaded))
    virtual.vz.to_icechunk(session.store, last_updated_at=made)
    session.commit("references")
    return {
        "kerchunk": {"version": 1, "refs": refs},
        "VirtualiZarr": store,
        "Icechunk": repository.readonly_session("main").store,
    }


def datasets(forms: dict[str, Any]) -> dict[str, Any]:
    """Open each result of `three_forms` with xarray, as its users do."""
    import xarray as xr

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Numcodecs codecs are not")
        return {
            tool: xr.open_dataset(form, engine="kerchunk")
            if tool == "kerchunk"
            else xr.open_zarr(form, consolidated=False, zarr_format=3)
            for tool, form in forms.items()
        }
