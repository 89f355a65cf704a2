"""Audits by the processes of a real Dask cluster on this machine, with what goes wrong there."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest

import refexplorer as rx
from refexplorer.checks.engine import AuditProgress
from refexplorer.checks.look.targets import Auditor
from refexplorer.checks.parts import ClusterTerms, Executor, Part, dask_executor, do_parts
from refexplorer.checks.terms import ReadTerms
from refexplorer.core.errors import RefexplorerError
from refexplorer.core.limits import Limits
from tests.helpers.audits import audit_in_parts, cluster_of, many, table
from tests.helpers.servers import RangeServer

distributed: Any = pytest.importorskip("distributed")
pytestmark = pytest.mark.server
POLLS = 1200
"""How often a watch is asked before a test gives up waiting: about a minute."""
SOON = ClusterTerms(connect_seconds=1)
GIVES_UP = ClusterTerms(connect_seconds=3)
"""So long Dask looks for a scheduler that went away, too."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with cluster_of(2) as cluster:
        yield cluster


def pid_at(cluster: Any, port: int) -> int:
    """Return the process of the worker that has a connection from a port."""
    pids = [int(nanny.pid) for nanny in cluster.workers.values()]
    held = {pid: psutil.Process(pid).net_connections() for pid in pids}
    return next(pid for pid in pids if any(port == each.laddr.port for each in held[pid]))


def test_a_cluster_gives_the_same_results(cluster: Any, demo: Path) -> None:
    refs = rx.open_references(demo / "broken.json")
    there = audit_in_parts(refs, decode="all", scheduler=cluster.scheduler_address)
    here = audit_in_parts(refs, decode="all", workers=1)
    assert len(list(there.tables())) > 4
    assert table(there).equals(table(here))
    assert there.to_dict() == here.to_dict()


def test_a_client_is_used_and_left_open(cluster: Any, server: RangeServer) -> None:
    options = {server.url: {"headers": {"Authorization": "open sesame"}}}
    with distributed.Client(cluster, set_as_default=False) as client:
        refs = many(server, 6)
        assert refs.allowing(server.url, storage_options=options).audit(scheduler=client).good
        assert client.submit(sum, [1, 2]).result() == 3
    assert {headers.get("Authorization") for headers in server.seen_headers} == {"open sesame"}


def test_an_audit_outlives_a_worker_that_is_killed(cluster: Any, server: RangeServer) -> None:
    refs, killed = many(server, 40), list[int]()
    address = cluster.scheduler_address

    def watch(progress: AuditProgress) -> bool:
        if progress.audited and not killed:
            killed.append(int(next(iter(cluster.workers.values())).pid))
            os.kill(killed[0], signal.SIGKILL)
        return True

    audit = audit_in_parts(refs, decode="all", allow=[server.url], scheduler=address, watch=watch)
    assert killed
    assert audit.good
    assert table(audit).equals(table(audit_in_parts(refs, decode="all", allow=[server.url])))


def test_a_part_of_a_worker_that_stands_still_is_done_by_another(
    cluster: Any, server: RangeServer
) -> None:
    terms = ClusterTerms(patience=1)
    refs, stopped, asked = many(server, 8), list[int](), iter(range(POLLS))
    server.stalled.add("/0")  # keeps the first part with its worker until that is stopped

    def watch(progress: AuditProgress) -> bool:
        # not when only one is busy: on a slow machine the part is with the other by then, too
        if not stopped and "/0" in server.ports:
            stopped.append(pid_at(cluster, server.ports["/0"]))
            os.kill(stopped[0], signal.SIGSTOP)
            server.stalled.clear()
        return next(asked, None) is not None

    with distributed.Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2)  # one of them was killed by the test before this one
        try:
            audit = audit_in_parts(
                refs, allow=[server.url], scheduler=client, watch=watch, cluster=terms
            )
        finally:
            server.closing.set()  # answers what still waits, so that the worker can end
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
    assert stopped
    assert audit.good


def test_a_part_is_given_away_until_somebody_does_it() -> None:
    """Who stands still may be given the second try, too."""
    given, ended, asked = iter(range(9)), list[int](), iter(range(POLLS))
    done = threading.Event()

    def do(part: Part) -> pa.Table:
        if next(given) < 2:
            done.wait(600)
        return pa.table({})

    with ThreadPoolExecutor(3) as executor:
        try:
            do_parts(
                Executor(executor, 1, do, patience=0.01),
                iter([Part(7, 0, 7, 0, pa.table({}), {})]),
                lambda part, found: ended.append(part.number),
                lambda: next(asked, None) is not None,
            )
        finally:
            done.set()
    assert ended == [7]


def test_a_stopped_audit_goes_on(cluster: Any, server: RangeServer, tmp_path: Path) -> None:
    refs, folder, address = many(server, 40), tmp_path / "kept", cluster.scheduler_address
    server.etags = dict.fromkeys(server.files, '"one"')

    def audit(watch: Callable[[AuditProgress], bool], resume: bool) -> Any:
        return audit_in_parts(
            refs, allow=[server.url], scheduler=address, results=folder, watch=watch, resume=resume
        )

    half = audit(lambda progress: progress.audited < 4, resume=False)
    assert 4 <= table(half).num_rows < 40
    done = {row["target"].rpartition("/")[2] for row in table(half).to_pylist()}
    assert not [path for path in folder.iterdir() if not path.name.startswith("part-")]
    with distributed.Client(cluster, set_as_default=False) as client:
        while any(client.processing().values()):  # what workers had begun when it was stopped
            time.sleep(0.05)
    server.requests.clear()
    assert audit(lambda progress: True, resume=True).good
    assert {server.requests.count(f"/{name}") for name in done} == {1}  # asked, and not read


class Deadly(Auditor):
    """Ends the process that does a part."""

    def audit(self, part: Part, keep_on: Callable[[], bool] = lambda: True) -> pa.Table:
        os._exit(1)


def test_a_part_that_ends_its_worker_is_given_up(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[tuple[int, str]] = []
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    with (
        dask_executor(
            Deadly(ReadTerms(None, (), Limits(), {})).audit, cluster.scheduler_address, SOON
        ) as executor,
    ):
        do_parts(
            executor,
            iter([Part(0, 0, 0, 0, pa.table({}), {})]),
            lambda part, found: ended.append((part.number, type(found).__name__)),
            lambda: True,
        )
    assert ended == [(0, "KilledWorker")]


@contextmanager
def scheduler_of_its_own(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Start a scheduler and a worker as programs, the way they are started by hand."""
    place = folder / "scheduler.json"
    options = ["--no-dashboard", "--scheduler-file", str(place)]
    parts = {
        "scheduler": ["--host", "127.0.0.1", "--port", "0"],
        "worker": ["--nthreads", "1", "--no-nanny"],
    }
    started = []
    try:
        for name, more in parts.items():
            command = [sys.executable, "-m", f"distributed.cli.dask_{name}", *options, *more]
            started.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
            while not place.exists() or not place.read_text().endswith("}"):
                assert started[0].poll() is None
                time.sleep(0.05)
        address = json.loads(place.read_text())["address"]
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(1)  # on a busy machine it starts long after the scheduler
        yield started[0], address
    finally:
        for program in started:
            program.kill()
            program.wait()


def test_a_scheduler_that_goes_away_leaves_what_is_finished(
    server: RangeServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    refs, folder, asked = many(server, 40), tmp_path / "kept", iter(range(POLLS))
    server.etags = dict.fromkeys(server.files, '"one"')
    with scheduler_of_its_own(tmp_path) as (scheduler, address):

        def watch(progress: AuditProgress) -> bool:
            if progress.audited:
                scheduler.kill()
            return next(asked, None) is not None

        with pytest.raises(RefexplorerError, match=f"The scheduler at {address} does not answer"):
            audit_in_parts(
                refs,
                allow=[server.url],
                scheduler=address,
                results=folder,
                watch=watch,
                cluster=GIVES_UP,
            )
    assert "Traceback" not in capfd.readouterr().err
    server.requests.clear()
    assert audit_in_parts(refs, allow=[server.url], results=folder, resume=True).good
    assert server.requests.count("/0") == 1  # asked whether it changed, and not read


def test_no_scheduler_is_one_sentence(demo: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    refs = rx.open_references(demo / "sst.v0.json")
    with pytest.raises(RefexplorerError, match=f"No Dask scheduler answers at {address}"):
        audit_in_parts(refs, scheduler=address, cluster=SOON)


def test_no_workers_is_one_sentence(demo: Path) -> None:
    refs = rx.open_references(demo / "sst.v0.json")
    with cluster_of(0) as cluster, pytest.raises(RefexplorerError, match="has no worker"):
        audit_in_parts(refs, scheduler=cluster.scheduler_address, cluster=SOON)
