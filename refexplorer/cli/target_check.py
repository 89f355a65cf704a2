"""``check --targets``: ask the targets of a set what they are, with progress, and go on later."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from refexplorer.checks.render.check_results import TargetChecks
from refexplorer.cli import output
from refexplorer.cli.program import size_cell
from refexplorer.referenceset import ReferenceSet

_COLUMNS = ("State", "Target", "Size", "References", "Modified", "What to know")


def check_targets(
    refs: ReferenceSet, allow: list[str], resume: Path | None, as_json: bool
) -> TargetChecks:
    """Ask every target, several at a time, and print what was found."""
    try:
        found = _watched(refs, allow, resume)
    except KeyboardInterrupt:
        if resume is not None:
            output.say(
                f"Stopped. The answers are kept in {resume}; the same command asks again and "
                "says what changed."
            )
        raise
    if as_json:
        counts = {"total": found.total, "unlisted": found.unlisted, "left_out": found.left_out}
        fields = {"source": found.source} | counts
        output.write_json(fields, "targets", map(asdict, found))
    else:
        output.write_rows(
            _COLUMNS,
            (
                (r.words, r.url, size_cell(r.size), r.references, r.modified, r.message)
                for r in found
            ),
        )
        output.say(f"{found.source}, {found.summary}")
    return found


def _watched(refs: ReferenceSet, allow: list[str], resume: Path | None) -> TargetChecks:
    with output.counting("Asking targets") as count:

        def checked(done: int, of: int) -> bool:
            count(done, of)
            return True

        return refs.allowing(*allow).check_targets(resume=resume, checked=checked)
