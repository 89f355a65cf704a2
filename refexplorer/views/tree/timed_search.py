"""Searching a set that may have no end: what was found in time, up to a cap."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from time import monotonic

from refexplorer.errors import LimitError

CAP = 100_000
SECONDS = 2.0
"""A pattern may match none of 10^12 generated keys: who types waits no longer than this."""


def collect(
    matches: Iterator[str], cap: int = CAP, seconds: float = SECONDS
) -> tuple[list[str], bool]:
    """Return the first matches, and whether there may be more."""
    found: list[str] = []
    errors: list[Exception] = []
    stop = threading.Event()
    until = monotonic() + seconds

    def run() -> None:
        try:
            for match in matches:
                if stop.is_set() or len(found) == cap or monotonic() > until:
                    stop.set()
                    return
                found.append(match)
        except LimitError:
            stop.set()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True, name="refexplorer-search")
    try:
        thread.start()
    except RuntimeError:  # no thread can be started, as in a browser: the next match is waited for
        run()
    else:
        thread.join(seconds)
    capped = thread.is_alive() or stop.is_set()
    stop.set()
    if errors:
        raise errors[0]
    return found[:cap], capped
