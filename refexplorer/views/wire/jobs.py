"""Jobs long enough to be watched and stopped: a few at a time, in threads."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from functools import partial
from time import monotonic, sleep
from typing import Any

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.files import Progress
from refexplorer.core.text import counted
from refexplorer.io.fetch.background import stoppable
from refexplorer.views.wire.requests import (
    Attention,
    Buffers,
    Done,
    Event,
    JobProgress,
    Post,
    answered,
    event,
    failure,
    request,
)

JobReport = Callable[[int | None, int | None, str], bool]
"""Called with the amount done, the total (None if unknown), and both as text; False stops."""
JobAnswer = tuple[Any, Buffers]  # A reply, and its buffers
Watched = Callable[[JobReport], JobAnswer]  # Answers a request, and reports on the way
MOST_RUNNING = 8  # Jobs of one view that run at a time; a page has at most three views
MOST_IN_PROCESS = 64
"""Jobs of all views of a process that run at a time, so of all visitors of a server."""
MOST_WAITING = 200  # Jobs of one view that wait until others are done
GIVING_WAY = 0.2  # Seconds that a background job waits at each step while others are waited for
STOPPED = "It was stopped."


def unheard(done: int | None, of: int | None, label: str) -> bool:
    """Report to nobody."""
    return True


def go_on(report: JobReport, done: int | None, of: int | None, label: str) -> None:
    """Report the next step of uninterruptible work."""
    if not report(done, of, label):
        raise RefexplorerError(STOPPED)


def steps_of(report: JobReport, label: str) -> Progress:
    """Return a callback that reports how many of all parts were read."""
    go_on(report, None, None, label)

    def read(done: int, of: int) -> None:
        go_on(report, done, of, f"{label}: {done:,} of {counted(of, 'part')} so far")

    return read


@dataclass(eq=False)
class _Job:
    """Work for a request; for none if nobody waits for the result."""

    number: str | None
    work: Watched
    is_in_turn: bool = False
    is_background: bool = False
    is_heard: bool = True
    context: Context = field(default_factory=copy_context)
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def id(self) -> str:
        return str(self.number)


class _Slots:
    """Limits the jobs of all views together; waiting views take turns."""

    def __init__(self, most: int) -> None:
        self._lock = threading.Lock()
        self._free = most
        self._waiting: deque[Jobs] = deque()

    def take(self, jobs: Jobs) -> bool:
        """Take a slot, or wait in line for one."""
        with self._lock:
            if not self._free:
                self._line_up(jobs)
                return False
            self._free -= 1
            return True

    def give_back(self) -> None:
        """Free a slot, and start jobs of the views that have waited longest."""
        with self._lock:
            self._free += 1
        while (jobs := self._first()) is not None:
            if jobs.start_next():  # it may have more
                with self._lock:
                    self._line_up(jobs)

    def _line_up(self, jobs: Jobs) -> None:
        if jobs not in self._waiting:
            self._waiting.append(jobs)

    def _first(self) -> Jobs | None:
        with self._lock:
            return self._waiting.popleft() if self._waiting and self._free else None


_slots = _Slots(MOST_IN_PROCESS)


class Jobs:
    """Runs watched work and posts its progress and its response."""

    events = (JobProgress,)

    def __init__(self, post: Post, at_once: bool = False) -> None:
        self._post = post
        self._at_once = at_once
        self._lock = threading.Lock()
        self._waiting: deque[_Job] = deque()
        self._running: set[_Job] = set()
        self._is_closed = False
        self.attention = Attention()

    def tell(self, said: Event, buffers: Buffers) -> None:
        """Send an interim message of an unfinished job, with its buffers."""
        self._post(event(said)[0], buffers)

    def start(
        self,
        number: str | None,
        work: Watched,
        is_in_turn: bool = False,
        is_background: bool = False,
        is_heard: bool = True,
    ) -> None:
        """Respond to a request later; in turn after earlier ones, in the background one by one."""
        job = _Job(number, work, is_in_turn, is_background, is_heard)
        if self._at_once:
            self._run(job)
            return
        with self._lock:
            if self._is_closed:
                return
            if len(self._waiting) >= MOST_WAITING:
                raise RefexplorerError(
                    f"{MOST_WAITING} requests are waiting: try again when some have finished."
                )
            self._waiting.append(job)
        self.start_next()
        with self._lock:
            has_to_wait = job in self._waiting
        if has_to_wait and job.is_heard:
            self._post(*event(JobProgress(job.id, None, None, "Waiting for earlier requests")))

    def _give_way(self) -> None:
        # A job that is waited for may itself wait for a result of this one, so not for long.
        end = monotonic() + GIVING_WAY
        while self.attention.n and monotonic() < end:
            sleep(GIVING_WAY / 10)

    def aside(self, work: Callable[[], object]) -> None:
        """Do work that nobody waits for, unless busy."""

        def done(report: JobReport) -> JobAnswer:
            work()
            return Done(), []

        if not (self._waiting or self._at_once):
            self.start(None, done, is_heard=False)

    @request("cancel")
    def cancel(
        self,
        job: str,  # The id of the request
    ) -> None:
        """Cancel a request; it gets an error response immediately."""
        with self._lock:
            jobs = [*self._waiting, *self._running]
            found = [each for each in jobs if each.id == job and not each.stop.is_set()]
            self._stop(found)
        if found and job:  # without waiting until it has stopped
            self._post(failure(job, RefexplorerError(STOPPED)), [])

    def close(self) -> None:
        """Stop everything; nobody can send further requests."""
        with self._lock:
            self._is_closed = True
            self._stop([*self._waiting, *self._running])

    def _stop(self, jobs: list[_Job]) -> None:
        for job in jobs:
            job.stop.set()
        self._waiting = deque(job for job in self._waiting if not job.stop.is_set())

    def _next(self) -> _Job | None:
        """Take the first job that may run now."""
        with self._lock:
            is_taken = any(job.is_in_turn for job in self._running)
            is_reading = any(job.is_background for job in self._running)
            if len(self._running) < MOST_RUNNING:
                for job in self._waiting:
                    if not ((job.is_in_turn and is_taken) or (job.is_background and is_reading)):
                        if not _slots.take(self):
                            return None
                        self._waiting.remove(job)
                        self._running.add(job)
                        return job
        return None

    def start_next(self) -> bool:
        """Start a thread for the next job; return whether there is one."""
        if (job := self._next()) is None:
            return False
        run = partial(self._run_on, job)
        try:
            threading.Thread(target=run, name="refexplorer-job", daemon=True).start()
        except RuntimeError:  # there are no threads, as in a browser
            with self._lock:
                is_only = len(self._running) == 1
                if not is_only:  # the thread of another job takes it
                    self._running.discard(job)
                    self._waiting.appendleft(job)
            if is_only:
                self._run_on(job)
            else:
                _slots.give_back()
        return True

    def _run_on(self, job: _Job | None) -> None:
        """Run jobs until none may run."""
        while job is not None:
            try:
                job.context.run(self._run, job)
            finally:
                with self._lock:
                    self._running.discard(job)
                job = None  # free it while the next one runs
                _slots.give_back()
            job = self._next()

    def _run(self, job: _Job) -> None:
        stop = job.stop

        def report(done: int | None, of: int | None, label: str) -> bool:
            if not stop.is_set():
                self._post(*event(JobProgress(job.id, done, of, label)))
            if job.is_background:
                self._give_way()
            return not stop.is_set()

        is_asked = job.is_heard and not job.is_background
        try:
            with (
                stoppable(lambda: not stop.is_set()),
                self.attention if is_asked else nullcontext(),
            ):
                reply, buffers = job.work(report)
            answer = answered(job.number, reply)
        except Exception as error:
            answer, buffers = failure(job.number, error), []
        if job.is_heard and not stop.is_set():
            self._post(answer, buffers)
