"""The controller of repairs: the planned changes, and the new file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.text import counted, escape
from refexplorer.views.compare.compare_controller import ChangeRow, change_row
from refexplorer.views.health.health_controller import GRANTS, reading_of, watched
from refexplorer.views.wire.context import ExplorerPart, ViewContext
from refexplorer.views.wire.jobs import JobReport, go_on
from refexplorer.views.wire.requests import Count, job

if TYPE_CHECKING:
    from refexplorer.verbs.repair.repairing import Repair

SHOWN = 200  # Changed keys, and sentences of each list, that one answer carries
NOT_HERE = (
    "Only the owner of this page may write files on its machine. On your machine, run "
    "`refexplorer repair SET -o NEW`."
)
_WRITTEN = frozenset({".json", ".parq", ".parquet"})  # extensions that a repaired set may keep


class RepairShown(Struct, frozen=True):
    """The changes that a repair would make."""

    verdict: str
    repaired: tuple[str, ...]  # What differs from the files now, and no longer would
    left: tuple[str, ...]  # What would differ still, with what to do about it
    notes: tuple[str, ...]
    # changes, change_count: The first keys that would change, and how many there are
    changes: tuple[ChangeRow, ...]
    change_count: Count
    grants: tuple[str, ...]  # What `allow` needs for the files that were not read
    # Where the repaired set would be written; null where nothing may be written, or is to be
    output: str | None
    obstacle: str | None  # Why it may not be written, where there would be something


class RepairWritten(Struct, frozen=True):
    """A repaired set that was written."""

    path: str
    keys: Count


class Repairing:
    """Responds with possible repairs, and writes them where the person may."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._targets = context.targets
        self._can_write = context.can_write
        self._did = context.did
        self._found: Repair | None = None

    @job("repair.plan")
    def plan(self, report: JobReport) -> RepairShown:
        """Find what can be repaired from the files; nothing is written."""
        from refexplorer.verbs.repair.repairing import repair_on

        terms = reading_of(self._refs, self._targets)
        found = self._found = repair_on(terms, self._refs, watch=watched(report))
        go_on(report, None, None, "Comparing the repaired set with this one")
        rows = tuple(map(change_row, found.difference.rows(0, SHOWN)))
        is_worth = found.can_be_written and len(rows) > 0
        obstacle = NOT_HERE if is_worth and not self._can_write else None
        return RepairShown(
            f"{counted(total, 'key')} would change; the repaired set: {found.after.headline.text}"
            if (total := found.difference.total)
            else found.verdict,
            found.repaired[:SHOWN],
            tuple(f"{each.message}. {each.remedy}".strip() for each in found.left[:SHOWN]),
            found.notes[:SHOWN],
            rows,
            found.difference.total,
            found.after.counts.grants[:GRANTS],
            self._proposed() if is_worth and self._can_write else None,
            obstacle,
        )

    def _proposed(self) -> str:
        """Return an unused path, next to the set if that is local."""
        location, name = self._refs.source.location, Path(self._refs.source.name)
        folder = Path(location) if location and Path(location).is_dir() else Path.cwd()
        suffix = name.suffix if name.suffix in _WRITTEN else ".json"
        return str(folder / f"{name.stem}.repaired{suffix}")

    @job("repair.write", in_turn=True)
    def write(self, report: JobReport, output: str) -> RepairWritten:
        """Write the result of `repair.plan`; an existing file is never replaced."""
        if not self._can_write:
            raise RefexplorerError(NOT_HERE)
        if self._found is None:
            raise RefexplorerError("Press Repair … first to see what would change.")
        path = Path(output).expanduser().absolute()
        if path.exists():
            raise RefexplorerError(f"{escape(str(path), 300)} exists already: choose another file.")
        go_on(report, None, None, f"Writing and verifying {escape(path.name, 100)}")
        keys = self._found.write(path)
        self._did(f"rx.repair(refs, {str(path)!r})")
        return RepairWritten(str(path), keys)


PART = ExplorerPart("repair", "Repair", "Repair", (Repairing,), look=False, alone=False)
