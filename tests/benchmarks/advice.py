"""What `advise` takes as sets grow, and its times against those of a server with latency.

``python -m tests.benchmarks.advice`` prints seconds predicted and measured for ten accesses to
three sets with each reader; ``--keys 1e7`` the processor time and memory of the advice itself on
sets of that many keys and of a tenth, and on a gen of 10^12: at the first call, which imports and
puts the keys into folders, and at the next.

The server answers late and sends slowly, each request for itself. The model tells the time of
transport alone, so that is what the server measures: how long at least one request was on its way.
By the clock a read takes what its reader computes besides, which on a busy machine is most of it.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import asyncio
import json
import math
import multiprocessing
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from statistics import median
from urllib.request import Request, urlopen

from aiohttp import web

import refexplorer as rx
from tests.benchmarks.sets import made
from tests.helpers.costly_sets import ACCESSES, CostlySet, Selection, costly_sets, prepared

LATENCY = 0.05
"""Seconds before each answer."""
STREAM, PIECE = 3e7, 2**17
"""Bytes a second of each request, slower than the machine, and those that it sends at a time."""
SPANS = "/spans"
LARGE_BODY = 15_000_000
"""Bytes of the largest file."""
GOAL = 1.5


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.advice", description=__doc__)
    parser.add_argument("--keys", type=float, help="measure the advice on sets of this size")
    parser.add_argument("--runs", type=int, default=3, help="processes for each set of this size")
    chosen = parser.parse_args()
    if chosen.keys is None:
        compare_times()
    else:
        measure_advice(int(chosen.keys), chosen.runs)


def compare_times() -> None:
    """Print seconds predicted and measured of each access, and how many are near."""
    print("| set | access | reader | requests | predicted s | transport s | factor | clock s |")
    print("|---|---|---|---|---|---|---|---|")
    factors, clocks = list[float](), list[float]()
    with serving() as url:
        place = _measured(url)
        for layout, costly in costly_sets(url).items():
            for access in ACCESSES:
                for line, factor, clock in _lines(layout, access, costly, url, place):
                    print(line, flush=True)
                    factors.append(factor)
                    clocks.append(clock)
    near, near_by_clock = (
        sum(1 / GOAL <= each <= GOAL for each in found) for found in (factors, clocks)
    )
    print(
        f"\n{near} of {len(factors)} within a factor of {GOAL} ({min(factors):.2f} to "
        f"{max(factors):.2f}), {near_by_clock} by the clock, load average "
        f"{os.getloadavg()[0]:.1f}; {place} (measured by two requests)."
    )


def _measured(url: str) -> rx.Connection:
    """Return the server as a request for few bytes and one for many show it."""

    def took(size: int) -> float:
        request = Request(f"{url}/large", headers={"Range": f"bytes=0-{size - 1}"})
        started = time.perf_counter()
        with urlopen(request) as answer:
            answer.read()
        return time.perf_counter() - started

    few, many = (min(took(size) for _ in range(7)) for size in (1, LARGE_BODY))
    speed = LARGE_BODY / max(many - few, 1e-3)
    return rx.Connection("this machine with latency", few, speed, 100 * speed)


def _lines(
    layout: str, access: str, costly: CostlySet, url: str, place: rx.Connection
) -> Iterator[tuple[str, float, float]]:
    """Yield a line for each reader, and by how much it took longer: in transport, by the clock."""
    part = ACCESSES[access]
    refs = rx.open_references(costly.refs)
    advice = refs.advise({} if part is None else {"x": part}, place=place)
    costs = [each for each in advice.accesses if each.name == "as given"] or advice.opening
    for cost in costs[0].readers if part is not None else costs[0].readers[:1]:
        if not cost.requests or cost.seconds is None:
            continue
        runs = [_seconds(cost.reader, costly, url, part) for _ in range(3)]
        transport, clock = map(min, zip(*runs, strict=True))
        factor = transport / cost.seconds
        yield (
            f"| {layout} | {access} | {cost.reader} | {cost.requests:,} | {cost.seconds:.3f} | "
            f"{transport:.3f} | {factor:.2f} | {clock:.3f} |",
            factor,
            clock / cost.seconds,
        )


def _seconds(
    reader: str, costly: CostlySet, url: str, part: Selection | None
) -> tuple[float, float]:
    """Return how long requests were on their way, and what the clock says of all the read."""
    read = prepared(reader, costly, url, part)
    _spans(url)
    started = time.perf_counter()
    read()
    clock = time.perf_counter() - started
    return _covered(_spans(url)), clock


def _spans(url: str) -> list[tuple[float, float]]:
    """Return when each request came and was answered since this was asked last."""
    with urlopen(f"{url}{SPANS}") as answer:
        return [(start, end) for start, end in json.load(answer)]


def _covered(spans: list[tuple[float, float]]) -> float:
    """Return how long at least one of some spans lasted."""
    total, last = 0.0, -math.inf
    for start, end in sorted(spans):
        total += max(end - max(start, last), 0)
        last = max(last, end)
    return total


@contextmanager
def serving() -> Iterator[str]:
    """Serve the files of the sets with latency, in a process of its own."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=[theirs], daemon=True)
    server.start()
    try:
        yield str(ours.recv())
    finally:
        server.terminate()
        server.join()


def _serve(pipe: Pipe) -> None:
    files = {path: body for each in costly_sets("").values() for path, body in each.files.items()}
    spans: list[list[float]] = []

    async def tell(request: web.Request) -> web.Response:
        told = [(start, *(end or [time.monotonic()])) for start, *end in spans]
        spans.clear()
        return web.json_response(told)

    async def answer(request: web.Request) -> web.StreamResponse:
        spans.append(here := [time.monotonic()])
        await asyncio.sleep(LATENCY)
        body, span = files[request.path], request.http_range
        start, stop = span.start or 0, span.stop or len(body)
        headers = {"Content-Range": f"bytes {start}-{stop - 1}/{len(body)}"}
        response = web.StreamResponse(status=206, headers=headers)
        response.content_length = stop - start
        await response.prepare(request)
        begun = time.monotonic()
        for at in range(start, stop, PIECE):
            end = min(at + PIECE, stop)
            await asyncio.sleep(begun + (end - start) / STREAM - time.monotonic())
            await response.write(body[at:end])
        await response.write_eof()
        here.append(time.monotonic())
        return response

    application = web.Application()
    application.router.add_get(SPANS, tell)
    application.router.add_get("/{path:.*}", answer)
    web.run_app(
        application,
        host="127.0.0.1",
        port=0,
        print=lambda said: pipe.send(said.split()[3]),
        access_log=None,
    )


def measure_advice(keys: int, runs: int) -> None:
    """Print processor time and added memory of the advice on sets of a size, and a tenth of it."""
    print(
        "| set | keys | CPU s, first | next | added MB, first | next |\n|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as scratch:
        for kind in ("v0", "parquet", "gen"):
            for size in (keys // 10, keys):
                _apart(kind, str(made(Path(scratch), kind, size)), runs)
    _apart("gen by arithmetic", _vast(), runs)


def _apart(name: str, source: str | dict[str, object], runs: int) -> None:
    """Measure in processes of their own, whose memory nothing else used."""
    context, found = multiprocessing.get_context("spawn"), list[tuple[int, list[float]]]()
    for _ in range(runs):
        ours, theirs = context.Pipe()
        child = context.Process(target=_measure, args=[theirs, source])
        child.start()
        found.append(ours.recv())
        child.join()
    columns = zip(*(numbers for _, numbers in found), strict=True)
    cells = [f"{median(each):.2f} ({min(each):.2f} to {max(each):.2f})" for each in columns]
    print(f"| {name} | {found[0][0]:,} | {' | '.join(cells)} |", flush=True)


def _measure(pipe: Pipe, source: str | dict[str, object]) -> None:
    refs = rx.open_references(source)
    seconds, added = list[float](), list[float]()
    for _ in range(2):
        Path("/proc/self/clear_refs").write_text("5")  # the peak of opening is forgotten
        before, started = _peak(), time.process_time()
        advice = refs.advise()
        seconds.append(time.process_time() - started)
        added.append((_peak() - before) / 1e3)
        assert advice.accesses
    pipe.send((refs.count, [*seconds, *added]))


def _peak() -> int:
    """Return the most kilobytes of this process; `getrusage` has those of its parent in it."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1])


def _vast() -> dict[str, object]:
    """Return a set of 10^12 generated chunks."""
    metadata = {"zarr_format": 2, "shape": [10**6, 10**6, 10], "chunks": [1, 1, 10], "dtype": "<i4",
                "compressor": None, "filters": None, "order": "C", "fill_value": 0}  # fmt: skip
    item = {"key": "x/{{t}}.{{y}}.0", "url": "s3://b/f", "offset": "{{(y * 40)}}", "length": "40",
            "dimensions": {"t": {"stop": 10**6}, "y": {"stop": 10**6}}}  # fmt: skip
    return {"version": 1, "gen": [item], "refs": {"x/.zarray": json.dumps(metadata)}}


if __name__ == "__main__":
    main()
