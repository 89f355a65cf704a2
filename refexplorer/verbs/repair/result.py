"""What a repair found and changed, and the writing of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from refexplorer.checks.engine import AuditWatch
from refexplorer.checks.report import Report
from refexplorer.checks.states import CHUNK_TERMS, Rank
from refexplorer.checks.verify_finding import named
from refexplorer.checks.verifying import VerifyManner, VerifyTerms, verify
from refexplorer.core.errors import HarmError, RefexplorerError
from refexplorer.core.masking import KEYS, masked
from refexplorer.core.text import counted, escape, items, shown
from refexplorer.refset.contents import internals
from refexplorer.spec.codes import Severity
from refexplorer.spec.diagnostics import Diagnostic
from refexplorer.verbs.converting import Conversion, Watch, convert_checked
from refexplorer.verbs.differing import Difference, diff, difference_html, difference_text
from refexplorer.verbs.opening import open_references
from refexplorer.verbs.referenceset import ReferenceSet
from refexplorer.verbs.repair.law import fallen
from refexplorer.verbs.repair.plan import remedy

_SHOWN = 50  # sentences in the text; the HTML has as many
_CHARS = 500  # characters of a sentence: a file may hold any text


@dataclass(frozen=True)
class RepairTerms:
    """How the set and what is made of it are verified: all on the same terms."""

    original: ReferenceSet  # The set; what may be read of it may be read of all
    # values, allow, storage_options: As `repair` takes them
    values: str
    allow: tuple[str, ...]
    storage_options: Mapping[str, Any] = field(repr=False)

    def verified(self, refs: ReferenceSet, watch: AuditWatch) -> Report:
        """Verify one of them."""
        source, allow = self.original.source, self.allow
        if source.location is not None and refs.source.location != source.location:
            allow = (*allow, source.location)
        terms = VerifyTerms(
            refs.source.location,
            allow,
            self.original.limits,
            self.storage_options,
            "/refs" if refs.source.form == "V1" else "",
            unlisted=source.unlisted,
            left_out=source.left_out,
        )
        manner, inside = VerifyManner(self.values, watch=watch, remake=True), internals(refs)
        found = verify(source.name, inside.opened, inside.findings, terms, manner)
        if found.counts.stopped:
            raise RefexplorerError("Verifying was stopped, so nothing was repaired.")
        return found


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


@dataclass(frozen=True, repr=False)
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
        By array, why something of it could not be repaired.
    refused
        By array, the rule that forbids the change that was planned: it was not made.
    """

    before: Report
    after: Report
    references: ReferenceSet
    reasons: tuple[tuple[str, str], ...]
    refused: Mapping[str, str]
    _terms: RepairTerms

    @property
    def source(self) -> str:
        """The name of the set."""
        return self._terms.original.source.name

    @cached_property
    def difference(self) -> Difference:
        """The set before and after, as `refexplorer.diff` compares them."""
        return diff(self._terms.original, self.references)

    @property
    def status(self) -> int:
        """The exit status, which is that of `after`: 1 if a finding is left, 2 for an unknown."""
        return self.after.status

    @property
    def good(self) -> bool:
        """Whether the repaired set is the same as its files."""
        return self.after.good

    @property
    def repaired(self) -> tuple[str, ...]:
        """What differed, and no longer does."""
        left = {_cause(found) for found in _errors(self.after)}
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
            what = "can be repaired" if self.before.has_errors else "to repair"
            return f"nothing {what}: {self.before.headline.text}"
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
        as it was written. In V1, templates and gen items are inferred again: a repaired key is
        explicit where no item makes it.

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
        if not self.can_be_written:
            raise RefexplorerError(
                f"Nothing of {self.source} could be repaired, so nothing was written."
            )
        location = self._terms.original.source.location
        elsewhere = location is None or Path(location).resolve() != Path(output).resolve().parent
        how = Conversion(form=form, absolute=elsewhere, overwrite=overwrite, watch=watch)

        def check(written: object) -> None:
            with watch_verifying() as watched:
                found = self._terms.verified(
                    open_references(written, limits=self.references.limits), watched
                )
            self._check_written(found)

        return convert_checked(self.references, output, how, check)

    def _check_written(self, found: Report) -> None:
        """Refuse what was written if it is further from the files than what was verified."""
        known = {(each.code, each.array) for each in _errors(self.after)}
        new = [each for each in _errors(found) if (each.code, each.array) not in known]
        worse = [f"{named(path)}: {why}" for path, why in fallen(self.after.ledger, found.ledger)]
        if not new and not worse and found.good >= self.after.good:
            return
        said = new[0].message if new else (*worse, found.headline.text)[0]
        raise HarmError(
            f"What was written was verified once more, and is not as before: {said}. It was "
            "removed; if files changed meanwhile, repair the set again."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what was found and changed as what JSON knows."""
        said: dict[str, Any] = {
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
        seen: dict[str, Any] = masked(said, KEYS)
        return seen

    def __repr__(self) -> str:
        return f"<Repair of {escape(self.source)!r}: {self.verdict}>"

    def __str__(self) -> str:
        lines = [difference_text(self.difference)] if self.difference.total else []
        lines.append(f"{escape(self.source, _CHARS)}: {self.verdict}")
        for title, sentences in self._lists():
            start = f"  {title}: " if title else "  "
            lines += (start + each.replace("\n", "\n    ") for each in sentences[:_SHOWN])
            lines += _more(sentences)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        parts = [f"<p><b>{shown(self.source, _CHARS)}</b>: {shown(self.verdict)}</p>"]
        for title, sentences in self._lists():
            parts += [f"<p>{title.capitalize()}:</p>"] if title and sentences else []
            listed = [shown(each.replace("\n", ". "), _CHARS) for each in sentences[:_SHOWN]]
            parts.append(items([*listed, *_more(sentences)]) if listed else "")
        if self.difference.total:
            parts.append(difference_html(self.difference))
        return f'<div class="refexplorer">{"".join(parts)}</div>'

    def _lists(self) -> Iterator[tuple[str, Sequence[str]]]:
        yield "repaired", self.repaired
        yield "left", [f"{each.message}\n{each.remedy}." for each in self.left]
        yield "", self.notes

    def _notes(self) -> Iterator[str]:
        for path, reason in self.refused.items():
            yield f"{named(path)} is left as it is: {reason}."
        for path, reason in self.reasons:
            yield f"{named(path)}: not everything can be repaired, since {reason}."
        named_arrays = {each.array for each in _errors(self.after)}
        for array in self.after.arrays:
            bad = {s: n for s, n in array.states.items() if CHUNK_TERMS[s].rank is Rank.BAD}
            if bad and array.path not in named_arrays:
                parts = (f"{counted(n, 'chunk')} {CHUNK_TERMS[s].meaning}" for s, n in bad.items())
                yield f"{named(array.path)} still has {', '.join(parts)}."
        yield f"After the repair: {self.after.summary[0]}"
        yield from self.after.summary[-1:] if len(self.after.summary) > 1 else ()


def _more(sentences: Sequence[str]) -> Iterator[str]:
    if (more := len(sentences) - _SHOWN) > 0:
        yield f"  … {counted(more, 'more finding')}"


def _errors(found: Report) -> Iterator[Diagnostic]:
    return (each for each in found.findings if each.severity is Severity.ERROR)


def _cause(found: Diagnostic) -> tuple[str, ...]:
    return found.code, found.array, found.ours or "", found.theirs or ""
