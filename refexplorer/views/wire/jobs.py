"""What takes long enough to be watched and stopped, each in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable

from refexplorer.data.fetch.background import POLL, stoppable
from refexplorer.errors import RefexplorerError
from refexplorer.views.wire.answering import Buffers, Message, Post, failure
from refexplorer.views.wire.models import to_wire

Report = Callable[[int, int, str], bool]
"""Called with what is done, how much there is, and both in words; False stops."""
Watched = Callable[[Report], tuple[Message, Buffers]]
"""Answers a request with fields and buffers, and reports on the way."""


STOPPED = "It was stopped."


def unheard(done: int, of: int, label: str) -> bool:
    """Report to nobody."""
    return True


def go_on(report: Report, done: int, of: int, label: str) -> None:
    """Report the next step of work that cannot be left in the middle of one.

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
    """

    def __init__(self, post: Post) -> None:
        self._post = post
        self._stops: dict[str, threading.Event] = {}
        self._turn = threading.Lock()

    def start(self, message: Message, work: Watched) -> None:
        """Answer a request later."""
        stop = self._stops[str(message["id"])] = threading.Event()
        name = f"refexplorer-{message.get('op')}-{message['id']}"
        arguments = [message, work, stop]
        threading.Thread(target=self._run, args=arguments, name=name, daemon=True).start()

    def start_in_turn(self, message: Message, work: Watched) -> None:
        """Answer a request later, when those before it are done: they use the same memory."""

        def in_turn(report: Report) -> tuple[Message, Buffers]:
            while not self._turn.acquire(timeout=POLL):
                go_on(report, 0, 0, "Waiting for what was asked before")
            try:
                return work(report)
            finally:
                self._turn.release()

        self.start(message, in_turn)

    def cancel(self, message: Message) -> Message:
        """Answer ``cancel``, and what is stopped: nobody waits until it has come to a halt."""
        if stop := self._stops.pop(str(message["job"]), None):
            stop.set()
            self._post({"id": message["job"], "error": STOPPED}, [])
        return {}

    def _run(self, message: Message, work: Watched, stop: threading.Event) -> None:
        def report(done: int, of: int, label: str) -> bool:
            event = {"ev": "progress", "id": message["id"], "done": done, "of": of, "label": label}
            if not stop.is_set():
                self._post(event, [])
            return not stop.is_set()

        try:
            with stoppable(lambda: not stop.is_set()):
                fields, buffers = work(report)
            answer = {"id": message["id"], **to_wire(fields)}
        except Exception as error:
            answer, buffers = failure(message, error), []
        if not stop.is_set():
            self._post(answer, buffers)
        self._stops.pop(str(message["id"]), None)
