"""What `advise` takes as sets grow, and its times against those of a server with latency.

``python -m tests.benchmarks.advice`` prints seconds predicted and measured for ten accesses to
three sets with each reader; ``--keys 1e6`` the processor time and memory of the advice itself on
sets of that many keys, and on a gen of 10^12.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from urllib.request import Request, urlopen

from aiohttp import web

import refexplorer as rx
from tests.benchmarks.sets import made
from tests.helpers.costly_sets import ACCESSES, CostlySet, costly_sets, prepared, tasks_of

LATENCY = 0.05
"""Seconds before each answer."""
LARGE = 15_000_000
"""Bytes of the largest file."""
GOAL = 1.5


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.advice", description=__doc__)
    parser.add_argument("--keys", type=float, help="measure the advice on sets of this size")
    chosen = parser.parse_args()
    if chosen.keys is None:
        compare_times()
    else:
        measure_advice(int(chosen.keys))


def compare_times() -> None:
    """Print seconds predicted and measured of each access, and how many are near."""
    print("| set | access | reader | requests | predicted s | measured s | factor |")
    print("|---|---|---|---|---|---|---|")
    near = total = 0
    with serving() as url:
        place = _measured(url)
        for layout, costly in costly_sets(url).items():
            for access in ACCESSES:
                for line, factor in _lines(layout, access, costly, url, place):
                    print(line, flush=True)
                    near, total = near + (1 / GOAL <= factor <= GOAL), total + 1
    print(f"\n{near} of {total} within a factor of {GOAL}; {place} (measured by two requests).")


def _measured(url: str) -> rx.Connection:
    """Return the server as a request for few bytes and one for many show it."""

    def took(size: int) -> float:
        request = Request(f"{url}/large", headers={"Range": f"bytes=0-{size - 1}"})
        started = time.perf_counter()
        with urlopen(request) as answer:
            answer.read()
        return time.perf_counter() - started

    few, many = (min(took(size) for _ in range(7)) for size in (1, LARGE))
    speed = LARGE / max(many - few, 1e-3)
    return rx.Connection("this machine with latency", few, speed, speed)


def _lines(
    layout: str, access: str, costly: CostlySet, url: str, place: rx.Connection
) -> Iterator[tuple[str, float]]:
    part = ACCESSES[access]
    refs = rx.open_references(costly.refs)
    given = tasks_of(costly, part) if isinstance(part, dict) else part
    advice = refs.advise({} if given is None else {"x": given}, place=place)
    costs = [each for each in advice.accesses if each.name == "as given"] or advice.opening
    for cost in costs[0].readers if part is not None else costs[0].readers[:1]:
        if not cost.requests or cost.seconds is None:
            continue
        took = min(_seconds(cost.reader, costly, url, part) for _ in range(3))
        factor = took / cost.seconds
        yield (
            f"| {layout} | {access} | {cost.reader} | {cost.requests:,} | {cost.seconds:.3f} | "
            f"{took:.3f} | {factor:.2f} |",
            factor,
        )


def _seconds(reader: str, costly: CostlySet, url: str, part: object) -> float:
    read = prepared(reader, costly, url, part)
    started = time.perf_counter()
    read()
    return time.perf_counter() - started


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

    async def answer(request: web.Request) -> web.Response:
        await asyncio.sleep(LATENCY)
        body, span = files[request.path], request.http_range
        start, stop = span.start or 0, span.stop or len(body)
        headers = {"Content-Range": f"bytes {start}-{stop - 1}/{len(body)}"}
        return web.Response(status=206, body=body[start:stop], headers=headers)

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    web.run_app(
        application,
        host="127.0.0.1",
        port=0,
        print=lambda said: pipe.send(said.split()[3]),
        access_log=None,
    )


def measure_advice(keys: int) -> None:
    """Print processor time and added memory of the advice on large sets."""
    print("| set | keys | CPU s | added MB |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        for kind in ("v0", "parquet", "gen"):
            _measure(kind, rx.open_references(str(made(Path(scratch), kind, keys))))
    _measure("gen by arithmetic", rx.open_references(_vast()))


def _measure(name: str, refs: rx.ReferenceSet) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    advice = refs.advise()
    took = time.process_time() - started
    added = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3
    assert advice.accesses
    print(f"| {name} | {refs.count:,} | {took:.2f} | {added:.0f} |", flush=True)


def _vast() -> dict[str, object]:
    """Return a set of 10^12 generated chunks."""
    metadata = {"zarr_format": 2, "shape": [10**6, 10**6, 10], "chunks": [1, 1, 10], "dtype": "<i4",
                "compressor": None, "filters": None, "order": "C", "fill_value": 0}  # fmt: skip
    item = {"key": "x/{{t}}.{{y}}.0", "url": "s3://b/f", "offset": "{{(y * 40)}}", "length": "40",
            "dimensions": {"t": {"stop": 10**6}, "y": {"stop": 10**6}}}  # fmt: skip
    return {"version": 1, "gen": [item], "refs": {"x/.zarray": json.dumps(metadata)}}


if __name__ == "__main__":
    main()
