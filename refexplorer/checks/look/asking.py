"""Asking stores for targets, several at a time; what their answers are in words; ends of files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from refexplorer.checks.look.target_states import TargetState
from refexplorer.errors import AccessError
from refexplorer.formats.columns.references import LARGEST
from refexplorer.io.fetch.failures import AS_S3, Denied, Facts, NotThere, cause
from refexplorer.io.fetch.targets import Targets

CONCURRENCY = 16
"""Targets that are asked at a time."""
NO_SIZE = "The store does not report its size."
NO_RANGES = "The server does not support byte ranges: every read begins at the start of the file."
UNWRITTEN = "There is no such file (404): the chunk reads as the fill value."
_NO_NAME = "The set does not name this target: it has to be given when the set is opened."


class Answer(NamedTuple):
    """The answer of a store about a target."""

    facts: Facts | None  # None if there are none
    cause: str | None = None  # Why there are none, in a sentence
    forbidden: bool = False  # Whether it was not asked, since it is not allowed
    grant: str | None = None  # What to pass in ``allow=`` so that it is asked
    # Whether it is a chunk that was never written, where nobody could list those that were
    unwritten: bool = False

    @property
    def state(self) -> TargetState:
        """The state of the target before its ranges are compared."""
        if self.facts is not None:
            return TargetState.GOOD
        if self.unwritten:
            return TargetState.UNWRITTEN
        return TargetState.FORBIDDEN if self.forbidden else TargetState.UNREACHABLE

    @property
    def message(self) -> str | None:
        """A sentence on a fault, or on something worth knowing."""
        if self.facts is None:
            return self.cause
        if self.facts.size is None:
            return NO_SIZE
        return None if self.facts.ranges else NO_RANGES


AskedTarget = tuple[str | None, Callable[[Answer], None]]
"""A target, as in the references (None is the one that the reader names), and what takes its
answer."""


async def ask_all(
    targets: Targets,
    wanted: Iterable[AskedTarget],
    concurrency: int = CONCURRENCY,
    unlisted: str | None = None,
) -> None:
    """Ask for size and version of many targets; runs on fsspec's event loop."""
    wanted = iter(wanted)

    async def work() -> None:
        for url, take in wanted:
            take(await ask(targets, url, unlisted))

    async with asyncio.TaskGroup() as group:
        for _ in range(max(1, concurrency)):
            group.create_task(work())


async def ask(targets: Targets, url: str | None, unlisted: str | None = None) -> Answer:
    """Ask for size and version of a target, as `ask_all`."""
    if url is None:
        return Answer(None, _NO_NAME)
    try:
        place = targets.policy.place(url)
        try:
            return Answer(await targets.facts(place))
        except AccessError:
            raise
        except Exception as error:  # each protocol has errors of its own
            words = cause(error, place)
            said = f"{words[:1].upper()}{words[1:]}."
            if unlisted is None or not url.startswith(unlisted):
                return Answer(None, said)
            if isinstance(error, NotThere):
                return Answer(None, UNWRITTEN, unwritten=True)
            return Answer(None, f"{said} {AS_S3}" if isinstance(error, Denied) else said)
    except AccessError as error:
        return Answer(None, str(error), forbidden=True, grant=error.grant or None)


def past_end(offsets: np.ndarray, lengths: np.ndarray, sizes: np.ndarray | int) -> np.ndarray:
    """Say which ranges reach past the ends of their targets, shape ``(n,)`` bool."""
    if isinstance(sizes, int) and sizes > LARGEST:
        offsets = offsets.astype(object)
    found: np.ndarray = lengths > sizes - offsets  # a sum might not fit into 64 bits
    return found
