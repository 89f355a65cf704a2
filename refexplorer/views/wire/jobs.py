"""Jobs that take long enough to be watched and stopped, each in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import Struct

from refexplorer.data.fetch.background import POLL, beside, stoppable
from refexplorer.errors import RefexplorerError
from refexplorer.views.wire.answering import Buffers, Post, answered, event, failure
from refexplorer.views.wire.messages import Cancel, Done, Event, JobProgress, Request, tag_of

JobReport = Callable[[int | None, int | None, str], bool]
"""Called with what is done, how much there is (None: not known), and both in words; False stops."""
JobAnswer = tuple[Struct, Buffers]
"""A reply, and what travels beside it."""
Watched = Callable[[JobReport], JobAnswer]
"""Answers a request, and reports on the way."""
Draw = Callable[[Any, JobReport], JobAnswer]


STOPPED = "It was stopped."


def unheard(done: int | None, of: int | None, label: str) -> bool:
    """JobReport to nobody."""
    return True


def go_on(report: JobReport, done: int | None, of: int | None, label: str) -> None:
    """JobReport the next step of work that cannot be left in the middle of one.

    Raises
    ------
    RefexplorerError
        If it was stopped.
    """
    if not report(done, of, label):
        raise RefexplorerError(STOPPED)


class Jobs:
    """Runs watched work and posts its progress and its answer.

    Parameters
    ----------
    post
        Sends a message, from any thread.
    at_once
        Run it in the thread that asks instead.
    """

    def __init__(self, post: Post, at_once: bool = False) -> None:
        self._post = post
        self._at_once = at_once
        self._stops: dict[str, threading.Event] = {}
        self._turn = threading.Lock()

    def tell(self, said: Event, buffers: Buffers) -> None:
        """Say something of a job that is not done, with what travels beside it."""
        self._post(event(said)[0], buffers)

    def start(self, request: Request, work: Watched) -> None:
        """Answer a request later."""
        stop = self._stops[str(request.id)] = threading.Event()
        if self._at_once:
            self._run(request, work, stop)
            return
        name = f"refexplorer-{tag_of(type(request))}-{request.id}"
        beside(partial(self._run, request, work, stop), name)

    def start_in_turn(self, request: Request, work: Watched) -> None:
        """Answer a request later, when those before it are done: they use the same memory."""

        def in_turn(report: JobReport) -> JobAnswer:
            while not self._turn.acquire(timeout=POLL):
                go_on(report, None, None, "Waiting for earlier requests")
            try:
                return work(report)
            finally:
                self._turn.release()

        self.start(request, in_turn)

    def in_turn(self, draw: Draw) -> Callable[[Request], None]:
        """Return the operation that runs `draw` in turn."""

        def start(request: Request) -> None:
            self.start_in_turn(request, lambda report: draw(request, report))

        return start

    def cancel(self, request: Cancel) -> Done:
        """Answer ``cancel``, and what is stopped: nobody waits until it has come to a halt."""
        if stop := self._stops.pop(request.job, None):
            stop.set()
            self._post(failure(request.job, RefexplorerError(STOPPED)), [])
        return Done()

    def _run(self, request: Request, work: Watched, stop: threading.Event) -> None:
        def report(done: int | None, of: int | None, label: str) -> bool:
            if not stop.is_set():
                self._post(*event(JobProgress(str(request.id), done, of, label)))
            return not stop.is_set()

        try:
            with stoppable(lambda: not stop.is_set()):
                reply, buffers = work(report)
            answer = answered(request, reply)
        except Exception as error:
            answer, buffers = failure(request.id, error), []
        if not stop.is_set():
            self._post(answer, buffers)
        self._stops.pop(str(request.id), None)
