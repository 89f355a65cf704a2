"""Chunks, URLs and copies of metadata that cannot be meant are noted, and good ones are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

import refexplorer as rx

CODES = {
    "chunk-length", "empty-chunk", "swapped-ranges", "odd-url", "metadata-copies-differ",
    "chunk-outside-grid", "dimension-sizes-differ", "orphan-chunk",
}  # fmt: skip


def metadata(shape: int = 60, chunk: int = 10, **fields: Any) -> str:
    return json.dumps(
        {
            "zarr_format": 2, "shape": [shape], "chunks": [chunk], "dtype": "<i4",
            "compressor": None, "filters": None, "order": "C", "fill_value": None,
        } | fields
    )  # fmt: skip


def document(chunks: dict[str, Any], name: str = "x", **fields: Any) -> dict[str, Any]:
    """An array `x` of six chunks of 40 bytes, with other chunks and fields."""
    good = {f"{name}/{number}": ["s3://b/f.nc", 40 * number, 40] for number in range(6)}
    own = {f"{name}/.zarray": metadata(**fields), f"{name}/.zattrs": '{"_ARRAY_DIMENSIONS": ["x"]}'}
    return own | good | {f"{name}/{key}": value for key, value in chunks.items()}


def found(source: Any) -> list[tuple[str, str | None, int]]:
    diagnostics = rx.open_references(source).diagnostics
    return [(each.code, each.key, each.count) for each in diagnostics if each.code in CODES]


def test_good_chunks_are_good() -> None:
    assert found(document({})) == []


def test_a_length_that_no_chunk_has() -> None:
    odd = {"2": ["s3://b/f.nc", 80, 39], "4": ["s3://b/f.nc", 160, 41]}
    assert found(document(odd)) == [("chunk-length", "x/2", 2)]
    assert found(document(odd, compressor={"id": "zlib"})) == []
    assert found(document({"1": ["s3://c/whole"]})) == []


def test_inline_data_that_is_too_short() -> None:
    assert found(document({"1": "abc"})) == [("chunk-length", "x/1", 1)]
    assert found(document({"1": "base64:AAAA"})) == [("chunk-length", "x/1", 1)]
    assert found(document({"1": "0123456789" * 4})) == []


def test_a_checksum_is_part_of_the_length() -> None:
    with_checksum = {str(n): ["s3://b/f.nc", 44 * n, 44] for n in range(6)}
    filters = [{"id": "shuffle", "elementsize": 4}, {"id": "fletcher32"}]
    assert found(document(with_checksum, filters=filters)) == []
    assert found(document({}, filters=filters)) == [("chunk-length", "x/0", 6)]


def test_no_bytes_at_all() -> None:
    empty = {"3": ["s3://b/f.nc", 120, 0]}
    assert found(document(empty)) == [("empty-chunk", "x/3", 1)]
    assert found(document(empty, compressor={"id": "zlib"})) == [("empty-chunk", "x/3", 1)]


@pytest.mark.parametrize(("one", "other"), [(1, 4), (2, 3), (0, 5), (4, 5)])
def test_two_chunks_with_each_others_ranges(one: int, other: int) -> None:
    swapped = {
        str(one): ["s3://b/f.nc", 40 * other, 40],
        str(other): ["s3://b/f.nc", 40 * one, 40],
    }
    assert found(document(swapped)) == [("swapped-ranges", f"x/{one}", 1)]


def test_two_files_with_each_others_places() -> None:
    files = {str(n): [f"s3://b/{2000 + n}.nc", 8, 40] for n in range(6)}
    assert found(document(files)) == []
    files["1"], files["3"] = files["3"], files["1"]
    assert found(document(files)) == [("swapped-ranges", "x/1", 1)]


def test_a_chunk_with_a_file_of_its_own_changed_places_with_none() -> None:
    files = {str(n): [f"s3://b/{n // 3}.nc", 40 * (n % 3), 40] for n in range(6)}
    assert found(document(files | {"4": ["s3://b/7.nc", 40, 40]})) == []


def test_an_offset_that_is_wrong_changed_places_with_none() -> None:
    far = {"2": ["s3://b/f.nc", 130, 40]}  # which overlaps the next chunk, where it would go
    assert found(document(far)) == []


def test_chunks_in_any_other_order_are_as_they_were_written() -> None:
    offsets = [3, 1, 5, 0, 4, 2]
    assert (
        found(document({str(n): ["s3://b/f.nc", 40 * at, 40] for n, at in enumerate(offsets)}))
        == []
    )
    backwards = {str(n): ["s3://b/f.nc", 40 * (5 - n), 40] for n in range(6)}
    assert found(document(backwards)) == []
    appended = {"2": ["s3://b/f.nc", 4000, 40]}  # written anew at the end of the file
    assert found(document(appended)) == []


def test_hdf5_puts_chunks_where_there_is_room() -> None:
    """An exchange would bring two chunks into order, and would leave gaps."""
    places = [0, 160, 90, 130, 45, 210]
    chunks = {str(n): ["s3://b/f.nc", at, 30] for n, at in enumerate(places)}
    assert found(document(chunks, compressor={"id": "zlib"})) == []


def test_keys_in_any_order_of_the_document() -> None:
    swapped = {"1": ["s3://b/f.nc", 160, 40], "4": ["s3://b/f.nc", 40, 40]}
    backwards = dict(reversed(document(swapped).items()))
    assert found(backwards) == [("swapped-ranges", "x/1", 1)]


@pytest.mark.parametrize(
    "url", ["s3://b/g.nc", "s3://b/ff.nc", "s3://b/.nc", "S3://b/f.nc", "s3://b/f.cn"]
)
def test_a_url_that_one_letter_sets_apart(url: str) -> None:
    assert found(document({"3": [url, 120, 40]})) == [("odd-url", "x/3", 1)]


def test_urls_of_a_series_differ_by_their_numbers() -> None:
    series = {str(n): [f"s3://b/{n + 8}.nc", 8, 40] for n in range(6)}
    assert found(document(series)) == [("odd-url", "x/3", 1)][:0]
    assert found(document(series | {"3": ["s3://b/11.nd", 8, 40]})) == [("odd-url", "x/3", 1)]


def test_arrays_with_files_of_their_own_are_no_neighbours() -> None:
    other = document({str(n): ["s3://b/v.nc", 40 * n, 40] for n in range(6)}, "v")
    assert found(document({}) | other) == []


def test_names_along_a_dimension_may_differ_by_a_letter() -> None:
    letters = {str(n): [f"s3://b/{letter}.nc", 8, 40] for n, letter in enumerate("abcdef")}
    assert found(document(letters)) == []


def test_copies_of_metadata_that_say_otherwise() -> None:
    good = document({})
    own = {key: json.loads(good[key]) for key in ("x/.zarray", "x/.zattrs")}

    def copied(entries: dict[str, Any]) -> list[tuple[str, str | None, int]]:
        text = json.dumps({"zarr_consolidated_format": 1, "metadata": entries})
        return found({".zmetadata": text, **good})

    assert copied(own) == []
    assert copied(own | {"x/.zarray": own["x/.zarray"] | {"shape": [61]}}) == [
        ("metadata-copies-differ", ".zmetadata", 1)
    ]
    assert copied({"x/.zarray": own["x/.zarray"]}) == [("metadata-copies-differ", ".zmetadata", 1)]
    assert copied(own | {"y/.zarray": {}}) == [("metadata-copies-differ", ".zmetadata", 1)]


def test_copies_in_a_group_of_version_3() -> None:
    array = {"zarr_format": 3, "node_type": "group", "attributes": {"a": 1}}

    def group(copy: dict[str, Any]) -> dict[str, str]:
        own = {"zarr_format": 3, "node_type": "group", "attributes": {}}
        copies = {"kind": "inline", "must_understand": False, "metadata": {"x": copy}}
        return {
            "zarr.json": json.dumps(own | {"consolidated_metadata": copies}),
            "x/zarr.json": json.dumps(array),
        }

    assert found(group(array)) == []
    assert found(group(array | {"attributes": {}})) == [("metadata-copies-differ", "zarr.json", 1)]


def test_a_dimension_of_two_lengths_in_a_group() -> None:
    longer = {"y/.zarray": metadata(70), "y/.zattrs": '{"_ARRAY_DIMENSIONS": ["x"]}'}
    assert found(document({}) | longer) == [("dimension-sizes-differ", "y/.zarray", 1)]
    in_a_group = {f"g/{key}": value for key, value in longer.items()}
    assert found(document({}) | in_a_group) == []


@pytest.mark.parametrize("scale", [1, 10**6])
def test_a_gen_item_that_runs_past_the_grid(scale: int) -> None:
    def generated(stop: int, length: str = "40") -> dict[str, Any]:
        item = {
            "key": "x/{{i}}", "url": "s3://b/f.nc", "offset": "{{i * 40}}", "length": length,
            "dimensions": {"i": {"stop": stop}},
        }  # fmt: skip
        refs = {"x/.zarray": metadata(60 * scale), "x/.zattrs": '{"_ARRAY_DIMENSIONS": ["x"]}'}
        return {"version": 1, "refs": refs, "gen": [item]}

    assert found(generated(6 * scale)) == []
    key = f"x/{6 * scale}"
    assert found(generated(6 * scale + 1)) == [("chunk-outside-grid", key, 1)]
    (short,) = found(generated(6 * scale, "39"))
    assert short == ("chunk-length", "x/0", 6 * scale)


@pytest.mark.parametrize(
    ("key", "codes"),
    [
        ("x/{{i}}", []),
        ("/x/{{i}}", [("orphan-chunk", "/x/0", 6), ("suspicious-key", "/x/0", 6)]),
        ("x//{{i}}", [("suspicious-key", "x//0", 6)]),
        ("y/{{i}}", [("orphan-chunk", "y/0", 6)]),
        ("x/{{i}}.0", [("chunk-wrong-rank", "x/0.0", 6)]),
        ("{{'xy'[i % 2]}}/{{i}}", [("orphan-chunk", "y/1", 3)]),
        ("x/{{i}}.txt", []),
    ],
)
def test_generated_keys_are_judged_as_written_ones(key: str, codes: list[Any]) -> None:
    item = {
        "key": key, "url": "s3://b/f.nc", "offset": "{{i * 40}}", "length": "40",
        "dimensions": {"i": {"stop": 6}},
    }  # fmt: skip
    refs = {"x/.zarray": metadata(60), "x/.zattrs": '{"_ARRAY_DIMENSIONS": ["x"]}'}
    generated = {"version": 1, "refs": refs, "gen": [item]}
    written = {name: value for name, value in rx.expand(generated).v0.items() if name not in refs}
    judged = [
        (each.code, each.key, each.count)
        for each in rx.open_references(generated).diagnostics
        if each.pointer == "/gen/0/key"
    ]
    assert sorted(judged) == codes
    every = {
        each.code for each in rx.open_references({"version": 1, "refs": refs | written}).diagnostics
    }
    assert {code for code, _, _ in codes} <= every


@pytest.mark.parametrize("count", [300_000, 10**9])
def test_of_very_many_generated_keys_the_ends_are_judged(count: int) -> None:
    item = {
        "key": "/x/{{i}}", "url": "s3://b/f.nc", "offset": "{{i * 40}}", "length": "40",
        "dimensions": {"i": {"stop": count}},
    }  # fmt: skip
    found = rx.open_references(
        {"version": 1, "refs": {".zgroup": {"zarr_format": 2}}, "gen": [item]}
    )
    noted = {each.code: each.count for each in found.diagnostics if each.pointer == "/gen/0/key"}
    assert noted == {"suspicious-key": count, "orphan-chunk": count}


def test_metadata_that_cannot_be_used_are_not_said_to_be_missing() -> None:
    (orphan,) = [
        each
        for each in rx.open_references(document({}, chunk=0)).diagnostics
        if each.code == "orphan-chunk"
    ]
    assert "`x/.zarray` cannot be used" in orphan.message


@pytest.mark.parametrize(("rank", "codes"), [(64, set()), (65, {"bad-metadata", "orphan-chunk"})])
def test_more_dimensions_than_arrays_have(rank: int, codes: set[str]) -> None:
    """The others of the set are not touched by it."""
    many = json.loads(metadata()) | {"shape": [1] * rank, "chunks": [1] * rank}
    source = document({}) | {"y/.zarray": many, f"y/{'.'.join('0' * rank)}": "base64:AAAAAA=="}
    diagnostics = rx.open_references(source).diagnostics
    noted = {each.code for each in diagnostics} & (CODES | {"bad-metadata"})
    assert noted == codes
    message = "The array has 65 dimensions; NumPy arrays, and so those of Zarr in Python, have at"
    assert any(message in each.message for each in diagnostics) == (rank > 64)


def test_the_chunk_of_a_scalar_without_its_index(tmp_path: Path) -> None:
    """VirtualiZarr writes it so, and no reader finds the value."""
    refs = {
        ".zgroup": '{"zarr_format": 2}',
        "flag/.zarray": json.dumps(
            json.loads(metadata()) | {"shape": [], "chunks": [], "fill_value": 0}
        ),
        "flag/.zattrs": '{"_ARRAY_DIMENSIONS": []}',
        "flag/": "abcd",
    }
    path = tmp_path / "set.json"
    path.write_text(json.dumps(refs))
    with xr.open_dataset(str(path), engine="kerchunk", mask_and_scale=False) as ds:
        assert ds.flag == 0
    report = rx.open_references(path).check()
    assert report.has_errors
    messages = {each.code: each.message for each in report.findings}
    assert "readers request `flag/0`" in messages["chunk-wrong-rank"]
    assert not rx.open_references(refs | {"flag/0": "abcd"}).check().has_errors
