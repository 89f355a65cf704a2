"""Asking every target of a set what it is, without reading what is in it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from refexplorer.data.asking import NO_RANGES, NO_SIZE, ask
from refexplorer.data.background import Stopped, wait_for
from refexplorer.data.check_results import TargetCheck, TargetChecks, TargetState
from refexplorer.data.journal import Journal
from refexplorer.data.targets import Targets
from refexplorer.markup import counted

if TYPE_CHECKING:
    from refexplorer.data.facts import Facts
    from refexplorer.refset.layout import TargetLayout
    from refexplorer.refset.target_index import TargetIndex

CONCURRENCY = 16
"""Targets that are asked at a time."""

Checked = Callable[[int, int], bool]
"""Called about ten times a second with the targets checked and their number; False stops."""


def check_targets(
    source: str,
    index: TargetIndex,
    targets: Targets,
    journal: Journal,
    checked: Checked = lambda done, of: True,
    concurrency: int = CONCURRENCY,
) -> TargetChecks:
    """Ask each target for its size and version, several at a time.

    A target that is not allowed is not asked; its record says what would allow it.

    Parameters
    ----------
    source
        The name of the set.
    index
        Its references by target.
    targets
        Asks.
    journal
        What it knows is not asked again; what is found is added to it, also before an interrupt.
    checked
        Is told how far it is; if it returns False, what was found so far is returned.
    concurrency
        Targets that are asked at a time.
    """
    run = _Run(index, targets, journal)

    def go_on() -> bool:
        run.note()
        return checked(len(run.found), index.count)

    try:
        wait_for(run.check(concurrency), go_on)
    except Stopped:
        pass
    finally:
        run.note()
    checked(len(run.found), index.count)
    records = tuple(run.found[url] for url in index.urls if url in run.found)
    return TargetChecks(source, records, index.count, index.unlisted)


class _Run:
    """One check; asks on fsspec's loop, and notes in the thread that waits."""

    def __init__(self, index: TargetIndex, targets: Targets, journal: Journal) -> None:
        self.found: dict[str | None, TargetCheck] = {}
        self._index = index
        self._targets = targets
        self._journal = journal
        self._new: deque[TargetCheck] = deque()

    async def check(self, concurrency: int) -> None:
        """Check all targets."""
        urls = iter(self._index.urls)

        async def work() -> None:
            for url in urls:
                await self._one(self._index.layout(url))

        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, concurrency)):
                group.create_task(work())

    def note(self) -> None:
        """Put what is new into the journal."""
        while self._new:
            self._journal.add(self._new.popleft())

    async def _one(self, layout: TargetLayout) -> None:
        blank = TargetCheck(
            layout.url, TargetState.UNREACHABLE, layout.end, len(layout) + layout.whole
        )
        known = self._journal.known(blank)
        if known is None:
            known = await self._asked(layout, blank)
            self._new.append(known)
        self.found[layout.url] = known

    async def _asked(self, layout: TargetLayout, blank: TargetCheck) -> TargetCheck:
        answer = await ask(self._targets, layout.url)
        if answer.facts is not None:
            return _judged(layout, blank, answer.facts)
        state = TargetState.FORBIDDEN if answer.forbidden else TargetState.UNREACHABLE
        return blank.but(state=state, message=answer.message, grant=answer.grant)


def _judged(layout: TargetLayout, blank: TargetCheck, facts: Facts) -> TargetCheck:
    """Compare what the store says of a target with what is referenced."""
    found = blank.but(
        state=TargetState.GOOD, size=facts.size, etag=facts.etag, modified=facts.modified
    )
    if facts.size is None:
        return found.but(message=NO_SIZE)
    past = (layout.ends > facts.size).nonzero()[0]
    if len(past):
        (key,) = layout.keys(int(past[0]), int(past[0]) + 1)
        verb = "reaches" if len(past) == 1 else "reach"
        said = f"{counted(len(past), 'range')} {verb} past its end, such as that of {key}."
        return found.but(state=TargetState.SHORT, past_end=len(past), key=key, message=said)
    if not facts.ranges and len(layout):
        return found.but(message=NO_RANGES)
    return found
