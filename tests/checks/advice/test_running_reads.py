"""Accesses are counted block by block: as if all were looked at together, in as little memory."""

from __future__ import annotations

import json
import random
import tracemalloc
from collections import defaultdict
from typing import Any

import pytest

import refexplorer as rx
from refexplorer.checks.advice import requests as running_reads
from refexplorer.checks.advice.requests import OURS, PLACES, READERS, MergeRules
from refexplorer.refset import chunk_grid
from refexplorer.refset.chunk_grid import ChunkColumns

PLAIN = {"zarr_format": 2, "compressor": None, "filters": None, "order": "C", "fill_value": 0}
PLACE = PLACES["object-store"]
IN_ORDER = ("in order", "one file", "mixed in files", "overlapping", "whole files")
ORDERS = (*IN_ORDER, "files come again")


def array(extent: int) -> str:
    return json.dumps(PLAIN | {"shape": [extent], "chunks": [1], "dtype": "<i4"})


def references(order: str, rng: random.Random) -> dict[str, Any]:
    """Return chunks of ``x``, with gaps and empty ones among them."""
    count, files = rng.randint(150, 400), 1 if order == "one file" else rng.randint(2, 12)
    found, ends = dict[str, Any](), defaultdict[int, int](int)
    for number in range(count):
        file = number % files if order == "files come again" else number * files // count
        start = ends[file] + rng.choice([0, 0, 0, 1, 70_000, 2_000_000])
        if order == "overlapping":
            start = max(ends[file] - rng.randint(0, 5_000), 0)
        length = rng.choice([0, 5, 1_000, 3_000_000, 9_000_000])
        ends[file] = max(ends[file], start + length)
        found[f"x/{number}"] = [f"s3://b/{file:03d}", start, length]
        if order == "whole files" and rng.random() < 0.1:
            found[f"x/{number}"] = [f"s3://b/{file:03d}"]
    if order == "mixed in files":
        by_file = defaultdict[str, list[Any]](list)
        for value in found.values():
            by_file[value[0]].append(value)
        mixed = (rng.sample(values, len(values)) for values in by_file.values())
        found = dict(zip(found, (value for values in mixed for value in values), strict=True))
    return found


def plainly_merged(values: list[Any], rules: MergeRules) -> list[tuple[str, int]]:
    """Return file and bytes of each request for ranges, one range after the other."""
    requests: list[list[Any]] = []
    for url, start, length in sorted(value for value in values if len(value) == 3):
        end = start + length
        if rules is OURS and not length:
            continue
        if rules.gap is not None and requests and requests[-1][0] == url:
            _, begun, last = requests[-1]
            grown = max(end, last)
            fits = grown == last or rules.limit is None or grown - begun <= rules.limit
            if fits and start - last <= rules.gap:
                requests[-1][2] = grown
                continue
        requests.append([url, start, end])
    return [(url, end - start) for url, start, end in requests]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("block", [16, 2**16])
def test_blocks_are_counted_as_all_together(
    order: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_grid, "_BLOCK", block)
    monkeypatch.setattr(running_reads, "_WAITING", 2 * block)
    for seed in range(3):
        values = references(order, random.Random(f"{order} {seed}"))
        refs = rx.open_references({"x/.zarray": array(len(values))} | values)
        (cost,) = refs.advise(place=PLACE).accesses
        listed = list(values.values())
        urls, ranges = {value[0] for value in listed}, [each for each in listed if len(each) == 3]
        assert (cost.chunks, cost.files, cost.least_requests) == (len(values), len(urls), len(urls))
        if len(ranges) == len(listed):
            assert cost.least_bytes == covered(ranges)
        for rules, found in zip(READERS, cost.readers, strict=True):
            merged = plainly_merged(listed, rules)
            if len(ranges) < len(listed):
                alone = len(urls & {each[0] for each in listed if len(each) == 1})
                apart = len(listed) - len(ranges) if rules.gap is None else alone
                assert (found.requests, found.bytes) == (len(merged) + apart, None)
                continue
            sizes = [size for _, size in merged]
            assert found.requests == len(sizes)
            sums = sum(sizes), min(sizes), max(sizes)
            assert (found.bytes, found.smallest, found.largest) == sums
            one_read = len(sizes), sum(sizes), max(sizes)
            assert found.reads == (one_read,)
            seconds = PLACE.seconds(*one_read, rules.at_once)
            assert found.seconds == pytest.approx(seconds, rel=1e-12)


def covered(ranges: list[Any]) -> int:
    """Return how many bytes some ranges cover."""
    total, last = 0, ("", 0)
    for url, start, length in sorted(ranges):
        begin = max(start, last[1]) if url == last[0] else start
        end = max(start + length, begin)
        total, last = total + end - begin, (url, end)
    return total


@pytest.mark.parametrize("order", ORDERS)
def test_what_is_in_the_order_of_files_is_never_held_together(
    order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_grid, "_BLOCK", 16)
    held = list[chunk_grid.ChunkReferences]()

    def chunks(grid: chunk_grid.ChunkReferences) -> ChunkColumns:
        held.append(grid)
        return grid._all.select(grid._is_inside)

    monkeypatch.setattr(chunk_grid.ChunkReferences, "chunks", property(chunks))
    values = references(order, random.Random(1))
    rx.open_references({"x/.zarray": array(len(values))} | values).advise()
    assert bool(held) is (order not in IN_ORDER)


def test_memory_does_not_grow_with_the_references(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_grid, "_BLOCK", 2**14)
    few, many = (peaks(count) for count in (400_000, 650_000))
    # at the first question the set learns the folder of each key, in four bytes, and keeps that
    assert many[0] - few[0] < 4.5 * 250_000
    assert many[1] - few[1] < 0.5 * 250_000


def peaks(count: int) -> list[int]:
    """Return what advice takes on two arrays, of one file and of many, at first and again."""
    half = count // 2
    chunks = [f'"x/{n}":["s3://b/one",{100 * n},100]' for n in range(half)]
    chunks += [f'"y/{n}":["s3://b/{n // 400}",{100 * n},100]' for n in range(half)]
    text = json.dumps({"x/.zarray": array(half), "y/.zarray": array(half)})
    refs = rx.open_references(f"{text[:-1]},{','.join(chunks)}}}")
    found = list[int]()
    for _ in range(2):
        tracemalloc.start()
        refs.advise()
        found.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return found
