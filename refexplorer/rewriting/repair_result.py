"""What a repair found and changed, and the writing of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from refexplorer.checks.engine import AuditWatch
from refexplorer.checks.law import broken_law
from refexplorer.checks.report import Report
from refexplorer.checks.states import KeyState
from refexplorer.checks.verify_finding import named
from refexplorer.differing import Difference, diff
from refexplorer.display.repair import repair_html, repair_lines, repair_text
from refexplorer.errors import HarmError, RefexplorerError, SourceError
from refexplorer.formats.files.atomic import check_free
from refexplorer.markup import counted
from refexplorer.opening import open_references
from refexplorer.referenceset import ReferenceSet
from refexplorer.rewriting.conversion import Conversion, Watch
from refexplorer.rewriting.converting import convert_checked
from refexplorer.rewriting.repair.remedies import remedy
from refexplorer.rewriting.repair_verifying import RepairVerifying
from refexplorer.spec.codes import Severity
from refexplorer.spec.core.diagnostics import Diagnostic


@dataclass(frozen=True)
class LeftFinding:
    """A finding that a repair left as it was.

    Attributes
    ----------
    finding
        What differs.
    remedy
        What to do about it, a sentence without a full stop.
    """

    finding: Diagnostic
    remedy: str

    @property
    def message(self) -> str:
        """What differs, as a sentence."""
        return self.finding.message


@dataclass(frozen=True)
class Repair:
    """What repairing a set found and changed; nothing is written before `write`.

    Attributes
    ----------
    before, after
        What verifying found of the set, its targets renamed if that was asked for, and of what
        the repair made of it.
    references
        The repaired set.
    reasons
        Why something of an array could not be made anew, with how many files or chunks.
    refused
        The arrays that were left as they are, since the change could have harmed what can be read,
        with the reason.
    """

    before: Report
    after: Report
    references: ReferenceSet
    reasons: tuple[tuple[str, str], ...]
    refused: Mapping[str, str]
    _original: ReferenceSet = field(repr=False)
    _verifying: RepairVerifying = field(repr=False)

    @property
    def source(self) -> str:
        """The name of the set."""
        return self._original.source.name

    @cached_property
    def difference(self) -> Difference:
        """The set before and after, as `refexplorer.diff` compares them."""
        return diff(self._original, self.references)

    @property
    def good(self) -> bool:
        """Whether the repaired set is the same as its files, and no change was refused."""
        return self.after.good and not self.refused

    @property
    def repaired(self) -> tuple[str, ...]:
        """What differed, and no longer does."""
        left = {_cause(found) for found in self.after.findings}
        return tuple(each.message for each in _errors(self.before) if _cause(each) not in left)

    @property
    def left(self) -> tuple[LeftFinding, ...]:
        """What differs still, and what to do about it."""
        return tuple(LeftFinding(each, remedy(each.code)) for each in _errors(self.after))

    @property
    def notes(self) -> tuple[str, ...]:
        """What else is to be known."""
        return tuple(self._notes())

    @property
    def verdict(self) -> str:
        """What became of the set."""
        if not self.difference.total:
            if self.before.has_errors:
                return f"nothing can be repaired: {self.before.headline.text}"
            return f"nothing to repair: {self.before.headline.text}"
        changed = counted(self.difference.total, "key")
        return f"{changed} changed; the repaired set: {self.after.headline.text}"

    @property
    def can_be_written(self) -> bool:
        """Whether something was repaired, or nothing had to be, and all of it was verified."""
        is_known = not self.after.counts.unfinished
        return is_known and (self.difference.total > 0 or self.good)

    def write(
        self,
        output: str | os.PathLike[str],
        *,
        form: str | None = None,
        overwrite: bool = False,
        watch: Watch = lambda blocks, total, sentence: blocks,
        watch_verifying: Callable[[], AbstractContextManager[AuditWatch]] = lambda: nullcontext(
            lambda progress: True
        ),
    ) -> int:
        """Write the repaired set; return how many keys were written.

        Before it gets its name it is read back, compared with `references`, and verified once more
        as it was written. Templates and gen items are looked for anew if it is written as V1, so
        that a repaired key is written out beside those that an item still makes.

        Parameters
        ----------
        output
            As `refexplorer.convert` takes it; never the source itself.
        form, overwrite, watch
            As `refexplorer.Conversion` has them.
        watch_verifying
            Entered when that verifying begins; gives what is told how far it is, and may stop it.

        Raises
        ------
        RefexplorerError
            If nothing could be repaired of a set that is not right, what was written differs more
            from the files than what was verified, or the output is there or cannot be written.
        """
        check_output(self._original, Path(output), overwrite)
        if not self.can_be_written:
            raise RefexplorerError(
                f"Nothing of {self.source} could be repaired, so nothing was written."
            )
        location = self._original.source.location
        elsewhere = location is None or Path(location).resolve() != Path(output).resolve().parent
        how = Conversion(form=form, absolute=elsewhere, overwrite=overwrite, watch=watch)

        def check(written: object) -> None:
            with watch_verifying() as watched:
                found = self._verifying.verified(
                    open_references(written, limits=self.references.limits), watched
                )
            self._check_written(found)

        return convert_checked(self.references, output, how, check)

    def _check_written(self, found: Report) -> None:
        """Refuse what was written if it is further from the files than what was verified."""
        causes = {(each.code, each.array) for each in _errors(self.after)}
        new = [each for each in _errors(found) if (each.code, each.array) not in causes]
        if not new and not is_worse(found, self.after) and found.good >= self.after.good:
            return
        said = new[0].message if new else found.headline.text
        raise HarmError(
            f"What was written was verified once more, and is not as before: {said}. It was "
            "removed; if files changed meanwhile, repair the set again."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what was found and changed as what JSON knows."""
        return {
            "source": self.source,
            "good": self.good,
            "verdict": self.verdict,
            "changed": self.difference.total,
            "counts": dict(self.difference.counts),
            "repaired": list(self.repaired),
            "left": [{**each.finding.to_dict(), "remedy": each.remedy} for each in self.left],
            "refused": dict(self.refused),
            "notes": list(self.notes),
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
        }

    def __str__(self) -> str:
        return repair_text(self)

    def _repr_html_(self) -> str:
        return repair_html(self)

    def lines(self) -> Iterator[str]:
        """Yield what was repaired and what is left, without the difference."""
        yield from repair_lines(self)

    def _notes(self) -> Iterator[str]:
        for path, reason in self.refused.items():
            yield f"{named(path)} is left as it is: {reason}."
        for path, reason in self.reasons:
            yield f"{named(path)}: not everything can be made anew, since {reason}."
        if left_out := self.before.ledger.keys.counts[KeyState.REJECTED]:
            yield f"{counted(left_out, 'key')} that errors reject will not be written."
        yield f"After the repair: {self.after.summary[-1]}"


def check_output(refs: ReferenceSet, output: Path, overwrite: bool) -> None:
    """Refuse an output that is the source, or that is there, before files are read for it.

    Raises
    ------
    SourceError
        With the reason.
    """
    location, name = refs.source.location, refs.source.name
    if location is not None and output.resolve() == Path(location, name).resolve():
        raise SourceError(f"{str(output)!r} is the source itself; choose another name.")
    if not overwrite:
        check_free(output)


def is_worse(found: Report, before: Report) -> bool:
    """Tell whether the law of repair is broken."""
    return next(broken_law(before.ledger, found.ledger), None) is not None


def _errors(found: Report) -> Iterator[Diagnostic]:
    return (each for each in found.findings if each.severity is Severity.ERROR)


def _cause(found: Diagnostic) -> tuple[str, ...]:
    return found.code, found.array, found.ours or "", found.theirs or ""
