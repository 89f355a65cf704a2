"""What takes long enough to be watched and stopped, each in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable

from refexplorer.data.background import stoppable
from refexplorer.errors import RefexplorerError
from refexplorer.views.models import to_wire
from refexplorer.views.wire import Buffers, Message, Post, failure

Report = Callable[[int, int, str], bool]
"""Called with what is done, how much there is, and both in words; False stops."""
Watched = Callable[[Report], tuple[Message, Buffers]]
"""Answers a request with fields and buffers, and reports on the way."""


def unheard(done: int, of: int, label: str) -> bool:
    """Report to nobody."""
    return True


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

    def start(self, message: Message, work: Watched) -> None:
        """Answer a request later."""
        stop = self._stops[str(message["id"])] = threading.Event()
        name = f"refexplorer-{message.get('op')}-{message['id']}"
        arguments = [message, work, stop]
        threading.Thread(target=self._run, args=arguments, name=name, daemon=True).start()

    def cancel(self, message: Message) -> Message:
        """Answer ``cancel``."""
        if stop := self._stops.get(str(message["job"])):
            stop.set()
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
            if stop.is_set():
                raise RefexplorerError("It was stopped.")
            self._post({"id": message["id"], **to_wire(fields)}, buffers)
        except Exception as error:
            self._post(failure(message, error), [])
        finally:
            self._stops.pop(str(message["id"]), None)
