"""Findings with their gains, bounds, what is not known, and what costs nothing."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.checks.advice.accesses import part_of
from refexplorer.checks.advice.requests import OURS, Reads
from refexplorer.core.errors import RefexplorerError
from refexplorer.io.fetch.targets import RangeOfKey, merged
from tests.helpers.costly_sets import costly_sets

URL = "https://host.example/f"


def made(shape: list[int], chunks: list[int], refs: dict[str, Any], **more: Any) -> rx.ReferenceSet:
    """Open a set with one array ``x`` of int32."""
    plain = {"zarr_format": 2, "compressor": None, "filters": None, "order": "C", "fill_value": 0}
    metadata = plain | {"shape": shape, "chunks": chunks, "dtype": "<i4"} | more
    names = ["time", "y", "x_"][: len(shape)]
    fixed = {
        ".zgroup": '{"zarr_format": 2}',
        "x/.zarray": json.dumps(metadata),
        "x/.zattrs": json.dumps({"_ARRAY_DIMENSIONS": names}),
    }
    return rx.open_references(fixed | refs)


def found(advice: rx.types.Advice, code: str) -> list[rx.types.AdviceFinding]:
    return [each for each in advice.findings if each.code == code]


def reader(cost: rx.types.AccessCost, name: str) -> rx.types.ReaderCost:
    return next(each for each in cost.readers if each.reader == name)


def test_coordinates_in_many_chunks_are_found_with_what_inlining_gains() -> None:
    costly = costly_sets("https://host.example")["file for each time"]
    refs = rx.open_references(costly.refs)
    advice = refs.advise()
    (finding,) = found(advice, "inline-coordinates")
    # 7 chunks of times, the first and last of them once more, and one of y that is not inline
    assert (finding.requests, finding.requests_after, finding.bytes_after) == (10, 0, 0)
    assert "time, y" in finding.message
    held = {f"time/{n}": "base64:AAAAAA==" for n in range(7)}
    assert rx.open_references(costly.refs | held).advise().opening[0].chunks == 1


def test_kerchunk_inlines_them_as_the_finding_says(tmp_path: Path) -> None:
    kerchunk = pytest.importorskip("kerchunk.utils")
    costly = costly_sets(f"file://{tmp_path}")["file for each time"]
    for path, body in costly.files.items():
        (tmp_path / path.strip("/")).write_bytes(body)
    refs = rx.open_references(costly.refs)
    (finding,) = found(refs.advise(), "inline-coordinates")
    assert finding.remedy.startswith("refexplorer convert dict out.json --inline-coordinates;")
    function, _, arguments = finding.remedy.split("; ")[1].partition("(")
    assert function == "kerchunk.utils.inline_array"
    inlined = eval(f"kerchunk.inline_array({arguments}", {"kerchunk": kerchunk, "refs": refs})
    cost = rx.open_references(dict(inlined)).advise().opening[0]
    assert (cost.chunks, reader(cost, "zarr").requests) == (0, 0)


def test_uncompressed_chunks_can_be_divided_as_kerchunk_does() -> None:
    kerchunk = pytest.importorskip("kerchunk.utils")
    size = 4 * 4 * 600_000
    chunks = {f"x/{n}.0": [URL, size * n, size] for n in range(2)}
    refs = made([8, 600_000], [4, 600_000], chunks)
    (finding,) = found(refs.advise(), "subchunk")
    assert (finding.access, finding.bytes, finding.bytes_after) == ("one slice", size, size // 4)
    assert "kerchunk.utils.subchunk(refs.to_v0(), 'x', 4)" in finding.remedy
    assert finding.remedy.startswith("refexplorer convert dict out.json --subchunk x=4;")
    divided = rx.open_references(kerchunk.subchunk(refs.to_v0(), "x", 4))
    cost = next(each for each in divided.advise().accesses if each.name == "one slice")
    assert (reader(cost, "zarr").requests, reader(cost, "zarr").bytes) == (1, size // 4)
    # of smaller chunks it would save microseconds
    small = made([8, 6], [4, 6], {f"x/{n}.0": [URL, 96 * n, 96] for n in range(2)})
    assert not found(small.advise(), "subchunk")


@pytest.mark.parametrize(
    "more",
    [{"compressor": {"id": "zlib", "level": 1}}, {"order": "F"}, {"filters": [{"id": "shuffle"}]}],
)
def test_chunks_that_cannot_be_divided_are_not_said_to_be(more: dict[str, Any]) -> None:
    size = 4 * 4 * 600_000
    chunks = {f"x/{n}.0": [URL, size * n, size] for n in range(2)}
    refs = made([8, 600_000], [4, 600_000], chunks, **more)
    assert not found(refs.advise(), "subchunk")


def test_ranges_that_lie_together_are_found() -> None:
    together = {f"x/{n}": [URL, 4 * n, 4] for n in range(50)}
    apart = {f"x/{n}": [URL, 10**6 * n, 4] for n in range(50)}
    (finding,) = found(made([50], [1], together).advise(), "asked-apart")
    assert (finding.requests, finding.requests_after) == (50, 1)
    advice = made([50], [1], apart).advise()
    assert not found(advice, "asked-apart")
    (finding,) = found(advice, "few-at-a-time")
    assert finding.seconds_gained == pytest.approx(0.15 - 0.03, rel=0.01)


def test_findings_come_by_what_they_gain() -> None:
    costly = costly_sets("https://host.example")["file for each time"]
    gains = [each.seconds_gained for each in rx.open_references(costly.refs).advise().findings]
    known = [gain for gain in gains if gain is not None]
    assert len(known) > 1
    assert known == sorted(known, reverse=True)
    assert gains[: len(known)] == known


def test_the_layout_bounds_what_merging_can_do() -> None:
    costly = costly_sets("https://host.example")["file for each time"]
    bounds = rx.open_references(costly.refs).advise().bounds
    (bound,) = [each for each in bounds if each.access == "one time series"]
    assert (bound.least_requests, bound.copy_requests) == (7, 1)
    assert "the files need at least 7 requests" in str(bound)


def test_bytes_of_whole_files_are_not_known_and_requests_are() -> None:
    refs = made([2, 3], [1, 3], {"x/0.0": [URL], "x/1.0": [URL]})
    advice = refs.advise()
    cost = next(each for each in advice.accesses if each.name == "all of it")
    zarr, ours = reader(cost, "zarr"), reader(cost, "refexplorer")
    assert (zarr.requests, zarr.bytes, zarr.seconds) == (2, None, None)
    assert (ours.requests, cost.least_bytes, cost.files) == (1, None, 1)
    assert "whole files" in cost.unknown[0]
    assert json.loads(json.dumps(advice.to_dict()))["accesses"][-1]["readers"][0]["bytes"] is None


def test_a_part_of_a_shard_is_not_known() -> None:
    inner = {"name": "bytes", "configuration": {"endian": "little"}}
    sharding = {"chunk_shape": [1, 2], "codecs": [inner], "index_codecs": [inner]}
    metadata = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [4, 4],
        "data_type": "int32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 4]}},
        "chunk_key_encoding": {"name": "default"},
        "codecs": [{"name": "sharding_indexed", "configuration": sharding}],
        "fill_value": 0,
        "attributes": {},
    }
    keys = {f"x/c/{n}/0": [URL, 100 * n, 100] for n in range(2)}
    refs = rx.open_references({"x/zarr.json": json.dumps(metadata)} | keys)
    costs = {each.name: each for each in refs.advise().accesses}
    assert reader(costs["one slice"], "zarr").requests is None
    assert reader(costs["all of it"], "zarr").requests == 2


def test_chunks_that_the_set_holds_or_lacks_cost_nothing() -> None:
    refs = made([3], [1], {"x/0": "base64:AAAAAA==", "x/1": [URL, 0, 4]})
    (cost,) = refs.advise().accesses
    assert (cost.chunks, cost.held, cost.absent, cost.used, cost.decoded) == (1, 1, 1, 8, 8)


def generated(length: str = "40") -> rx.ReferenceSet:
    """Open a set of 10^12 generated chunks."""
    item = {
        "key": "x/{{t}}.{{y}}.0",
        "url": "{{u}}",
        "offset": "{{(y * 40)}}",
        "length": length,
        "dimensions": {"t": {"stop": 10**6}, "y": {"stop": 10**6}},
    }
    metadata = {"zarr_format": 2, "shape": [10**6, 10**6, 10], "chunks": [1, 1, 10], "dtype": "<i4",
                "compressor": None, "filters": None, "order": "C", "fill_value": 0}  # fmt: skip
    refs = {"x/.zarray": json.dumps(metadata)}
    document = {"version": 1, "templates": {"u": "s3://b/f"}, "gen": [item], "refs": refs}
    return rx.open_references(document)


def test_a_gen_of_a_million_million_keys_is_reported_by_arithmetic() -> None:
    costs = generated().advise().accesses
    for cost, count in zip(costs, (10**6, 10**6, 10**12), strict=True):
        zarr = reader(cost, "zarr")
        assert (zarr.requests, zarr.bytes) == (count, 40 * count)
        assert reader(cost, "refexplorer").requests is None
        assert cost.unknown
    varying = generated(length="{{t + 1}}").advise().accesses[-1]
    assert reader(varying, "zarr").requests is None


@pytest.mark.parametrize("seed", range(20))
def test_merging_is_that_of_the_reader_itself(seed: int) -> None:
    """Of random ranges, some inside others: against our `merged`."""
    from refexplorer.io.access import Place

    rng = random.Random(seed)
    scale = rng.choice([10**4, 10**6, 10**7])
    ranges = [
        (rng.randrange(3), rng.randrange(40 * scale), 1 + rng.randrange(scale))
        for _ in range(rng.randrange(1, 60))
    ]
    files, offsets, lengths = (np.array(column, np.int64) for column in zip(*ranges, strict=True))
    reads = Reads(files, offsets, lengths)
    wanted = [RangeOfKey("", str(f), Place("", "", "", str(f)), o, o + n) for f, o, n in ranges]
    ours = [(each.end or 0) - each.start for each in merged(wanted)]
    starts, ends = reads.requests(OURS)
    assert (ends - starts).tolist() == ours


@pytest.mark.parametrize("extent", [2**62, 10**30])
def test_arrays_beyond_64_bits_are_not_known(extent: int) -> None:
    for shape, chunks in (([extent], [1]), ([extent, extent], [extent, extent])):
        refs = made(shape, chunks, {"x/" + ".".join("0" * len(shape)): [URL, 0, 4]})
        for cost in refs.advise({"x": [0]}).accesses:
            assert reader(cost, "zarr").requests is None
            assert cost.unknown


@pytest.mark.parametrize("seed", range(30))
def test_chunks_and_values_of_a_part_are_those_that_numpy_selects(seed: int) -> None:
    rng = random.Random(seed)
    shape, chunks = ([rng.randint(1, top) for _ in range(2)] for top in (9, 5))
    refs = made(shape, chunks, {})
    array = refs.array("x")
    indices = np.array(list(np.ndindex(*array.grid)), np.int64)
    choices: list[int | slice] = [
        slice(None),
        slice(None, None, -1),
        0,
        -1,
        slice(1, 5),
        slice(None, None, 2),
    ]
    part = [rng.choice(choices) for _ in shape]
    values = np.zeros(shape, np.int64)
    values[tuple(part)] = 1
    rows, places = part_of(array, part).select(indices)
    expected = {}
    for index in indices.tolist():
        sides = [slice(i * c, (i + 1) * c) for i, c in zip(index, chunks, strict=True)]
        if count := int(values[tuple(sides)].sum()):
            expected[tuple(index)] = count
    found = zip(indices[rows].tolist(), places.tolist(), strict=True)
    assert {tuple(index): count for index, count in found} == expected
    assert part_of(array, part).chunk_count == len(expected)


def test_an_overlap_is_counted_once_in_the_least_bytes() -> None:
    spans = [(0, 100), (50, 100), (60, 20), (200, 10)]
    refs = made([4], [1], {f"x/{n}": [URL, *span] for n, span in enumerate(spans)})
    (cost,) = refs.advise().accesses
    assert (reader(cost, "zarr").bytes, cost.least_bytes) == (230, 160)


def test_a_large_document_is_said_to_be_better_as_parquet() -> None:
    keys = {f"x/{n}.0": [f"https://host.example/{n // 100}.nc", n, 4] for n in range(110_000)}
    advice = made([110_000, 1], [1, 1], keys).advise()
    (finding,) = found(advice, "json-to-parquet")
    assert "refexplorer convert" in finding.remedy
    assert "--record-size auto" in finding.remedy
    assert "a record size of 100,000" in finding.message  # a time series takes all of them
    assert finding.seconds_gained is None


def test_small_chunks_are_found_with_what_larger_ones_gain() -> None:
    apart = {f"x/{n}.0": [f"s3://b/{n}", 0, 400] for n in range(500)}
    advice = made([500, 100], [1, 100], apart).advise()
    (finding,) = found(advice, "small-chunks")
    assert (finding.requests, finding.requests_after, finding.bytes_after) == (500, 1, 200_000)
    assert finding.seconds_gained == pytest.approx(49 * 0.03, rel=0.01)  # of 50 waits for ten
    assert not found(made([500, 10**7], [1, 10**7], apart).advise(), "large-chunks")
    large = {key: [each[0], 0, 2**23] for key, each in apart.items()}
    assert not found(made([500, 2**21], [1, 2**21], large).advise(), "small-chunks")


def test_chunks_of_which_little_is_used_are_found() -> None:
    compressed = {"compressor": {"id": "zlib", "level": 1}}
    keys = {f"x/0.{n}": [f"s3://b/{n}", 0, 10**8] for n in range(4)}
    advice = made([1_000, 400_000], [1_000, 100_000], keys, **compressed).advise()
    several = found(advice, "large-chunks")
    assert {each.access for each in several} == {"one slice", "one time series"}
    (finding,) = [each for each in several if each.access == "one slice"]
    assert (finding.bytes, finding.bytes_after) == (4 * 10**8, 400_000)
    assert "0.10% of 400 MB in 4 requests are used" in finding.message
    assert "Writing a copy takes about" in finding.message
    plain = {key: [each[0], 0, 4 * 10**8] for key, each in keys.items()}
    divided = made([1_000, 400_000], [1_000, 100_000], plain).advise()
    assert not [each for each in found(divided, "large-chunks") if each.access == "one slice"]
    assert found(divided, "subchunk")


def test_groups_that_are_opened_one_by_one_are_found(tmp_path: Path) -> None:
    array = made([3], [3], {}).to_v0()["x/.zarray"]
    names = ("a", "b", "c")
    keys = {f"{name}/x/.zarray": array for name in names}
    path = tmp_path / "a.json"
    path.write_text(json.dumps({".zgroup": '{"zarr_format": 2}'} | keys))
    size = path.stat().st_size
    (finding,) = found(rx.open_references(path).advise(), "groups-apart")
    assert (finding.requests, finding.requests_after) == (3, 1)
    assert (finding.bytes, finding.bytes_after) == (3 * size, size)
    path.write_text(json.dumps({"a/x/.zarray": array}))
    assert not found(rx.open_references(path).advise(), "groups-apart")


def test_what_a_copy_takes_and_gains_is_reported() -> None:
    compressed = {"compressor": {"id": "zlib", "level": 1}}
    keys = {f"x/{n}.0": [f"s3://b/{n}", 0, 10**6] for n in range(100)}
    advice = made([100, 500_000], [1, 500_000], keys, **compressed).advise()
    (bound,) = [each for each in advice.bounds if each.access == "one time series"]
    whole = next(each for each in advice.accesses if each.name == "all of it")
    assert bound.copy_bytes == 2 * 10**8
    assert bound.copy_seconds is not None
    assert bound.copy_seconds > (reader(whole, "zarr").seconds or 0)
    assert bound.seconds_gained is not None
    assert 0 < bound.seconds_gained < (reader(whole, "zarr").seconds or 0)
    times = -(-bound.copy_seconds // bound.seconds_gained)
    assert f"worth it from {times:.0f} such access" in str(bound)


def test_what_cannot_be_asked_is_refused() -> None:
    refs = made([2, 3], [1, 3], {"x/0.0": [URL, 0, 12]})
    with pytest.raises(KeyError):
        refs.advise({"nosuch": [0]})
    odd: list[Any] = [[0, 0, 0], [5], {"lat": 1}, "time=2"]
    for part in odd:
        with pytest.raises(RefexplorerError):
            refs.advise({"x": part})
    with pytest.raises(RefexplorerError, match="known location"):
        refs.advise(place="moon")


def test_the_text_says_what_is_assumed_and_who_reads() -> None:
    refs = made([8, 6], [4, 6], {f"x/{n}.0": [URL, 96 * n, 96] for n in range(2)})
    place = rx.Connection("our cluster", 0.01, 1e6, 1e7)
    text = str(refs.advise({"x": [slice(0, 2)]}, place=place))
    assert "our cluster: 10 ms to the first byte" in text
    assert "(assumed)" in text
    assert "x, as given ([0:2, :])" in text
    assert "async.concurrency" in text


@pytest.mark.parametrize(
    ("dimensions", "coordinate", "names"),
    [
        (["time", "y", "x_"], {}, ["one map", "one time series"]),
        (["time", "station"], {}, ["one slice", "one time series"]),
        (["step", "y", "x_"], {"units": "hours since 2000-01-01"}, ["one map", "one time series"]),
        (["step", "y"], {"axis": "T"}, ["one slice", "one time series"]),
        (["step", "y"], {"standard_name": "time"}, ["one slice", "one time series"]),
        (["step", "y"], {"dtype": "<M8[s]"}, ["one slice", "one time series"]),
        (["step", "y", "x_"], {"units": "hours"}, ["one slice", "along the first dimension"]),
        (["y", "time"], {}, ["one slice", "along the first dimension"]),
        (["time"], {}, []),
        ([], {}, []),
    ],
)
def test_accesses_are_named_by_what_the_first_dimension_is(
    dimensions: list[str], coordinate: dict[str, str], names: list[str]
) -> None:
    def array(path: str, *names: str, **attributes: str) -> dict[str, str]:
        metadata = {"zarr_format": 2, "shape": [2] * len(names), "chunks": [1] * len(names),
                    "dtype": attributes.pop("dtype", "<i4"), "compressor": None, "filters": None,
                    "order": "C", "fill_value": 0}  # fmt: skip
        described = json.dumps({"_ARRAY_DIMENSIONS": names} | attributes)
        return {f"{path}/.zarray": json.dumps(metadata), f"{path}/.zattrs": described}

    refs = {".zgroup": '{"zarr_format": 2}', **array("g/x", *dimensions)}
    refs |= array("g/step", "step", **coordinate) if coordinate else {}
    costs = rx.open_references(refs).advise().accesses
    assert [each.name for each in costs if each.path == "g/x"] == [*names, "all of it"]
