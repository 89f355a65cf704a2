from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.limits import Limits
from refexplorer.io.access import AccessPolicy
from refexplorer.io.fetch.targets import Targets
from refexplorer.spec.references import Range
from refexplorer.views.wire.jobs import (
    MOST_IN_PROCESS,
    MOST_RUNNING,
    MOST_WAITING,
    JobAnswer,
    JobReport,
    Jobs,
)
from refexplorer.views.wire.requests import Done
from tests.helpers.servers import RangeServer, range_server

Posted = queue.Queue[dict[str, Any]]


@pytest.fixture
def posted() -> Posted:
    return Posted()


@pytest.fixture
def jobs(posted: Posted) -> Iterator[Jobs]:
    jobs = Jobs(lambda message, buffers: posted.put(message))
    yield jobs
    jobs.close()


def asked(number: int) -> str:
    return f"a:{number}"


def answer_of(posted: Posted, number: int) -> dict[str, Any]:
    """Wait for the answer to a request, whatever comes before it."""
    while "ev" in (said := posted.get(timeout=60)) or said["id"] != f"a:{number}":
        pass
    return said


def stalled(server: RangeServer, number: int) -> Any:
    """Return work that waits for a server which says nothing more."""
    reader = Targets(AccessPolicy(None, [server.url]), None, Limits())

    def work(report: JobReport) -> JobAnswer:
        return Done(), [reader.fetch("x", Range(f"{server.url}/f", number, 500_000))]

    return work


def threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "refexplorer-job"]


def test_cancelling_a_job_ends_the_request_that_it_waits_for(posted: Posted, jobs: Jobs) -> None:
    with range_server() as server:
        server.files["/f"] = bytes(10**6)
        server.dripping.add("/f")
        jobs.start(asked(1), stalled(server, 0))
        while not server.requests:
            time.sleep(0.01)
        jobs.cancel("a:1")
        assert answer_of(posted, 1)["error"] == "It was stopped."
        assert server.hung_up.wait(10)


def test_jobs_of_one_view_are_few_at_a_time_and_end_with_it(posted: Posted, jobs: Jobs) -> None:
    refused = list[str]()
    before = len(threads())
    with range_server() as server:
        server.files["/f"] = bytes(10**6)
        server.stalled.add("/f")
        for number in range(3000):
            try:
                jobs.start(asked(number), stalled(server, number))
            except RefexplorerError as error:
                refused.append(str(error))
        running = threads()
        assert len(running) - before == MOST_RUNNING
        assert len(refused) == 3000 - MOST_RUNNING - MOST_WAITING
        assert "200 requests are waiting" in refused[0]
        jobs.close()
        for each in running:
            each.join(60)
        assert len(threads()) <= before
        assert len(server.requests) <= MOST_RUNNING
        jobs.start(asked(1), lambda report: (Done(), []))
        assert len(threads()) <= before


def test_what_waits_is_done_when_there_is_room(posted: Posted, jobs: Jobs) -> None:
    go_on = threading.Event()

    def work(report: JobReport) -> JobAnswer:
        go_on.wait(60)
        return Done(), []

    for number in range(30):
        jobs.start(asked(number), work)
    go_on.set()
    wanted = {f"a:{number}" for number in range(30)}
    while wanted:
        if "ev" not in (said := posted.get(timeout=60)):
            wanted.discard(said["id"])


def test_jobs_of_all_views_are_few_at_a_time_and_each_view_gets_its_turn(posted: Posted) -> None:
    done, started = threading.Semaphore(0), threading.Semaphore(0)
    views = [Jobs(lambda message, buffers: posted.put(message)) for _ in range(20)]

    running = set[int]()
    counts = list[int]()

    def work(report: JobReport) -> JobAnswer:
        running.add(threading.get_ident())
        counts.append(len(running))
        started.release()
        done.acquire(timeout=60)
        running.discard(threading.get_ident())
        return Done(), []

    try:
        for number, view in enumerate(views):
            for each in range(10):
                view.start(asked(100 * number + each), work)
        for _ in range(MOST_IN_PROCESS):
            started.acquire()
        answers = Posted()
        late = Jobs(lambda message, buffers: answers.put(message))
        late.start(asked(1), lambda report: (Done(), []))
        done.release(len(views))  # of the 200, so others are still waiting
        assert "error" not in answer_of(answers, 1)
        done.release(10 * len(views))
        wanted = {f"a:{100 * view + each}" for view in range(20) for each in range(10)}
        while wanted:
            wanted.discard(posted.get(timeout=60).get("id"))
        assert max(counts) == MOST_IN_PROCESS
    finally:
        done.release(10 * len(views))
        for view in views:
            view.close()


def test_what_waits_for_its_turn_holds_up_nothing_else(posted: Posted, jobs: Jobs) -> None:
    go_on, order = threading.Event(), list[int]()

    def turn(number: int) -> Any:
        def work(report: JobReport) -> JobAnswer:
            go_on.wait(60)
            order.append(number)
            return Done(), []

        return work

    for number in range(20):
        jobs.start(asked(number), turn(number), is_in_turn=True)
    jobs.start(asked(99), lambda report: (Done(), []))
    assert "error" not in answer_of(posted, 99)
    go_on.set()
    assert "error" not in answer_of(posted, 19)
    assert order == [*range(20)]


def test_a_job_that_waits_is_cancelled_before_it_begins(posted: Posted, jobs: Jobs) -> None:
    go_on, begun = threading.Event(), list[int]()

    def work(number: int) -> Any:
        def run(report: JobReport) -> JobAnswer:
            begun.append(number)
            go_on.wait(60)
            return Done(), []

        return run

    jobs.start(asked(1), work(1), is_in_turn=True)
    jobs.start(asked(2), work(2), is_in_turn=True)
    jobs.start(asked(3), work(3), is_in_turn=True)
    jobs.cancel("a:2")
    assert answer_of(posted, 2)["error"] == "It was stopped."
    go_on.set()
    assert "error" not in answer_of(posted, 3)
    assert begun == [1, 3]


def test_a_job_that_no_thread_can_be_started_for_waits_for_one(
    posted: Posted, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, ran_in = threading.Event(), list[str]()

    def work(report: JobReport) -> JobAnswer:
        ran_in.append(threading.current_thread().name)
        go_on.wait(60)
        return Done(), []

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    jobs.start(asked(1), work)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        jobs.start(asked(2), work)
    go_on.set()
    assert "error" not in answer_of(posted, 2)
    assert ran_in == ["refexplorer-job"] * 2


def test_background_jobs_run_one_by_one_and_give_way(posted: Posted, jobs: Jobs) -> None:
    running, steps = set[int](), list[str]()
    is_asked = threading.Event()

    def background(number: int) -> Any:
        def work(report: JobReport) -> JobAnswer:
            assert not running, "another one runs"
            running.add(number)
            is_asked.wait(60)
            report(0, None, "read")  # waits, but not until the request is answered
            steps.append("background")
            running.discard(number)
            return Done(), []

        return work

    for number in (1, 2):
        jobs.start(asked(number), background(number), is_background=True)
    with jobs.attention:
        is_asked.set()
        time.sleep(0.05)
        steps.append("request")
        assert not answer_of(posted, 1).get("error")
    assert not answer_of(posted, 2).get("error")
    assert steps == ["request", "background", "background"]
