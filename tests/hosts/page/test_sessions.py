"""Twenty people at once: each gets its own answers; the server stays up, and rests afterwards."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from tests.helpers.hosts import PanelPage, running_page
from tests.hosts.page.sessions import NUMBER, visit_together

pytestmark = pytest.mark.server

SOURCES = ("demo/sst.v1.json", "demo/spec.v1.json")


def rests(served: PanelPage) -> bool:
    """Whether a server takes next to no processor time while nobody asks it anything.

    It is looked at some times: what visitors left is cleared away meanwhile.
    """
    server = psutil.Process(served.process)
    spent = sum(server.cpu_times()[:2])
    for _ in range(10):
        time.sleep(0.4)
        before, spent = spent, sum(server.cpu_times()[:2])
        if spent - before < 0.015:  # of which Linux counts hundredths
            return True
    return False


def test_twenty_sessions_answer_and_share_nothing() -> None:
    sources = [SOURCES[number % len(SOURCES)] for number in range(NUMBER)]
    with running_page("demo") as served:
        with ThreadPoolExecutor() as pool:  # browser tests keep a loop running in this thread
            visitors = pool.submit(asyncio.run, visit_together(served.url, sources)).result()
        with urllib.request.urlopen(f"{served.url}healthz") as answer:
            assert json.load(answer) == {"status": "ok"}
        is_quiet = rests(served)
    shown: dict[str, set[tuple[str, ...]]] = {source: set() for source in SOURCES}
    for source, visitor in zip(sources, visitors, strict=True):
        assert len(visitor.waits) == len(visitors[0].waits)
        shown[source].add(tuple(visitor.rows))
    assert all(len(rows) == 1 for rows in shown.values())
    assert len(set.union(*shown.values())) == len(SOURCES)
    assert is_quiet, "a processor is kept busy, as by Panel 1.10, though nobody asks"
