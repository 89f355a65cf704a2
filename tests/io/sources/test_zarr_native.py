"""Chunks that Zarr has written, found from their files alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import pytest
import zarr
from zarr import codecs

from refexplorer.core.errors import FetchError
from refexplorer.core.limits import Limits
from refexplorer.formats.datafiles.data_file import DataFile, Unread
from refexplorer.io.access import AccessPolicy
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.sources.opening import open_native
from tests.helpers.servers import RangeServer

pytestmark = pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr version 3")
DATA = np.arange(6 * 10, dtype="i2").reshape(6, 10)
FORMS: dict[str, dict[str, Any]] = {
    "v2": {"zarr_format": 2, "compressors": numcodecs.Zlib(3)},
    "v2, slashes": {
        "zarr_format": 2,
        "chunk_key_encoding": {"name": "v2", "separator": "/"},
        "filters": numcodecs.Shuffle(2),
        "compressors": None,
    },
    "v3": {"zarr_format": 3, "compressors": codecs.ZstdCodec()},
    "v3, dots": {
        "zarr_format": 3,
        "chunk_key_encoding": {"name": "default", "separator": "."},
        "compressors": codecs.BloscCodec(),
    },
    "v3, as v2": {
        "zarr_format": 3,
        "chunk_key_encoding": {"name": "v2", "separator": "."},
        "serializer": codecs.BytesCodec(endian="big"),
    },
    "shards": {"zarr_format": 3, "shards": (4, 8)},
    "index first": {
        "zarr_format": 3,
        "shards": {"shape": (4, 8), "index_location": "start"},
        "compressors": None,
    },
}


def made(path: Path, form: str, name: str = "g/0", fill: float = -1) -> Any:
    group = zarr.open_group(path, mode="a", zarr_format=FORMS[form]["zarr_format"])
    options = {name: each for name, each in FORMS[form].items() if name != "zarr_format"}
    array = group.create_array(
        name, shape=DATA.shape, chunks=(2, 4), dtype="i2", fill_value=fill, **options
    )
    array[:] = DATA
    array.attrs["units"] = "K"
    return array


def chunk_files(folder: Path) -> Iterator[Path]:
    hidden = {"zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata"}
    return (
        path for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in hidden
    )


def targets(*allow: str, limits: Limits | None = None) -> Targets:
    return Targets(AccessPolicy(None, allow), None, limits or Limits())


@pytest.mark.parametrize("form", FORMS)
def test_a_chunk_is_known_by_the_metadata_above_it(form: str, tmp_path: Path) -> None:
    array = made(tmp_path / "s", form)
    reading = targets(str(tmp_path))
    seen = np.full(DATA.shape, -5, "i2")
    files = list(chunk_files(tmp_path / "s"))
    assert files
    for path in files:
        file = open_native(reading, str(path))
        assert file.form == "Zarr"
        name = file.names()[-1]
        native, chunks = file.array(name), file.chunks(name)
        assert native.shape == DATA.shape
        assert native.chunks == (2, 4)
        assert native.dtype == (">i2" if form == "v3, as v2" else "<i2")
        assert native.fill_value == -1
        assert native.attributes == {"units": "K"}
        for index, offset, length in zip(
            chunks.indices, chunks.offsets, chunks.lengths, strict=True
        ):
            place = tuple(slice(i * n, (i + 1) * n) for i, n in zip(index, (2, 4), strict=True))
            cut = tuple(
                slice(p.start, min(p.stop, n)) for p, n in zip(place, DATA.shape, strict=True)
            )
            seen[cut] = file.values(name, cut)
            if not native.filters:
                data = path.read_bytes()[offset : offset + length]
                part = np.frombuffer(data, native.dtype).reshape(2, 4)
                np.testing.assert_array_equal(part[:, : DATA[cut].shape[1]], DATA[cut])
    np.testing.assert_array_equal(seen, array[:])


def test_codecs_have_the_settings_that_decode(tmp_path: Path) -> None:
    found = {}
    for form in FORMS:
        made(tmp_path / form, form)
        path = next(chunk_files(tmp_path / form))
        file = open_native(targets(str(tmp_path)), str(path))
        found[form] = [
            (each.name, each.settings) for each in file.array(file.names()[-1]).filters or ()
        ]
    assert found == {
        "v2": [("zlib", {})],
        "v2, slashes": [("shuffle", {"elementsize": 2})],
        "v3": [("zstd", {})],
        "v3, dots": [("blosc", {})],
        "v3, as v2": [("zstd", {})],
        "shards": [("zstd", {})],
        "index first": [],
    }


def test_a_shard_is_an_array_of_shards_too(tmp_path: Path) -> None:
    made(tmp_path / "s", "shards")
    path = next(chunk_files(tmp_path / "s"))
    file = open_native(targets(str(tmp_path)), str(path))
    assert file.names() == ("0", "0/inner")
    assert file.other_names() == {"": "0"}
    assert file.array("").chunks == (4, 8)
    assert file.chunks("").indices.tolist() == [[0, 0]]
    assert file.chunks("").lengths.tolist() == [path.stat().st_size]
    np.testing.assert_array_equal(file.values("", (slice(0, 4), slice(2, 8))), DATA[:4, 2:8])
    path.write_bytes(path.read_bytes()[: 16 * 4 + 3])
    with pytest.raises(Unread, match="too short for a shard index"):
        open_native(targets(str(tmp_path)), str(path)).chunks("0/inner")
    path.write_bytes(b"\x01" * (16 * 4 + 4))
    with pytest.raises(Unread, match="points outside the file"):
        open_native(targets(str(tmp_path)), str(path)).chunks("0/inner")


def test_special_values(tmp_path: Path) -> None:
    group = zarr.open_group(tmp_path / "s", mode="w", zarr_format=2)
    group.create_array("f", shape=(2,), chunks=(2,), dtype=">f4", fill_value=np.nan)[:] = 1
    group.create_array("s", shape=(), dtype="S3", fill_value=b"ab")[...] = b"cd"
    group["f"].attrs["_ARRAY_DIMENSIONS"] = ["x"]
    file = open_native(targets(str(tmp_path)), f"{tmp_path}/s/f/0")
    assert np.isnan(file.array("f").fill_value)
    assert file.array("f").dtype == ">f4"
    assert file.array("f").dimensions == ("x",)
    scalar = open_native(targets(str(tmp_path)), f"{tmp_path}/s/s/0")
    assert scalar.array("s").fill_value == b"ab"
    assert scalar.chunks("s").indices.shape == (1, 0)
    assert scalar.values("s", ()).tolist() == b"cd"


def test_metadata_are_asked_for_once_for_all_chunks(tmp_path: Path, server: RangeServer) -> None:
    made(tmp_path / "s", "v3")
    for path in [*chunk_files(tmp_path / "s"), tmp_path / "s/g/0/zarr.json"]:
        server.files[f"/{path.relative_to(tmp_path)}"] = path.read_bytes()
    reading = targets(server.url)
    for path in chunk_files(tmp_path / "s"):
        file = open_native(reading, f"{server.url}/{path.relative_to(tmp_path)}")
        assert file.names() == ("0",)
    assert server.requests.count("/s/g/0/zarr.json") == 2


def test_what_is_no_chunk(tmp_path: Path, server: RangeServer) -> None:
    made(tmp_path / "s", "v2")
    reading = targets(str(tmp_path))
    for name in ("9.9", "0", "0.0.0", "x", "0.0x"):
        (tmp_path / "s/g/0" / name).write_bytes(b"bytes")
        with pytest.raises(Unread, match="cannot be compared"):
            open_native(reading, f"{tmp_path}/s/g/0/{name}")
    server.files["/s/0.0"] = b"bytes"
    server.statuses["/s/.zarray"] = 403
    with pytest.raises(Unread, match="cannot be compared"):
        open_native(targets(server.url), f"{server.url}/s/0.0")


def test_a_server_that_is_busy_is_a_failure(
    server: RangeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("refexplorer.io.fetch.http.FIRST_WAIT", 0)
    server.files["/s/0.0"] = b"bytes"
    server.statuses["/s/zarr.json"] = 503
    with pytest.raises(FetchError, match="503"):
        open_native(targets(server.url), f"{server.url}/s/0.0")


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"shape": "all"}, "are broken: `shape`"),
        ({"dtype": "<q9"}, "Zarr cannot read the data type"),
        ({"filters": [{"id": "pickle"}]}, "run arbitrary code"),
    ],
)
def test_broken_metadata(metadata: dict[str, Any], reason: str, tmp_path: Path) -> None:
    made(tmp_path / "s", "v2")
    path = tmp_path / "s/g/0/.zarray"
    path.write_text(json.dumps(json.loads(path.read_text()) | metadata))
    with pytest.raises(Unread, match=reason):
        open_native(targets(str(tmp_path)), f"{tmp_path}/s/g/0/0.0")


def test_values_of_another_chunk_are_elsewhere(tmp_path: Path) -> None:
    made(tmp_path / "s", "v2")
    file: DataFile = open_native(targets(str(tmp_path)), f"{tmp_path}/s/g/0/0.0")
    for selection in ((slice(0, 3), slice(0, 4)), (slice(2, 4), slice(0, 4))):
        with pytest.raises(Unread, match="these values are in others"):
            file.values("0", selection)
    (tmp_path / "s/g/0/0.1").write_bytes(b"no zlib")
    broken = open_native(targets(str(tmp_path)), f"{tmp_path}/s/g/0/0.1")
    with pytest.raises(Unread, match="cannot be decoded") as caught:
        broken.values("0", (slice(0, 2), slice(4, 8)))
    assert caught.value.why == "damaged"
    path = tmp_path / "s/g/0/.zarray"
    lacking = {"compressor": {"id": "no_such_codec"}}
    path.write_text(json.dumps(json.loads(path.read_text()) | lacking))
    unknown = open_native(targets(str(tmp_path)), f"{tmp_path}/s/g/0/0.0")
    with pytest.raises(Unread, match="cannot be decoded") as caught:
        unknown.values("0", (slice(0, 2), slice(0, 4)))
    assert caught.value.why == "library"
