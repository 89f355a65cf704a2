"""The end of a command by a signal: as by Ctrl-C, so that nothing half-written stays."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
"""The exit status after Ctrl-C, which is 128 and the number of its signal."""
_NAMES = ("SIGTERM", "SIGHUP")


class Ending:
    """The exit status of a command."""

    status = INTERRUPTED  # Which it is if the command is interrupted

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Interrupt the command; a second signal of the kind ends the process at once."""
        self.status = 128 + number
        signal.signal(number, signal.SIG_DFL)
        raise KeyboardInterrupt


@contextmanager
def ended_by_signals() -> Iterator[Ending]:
    """Take a request to terminate, or a terminal that is closed, for Ctrl-C.

    What somebody else handles or ignores, as `nohup` does, is left alone.
    """
    ending = Ending()
    if threading.current_thread() is not threading.main_thread():
        yield ending
        return
    numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    taken = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, ending.interrupt)
    try:
        yield ending
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
