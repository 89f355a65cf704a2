"""Asking every target of a set what it is, without reading what is in it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING

from refexplorer.data.check.asking import NO_RANGES, NO_SIZE, ask
from refexplorer.data.check.check_results import TargetCheck, TargetChecks, TargetState
from refexplorer.data.check.journal import Journal
from refexplorer.data.fetch.background import Stopped, wait_for
from refexplorer.data.fetch.target_reader import Targets
from refexplorer.markup import counted

if TYPE_CHECKING:
    from refexplorer.data.fetch.facts import Facts
    from refexplorer.refset.targets.layout import TargetLayout
    from refexplorer.refset.targets.target_index import TargetIndex

_NO_RANGES_KNOWN = "Generated keys refer to it, which are too many to be looked at one by one."
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

    A target that is not allowed is not asked; its record says what would allow it. Of gen items
    with very many keys the targets are asked, too, as far as they are not too many themselves; not
    all ranges of them are compared.

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
    total = index.count + len(index.further.keys)

    def go_on() -> bool:
        run.note()
        return checked(len(run.found), total)

    try:
        wait_for(run.check(concurrency), go_on)
    except Stopped:
        pass
    finally:
        run.note()
    checked(len(run.found), total)
    urls = chain(index.urls, index.further.keys)
    records = tuple(run.found[url] for url in urls if url in run.found)
    return TargetChecks(source, records, total, index.unlisted, index.further.left_out)


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
        index = self._index
        evaluated = ((url, index.layout(url)) for url in index.urls)
        further = ((url, None) for url in index.further.keys)
        targets = chain(evaluated, further)

        async def work() -> None:
            for url, layout in targets:
                await self._one(url, layout)

        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, concurrency)):
                group.create_task(work())

    def note(self) -> None:
        """Put what is new into the journal."""
        while self._new:
            self._journal.add(self._new.popleft())

    async def _one(self, url: str | None, layout: TargetLayout | None) -> None:
        if layout is None:
            end, references = None, self._index.further.keys[str(url)]
        else:
            end, references = layout.end, len(layout) + layout.whole
        blank = TargetCheck(url, TargetState.UNREACHABLE, end, references)
        known = self._journal.known(blank)
        if known is None:
            known = await self._asked(layout, blank)
            self._new.append(known)
        self.found[url] = known

    async def _asked(self, layout: TargetLayout | None, blank: TargetCheck) -> TargetCheck:
        answer = await ask(self._targets, blank.url)
        if answer.facts is not None:
            return _judged(layout, blank, answer.facts)
        state = TargetState.FORBIDDEN if answer.forbidden else TargetState.UNREACHABLE
        return blank.but(state=state, message=answer.message, grant=answer.grant)


def _judged(layout: TargetLayout | None, blank: TargetCheck, facts: Facts) -> TargetCheck:
    """Compare what the store says of a target with what is referenced, as far as that is known."""
    found = blank.but(
        state=TargetState.GOOD, size=facts.size, etag=facts.etag, modified=facts.modified
    )
    if facts.size is None:
        return found.but(message=NO_SIZE)
    if layout is None:
        return found.but(message=_NO_RANGES_KNOWN)
    past = (layout.ends > facts.size).nonzero()[0]
    if len(past):
        (key,) = layout.keys(int(past[0]), int(past[0]) + 1)
        verb = "reaches" if len(past) == 1 else "reach"
        said = f"{counted(len(past), 'range')} {verb} past its end, such as that of {key}."
        return found.but(state=TargetState.SHORT, past_end=len(past), key=key, message=said)
    found = found.but(past_end=0)
    if not facts.ranges and len(layout):
        return found.but(message=NO_RANGES)
    return found
