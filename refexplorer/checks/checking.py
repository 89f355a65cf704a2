"""Asking every target of a set what it is, without reading what is in it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from refexplorer.checks.journal import Journal
from refexplorer.checks.look.audit_states import TargetState
from refexplorer.checks.look.targets import (
    CONCURRENCY,
    Answer,
    AskedTarget,
    ask_all,
    difference,
    past_end,
)
from refexplorer.checks.render.check_results import TargetCheck, TargetChecks
from refexplorer.core.text import counted
from refexplorer.formats.icechunk.history import Recorded, RecordedVersion
from refexplorer.io.access import protocol_of
from refexplorer.io.fetch.background import Stopped, wait_for
from refexplorer.io.fetch.failures import Facts
from refexplorer.io.fetch.targets import Targets

if TYPE_CHECKING:
    from refexplorer.refset.target_layout import TargetLayout
    from refexplorer.refset.targets import TargetIndex

_NO_RANGES_KNOWN = "Generated keys refer to it, too many to be evaluated one by one."

Checked = Callable[[int, int], bool]
"""Called about ten times a second with the targets checked and their number; False stops."""


def check_targets(
    source: str,
    index: TargetIndex,
    targets: Targets,
    journal: Journal,
    checked: Checked = lambda done, of: True,
    concurrency: int = CONCURRENCY,
    recorded: Recorded | None = None,
    unlisted: str | None = None,
) -> TargetChecks:
    """Ask each target for its size and version, several at a time.

    A target that is not allowed is not asked; its record says what would allow it. Of gen items
    with very many keys the targets are asked, too, as far as they are not too many themselves; not
    all ranges of them are compared.
    """
    run = _Checking(index, journal, recorded or {})
    total = index.count + len(index.further.keys)

    def go_on() -> bool:
        run.note()
        return checked(len(run.found), total)

    try:
        wait_for(ask_all(targets, run.wanted(), concurrency, unlisted), go_on)
    except Stopped:
        pass
    finally:
        run.note()
    checked(len(run.found), total)
    urls = chain(index.urls, index.further.keys)
    records = tuple(run.found[url] for url in urls if url in run.found)
    return TargetChecks(source, records, total, index.unlisted, index.further.unlisted)


class _Checking:
    """One check; takes answers on fsspec's loop, and notes them in the thread that waits."""

    def __init__(self, index: TargetIndex, journal: Journal, recorded: Recorded) -> None:
        self._recorded = recorded
        self.found: dict[str | None, TargetCheck] = {}
        self._index = index
        self._journal = journal
        self._new: deque[TargetCheck] = deque()

    def wanted(self) -> Iterator[AskedTarget]:
        """Yield all targets: a request for the version is all that a check costs of each."""
        for layout in map(self._index.layout, self._index.urls):
            references = len(layout) + layout.whole
            blank = TargetCheck(layout.url, TargetState.UNREACHABLE, layout.end, references)
            yield layout.url, partial(self._take, layout, blank)
        for url, references in self._index.further.keys.items():
            blank = TargetCheck(url, TargetState.UNREACHABLE, None, references)
            yield url, partial(self._take, None, blank)

    def note(self) -> None:
        """Put what is new into the journal."""
        while self._new:
            self._journal.add(self._new.popleft())

    def _take(self, layout: TargetLayout | None, blank: TargetCheck, answer: Answer) -> None:
        record = _compared(layout, blank, answer)
        versions = self._recorded.get(blank.url or "", ())
        if versions and answer.facts is not None:
            record = _with_version(record, versions, answer.facts)
        earlier = self._journal.known(blank.url)
        if earlier is not None and answer.facts is not None and _has_changed(earlier, record):
            said = "It changed since the earlier check whose answers are kept."
            record = record.but(message=" ".join(filter(None, [said, record.message])))
        self.found[blank.url] = record
        self._new.append(record)


def _has_changed(earlier: TargetCheck, record: TargetCheck) -> bool:
    return (earlier.size, earlier.etag, earlier.modified) != (
        record.size,
        record.etag,
        record.modified,
    )


def _with_version(
    record: TargetCheck, versions: Sequence[RecordedVersion], facts: Facts
) -> TargetCheck:
    """Add whether the target is what it was when the references to it were written."""
    is_gcs = protocol_of(record.url or "") == "gs"
    same, said = difference(versions, facts, is_gcs)
    state = TargetState.CHANGED if same is False else record.state
    message = " ".join(filter(None, [said, record.message])) or None
    return record.but(state=state, unchanged=same, message=message)


def _compared(layout: TargetLayout | None, blank: TargetCheck, answer: Answer) -> TargetCheck:
    """Compare what the store says of a target with what is referenced, as far as that is known."""
    facts = answer.facts or Facts(None)
    found = blank.but(
        state=answer.state,
        size=facts.size,
        etag=facts.etag,
        modified=facts.modified,
        message=answer.message,
        grant=answer.grant,
    )
    if facts.size is None:
        return found
    if layout is None:
        return found.but(message=_NO_RANGES_KNOWN)
    past = past_end(layout.offsets, layout.lengths, facts.size).nonzero()[0]
    if len(past):
        (key,) = layout.keys(int(past[0]), int(past[0]) + 1)
        verb = "reaches" if len(past) == 1 else "reach"
        said = f"{counted(len(past), 'range')} {verb} past its end, such as that of {key}."
        return found.but(state=TargetState.SHORT, past_end=len(past), key=key, message=said)
    # whole files are read from the start anyway
    return found.but(past_end=0, message=found.message if len(layout) else None)
