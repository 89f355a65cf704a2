"""A manifest of Icechunk is read rightly or refused: nothing in it is passed over."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

import refexplorer as rx
from refexplorer.core.files import OwnFiles
from refexplorer.core.limits import Limits
from refexplorer.formats.icechunk.manifests import FlatTables, chunks_of, crockford
from tests.formats.icechunk.icechunk_two import COUNT, OF_ICECHUNK_1, ZIP

EXPECTED = {
    (number,): [f"s3://bucket/some/file_{number:05}.nc", number * 100, 2] for number in range(COUNT)
}
HEADER = 39


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with zipfile.ZipFile(ZIP) as archive:
        archive.extractall(tmp_path)
    return tmp_path


def manifest_of(repository: Path) -> Path:
    (found,) = (repository / "manifests").iterdir()
    return found


def content_of(manifest: Path) -> bytes:
    with zstandard.ZstdDecompressor().stream_reader(manifest.read_bytes()[HEADER:]) as stream:
        return stream.read()


BOX = {"box": "s3://bucket/"}
"""The virtual chunk container of the repositories."""


def node_of(manifest: Path) -> str:
    (array,) = FlatTables.root(content_of(manifest)).tables(1)
    return crockford(array.bytes_at(0, 8) or b"")


def read(manifest: Path, node: str | None = None) -> dict[tuple[int, ...], object]:
    found: dict[tuple[int, ...], object] = {}
    for chunks in chunks_of(
        str(manifest), node or node_of(manifest), Limits(), OwnFiles().open, BOX
    ):
        columns = (chunks.urls.to_pylist(), chunks.offsets.tolist(), chunks.lengths.tolist())
        values = map(list, zip(*columns, strict=True))
        found |= dict(zip(map(tuple, chunks.indices.tolist()), values, strict=True))
    return found


def refusal(manifest: Path, node: str | None = None) -> str:
    with pytest.raises(rx.errors.SourceError) as caught:
        read(manifest, node)
    sentence = str(caught.value)
    assert sentence.startswith(f"The manifest {str(manifest)!r} (Icechunk specification ")
    assert sentence.endswith(".")
    return sentence


@pytest.mark.parametrize("name", ["first", "few", "compressed", "relative"])
def test_locations_of_both_versions_are_read(folder: Path, name: str) -> None:
    assert read(manifest_of(folder / name)) == EXPECTED


def test_a_container_that_is_not_known(folder: Path) -> None:
    BOX.clear()
    try:
        said = refusal(manifest_of(folder / "relative"))
    finally:
        BOX["box"] = "s3://bucket/"
    assert "has the location vcc://box/some/file_00000.nc, relative to" in said


@OF_ICECHUNK_1
@pytest.mark.parametrize("name", ["compressed", "relative"])
def test_nothing_of_such_a_repository_opens(folder: Path, name: str) -> None:
    pytest.importorskip("icechunk")
    with pytest.raises(
        rx.errors.SourceError, match=r"specification 2, written by|upgrade the icechunk"
    ):
        rx.open_references(folder / name)


def test_a_repository_of_version_1_by_icechunk_2_opens(folder: Path) -> None:
    pytest.importorskip("icechunk")
    refs = rx.open_references(folder / "first")
    assert {key: refs.to_v0()[key] for key in refs if key != "zarr.json"}.items() >= {
        f"x/c/{index[0]}": value for index, value in EXPECTED.items()
    }.items()


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (36, 3, "(Icechunk specification 3, written by ic-2.3.0) is of an unknown version"),
        (36, 0, "is of an unknown version; refexplorer reads 1 and 2."),
        (37, 1, "is a file of another kind (1)."),
        (38, 2, "has an unknown compression (2)."),
    ],
)
def test_a_header_that_is_not_known(folder: Path, place: int, value: int, said: str) -> None:
    manifest = manifest_of(folder / "few")
    node = node_of(manifest)
    data = bytearray(manifest.read_bytes())
    data[place] = value
    manifest.write_bytes(data)
    assert said in refusal(manifest, node)


def _manifest(root: FlatTables) -> FlatTables:
    return root


def _array(root: FlatTables) -> FlatTables:
    return root.tables(1)[:1]


def _chunk(root: FlatTables) -> FlatTables:
    return _array(root).tables(1)[-1:]


def moved(data: bytes, table: Any, fields: dict[int, int | None]) -> bytes:
    """Return a buffer in which fields of a table have other numbers, or none."""
    (at,), (layout,), slots = table._places, table._layouts, (int(table._sizes[0]) - 4) // 2
    places = struct.unpack_from(f"<{slots}H", data, layout + 4)
    size = struct.unpack_from("<H", data, layout + 2)[0]
    new = [0] * (max([slots, *(number + 1 for number in fields.values() if number)]))
    for field, place in enumerate(places):
        number = fields.get(field, field)
        if number is not None and place:
            new[number] = place
    found = bytearray(data)
    struct.pack_into("<i", found, at, at - len(found))  # the table of places is at the end now
    return bytes(found) + struct.pack(f"<HH{len(new)}H", 4 + 2 * len(new), size, *new)


@pytest.mark.parametrize(
    ("table", "fields", "said"),
    [
        (_manifest, {3: 4}, "uses field 4 of Manifest, which refexplorer does not know."),
        (_array, {1: 5}, "uses field 5 of ArrayManifest, which refexplorer does not know."),
        (_chunk, {5: 8}, "has compressed locations and no dictionary for them"),
        (_chunk, {5: 9}, "uses field 9 of ChunkRef, which refexplorer does not know."),
        (_chunk, {2: 31}, "uses field 31 of ChunkRef, which refexplorer does not know."),
        (
            _chunk,
            {5: None},
            f"neither inline, native nor virtual: {COUNT - 1}.",
        ),
        (_chunk, {2: 4}, f"neither inline, native nor virtual: {COUNT - 1}."),
    ],
)
def test_a_field_that_is_not_known(
    folder: Path,
    table: Callable[[FlatTables], FlatTables],
    fields: dict[int, int | None],
    said: str,
) -> None:
    manifest = manifest_of(folder / "few")
    node, data = node_of(manifest), content_of(manifest)
    header = manifest.read_bytes()[:HEADER]
    manifest.write_bytes(header + zstandard.compress(moved(data, table(FlatTables.root(data)), {})))
    assert read(manifest, node) == EXPECTED
    changed = moved(data, table(FlatTables.root(data)), fields)
    manifest.write_bytes(header + zstandard.compress(changed))
    assert said in refusal(manifest, node)


def test_an_array_that_is_not_in_its_manifest(folder: Path) -> None:
    said = refusal(manifest_of(folder / "few"), "7TQBFH1D1X1B8")
    assert "lacks the array 7TQBFH1D1X1B8, which it has according to the snapshot." in said


def place_of(table: FlatTables, field: int) -> int:
    """Return where a vector says how many elements it has."""
    return int(table.vectors(field)[0][0]) - 4


@pytest.mark.parametrize(("field", "size"), [(0, 4), (5, 2)])
def test_vectors_that_overlap_are_bounded_together(folder: Path, field: int, size: int) -> None:
    manifest = manifest_of(folder / "few")
    node, data = node_of(manifest), bytearray(content_of(manifest))
    for chunk in _array(FlatTables.root(bytes(data))).tables(1):
        struct.pack_into("<I", data, place_of(chunk, field), len(data) // size)
    manifest.write_bytes(manifest.read_bytes()[:HEADER] + zstandard.compress(bytes(data)))
    with pytest.raises(rx.errors.LimitError, match=r"larger than `Limits\.document_bytes`"):
        list(
            chunks_of(
                str(manifest), node, Limits(document_bytes=2 * len(data)), OwnFiles().open, {}
            )
        )


@pytest.mark.parametrize(
    ("field", "count", "said"),
    [
        (0, 2, "has chunks of one array with indices of different lengths."),
        (0, 2**32 - 1, "has chunks of one array with indices of different lengths."),
        (5, 2**31, "cannot be read: a string is outside the file."),
    ],
)
def test_a_vector_that_is_longer_than_it_can_be(
    folder: Path, field: int, count: int, said: str
) -> None:
    manifest = manifest_of(folder / "few")
    node, data = node_of(manifest), bytearray(content_of(manifest))
    struct.pack_into("<I", data, place_of(_chunk(FlatTables.root(bytes(data))), field), count)
    manifest.write_bytes(manifest.read_bytes()[:HEADER] + zstandard.compress(bytes(data)))
    with pytest.raises(rx.errors.SourceError) as caught:
        read(manifest, node)
    assert str(caught.value).endswith(said)


def test_a_vector_of_more_tables_than_the_file_can_hold(folder: Path) -> None:
    manifest = manifest_of(folder / "few")
    node, data = node_of(manifest), bytearray(content_of(manifest))
    struct.pack_into("<I", data, place_of(_array(FlatTables.root(bytes(data))), 1), 2**32 - 1)
    manifest.write_bytes(manifest.read_bytes()[:HEADER] + zstandard.compress(bytes(data)))
    with pytest.raises(
        rx.errors.SourceError, match="cannot be read: a vector is longer than the file"
    ):
        read(manifest, node)
