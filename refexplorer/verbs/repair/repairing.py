"""`repair`: a better set from the results of `verify`."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from refexplorer.checks.engine import AuditWatch, Manner, run
from refexplorer.checks.look.files import FilesLook
from refexplorer.checks.report import Report
from refexplorer.checks.states import CHUNK_TERMS, Rank
from refexplorer.checks.terms import CheckTerms, ReadTerms
from refexplorer.core.errors import HarmError, RefexplorerError
from refexplorer.core.limits import check_expandable
from refexplorer.core.text import KEYS, array_text, counted, escape, items, masked, shown
from refexplorer.formats.columns.table import Table
from refexplorer.io.access import require_existing
from refexplorer.refset.opened_set import Contents, OpenedSet, internals
from refexplorer.refset.segments import table_of
from refexplorer.refset.writing.json import Renames, retargeted
from refexplorer.spec.codes import Severity
from refexplorer.spec.findings import Finding, Findings
from refexplorer.spec.zarr_metadata import ArrayMeta
from refexplorer.verbs.converting import Conversion, Watch, check_output, convert_checked, form_of
from refexplorer.verbs.differing import Difference, diff
from refexplorer.verbs.opening import open_references
from refexplorer.verbs.referenceset import ReferenceSet
from refexplorer.verbs.repair.law import RepairLaw, find_fallen
from refexplorer.verbs.repair.plan import Patch, apply_patch, plan

_UNREPAIRED = {Rank.BAD, Rank.UNKNOWN}
ROUNDS = 4  # Metadata that is right shows which references are wrong, and those which shape
_SHOWN = 50  # sentences in the text; the HTML has as many
_CHARS = 500  # characters of a sentence: a file may hold any text


@dataclass(frozen=True)
class RepairContext:
    """How the set and the results are verified: all on the same terms."""

    original: ReferenceSet
    reading: ReadTerms  # What may be read of it, and of all that is made of it
    values: str  # As for `repair`

    def reads(self, refs: ReferenceSet) -> ReadTerms:
        """Return what may be read for one of them."""
        source, terms = self.original.source, self.reading
        location = refs.source.location
        if source.location is not None and location != source.location:
            terms = replace(terms, allow=(*terms.allow, source.location))
        other: dict[str, Any] = {"recorded": {}, "repository": None}  # what is made is none
        return replace(terms.of(source), location=location, base=refs.source.key_base, **other)

    def verify(self, refs: ReferenceSet, watch: AuditWatch) -> Report:
        """Verify one of them."""
        source, reading = self.original.source, self.reads(refs)
        terms = CheckTerms.of_verb("verify" if self.values == "none" else "verify --values")
        inside = internals(refs)
        look = FilesLook(inside.opened, reading, terms, self.values, remake=True)
        manner = Manner(watch=watch)
        report = run(source.name, inside.opened, inside.findings, reading, terms, look, manner)
        if report.counts.stopped:
            raise RefexplorerError("Verifying was stopped, so nothing was repaired.")
        return report


@dataclass(frozen=True, repr=False)
class Repair:
    """The findings and changes of a repair; nothing is written before `write`.

    Attributes
    ----------
    before, after
        The reports on the set (with renamed targets, if requested) and on the repaired
        set.
    references
        The repaired set.
    reasons
        By array, why it could not be repaired completely.
    refused
        By array, the rule that forbids the planned change, which was not made.
    """

    before: Report
    after: Report
    references: ReferenceSet
    reasons: tuple[tuple[str, str], ...]
    refused: Mapping[str, str]
    _context: RepairContext

    @property
    def source(self) -> str:
        """The name of the set."""
        return self._context.original.source.name

    @cached_property
    def difference(self) -> Difference:
        """The set before and after, as compared by `refexplorer.diff`."""
        found = diff(self._context.original, self.references)
        return replace(found, _after_name="the repaired set")

    @property
    def status(self) -> int:
        """The exit status, that of `after`: 1 if a finding remains, 2 for an unknown."""
        return self.after.status

    @property
    def good(self) -> bool:
        """Whether the repaired set agrees with its files."""
        return self.after.good

    @property
    def repaired(self) -> tuple[str, ...]:
        """Differences that were repaired."""
        remaining = {each.id for each in _errors(self.after)}
        return tuple(each.message for each in _errors(self.before) if each.id not in remaining)

    @property
    def left(self) -> tuple[Finding, ...]:
        """Remaining differences, each with its `remedy`."""
        return tuple(_errors(self.after))

    @property
    def notes(self) -> tuple[str, ...]:
        """Other remarks."""
        return tuple(self._notes())

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        if not self.difference.total:
            what = "can be repaired" if self.before.has_errors else "to repair"
            return f"nothing {what}: {self.before.headline.text}"
        changed = counted(self.difference.total, "key")
        return f"{changed} changed; the repaired set: {self.after.headline.text}"

    @property
    def can_be_written(self) -> bool:
        """Whether the result is verified, and is either repaired or was right before."""
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
        """Write the repaired set; return the number of keys written.

        Before it gets its final name, it is read back, compared with `references`, and verified
        again. In V1, templates and gen items are inferred again: a repaired key is explicit where
        no item generates it.

        Parameters
        ----------
        output
            As for `refexplorer.convert`; never the source itself. V1 stays V1, and has `gen` only
            if the source has.
        form, overwrite, watch
            Same as in `refexplorer.Conversion`.
        watch_verifying
            Context manager for this verification; it receives the progress, and may stop it.

        Raises
        ------
        RefexplorerError
            If nothing could be repaired in a faulty set, the output differs more from the files
            than the verified set, or it exists already or cannot be written.
        """
        if not self.can_be_written:
            raise RefexplorerError(
                f"Nothing in {self.source} could be repaired, so nothing was written."
            )
        location = self._context.original.source.location
        # A document keeps its version, since VirtualiZarr reads no V0. fsspec 2026.6 and later drop
        # `gen` unless told to read it, so none is new.
        is_v1 = self._context.original.source.form == "V1"
        has_gen = bool(internals(self._context.original).generated)
        explicit = form is None and not has_gen
        if form is None and is_v1 and form_of(Path(output), None) == "V0":
            form = "V1"
        elsewhere = location is None or Path(location).resolve() != Path(output).resolve().parent
        how = Conversion(
            form=form, absolute=elsewhere, overwrite=overwrite, watch=watch, explicit=explicit
        )

        def check(written: object) -> None:
            with watch_verifying() as watched:
                report = self._context.verify(
                    open_references(written, limits=self.references.limits), watched
                )
            self._check_written(report)

        return convert_checked(self.references, output, how, check)

    def _check_written(self, report: Report) -> None:
        """Reject an output that differs more from the files than the verified set."""
        known = {(each.code, each.array) for each in _errors(self.after)}
        new = [each for each in _errors(report) if (each.code, each.array) not in known]
        worse = [
            f"{array_text(path)}: {why}"
            for path, why in find_fallen(self.after.ledger, report.ledger)
        ]
        if not new and not worse and report.good >= self.after.good:
            return
        first = new[0].message if new else (*worse, report.headline.text)[0]
        raise HarmError(
            f"The written set was verified again, and the result differs: {first}. The set was "
            "removed; if files changed in the meantime, repair it again."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return findings and changes as JSON values."""
        facts: dict[str, Any] = {
            "source": self.source,
            "good": self.good,
            "verdict": self.verdict,
            "changed": self.difference.total,
            "counts": dict(self.difference.counts),
            "repaired": list(self.repaired),
            "left": [
                {**each.to_dict(), "remedy": each.remedy.removesuffix(".")} for each in self.left
            ],
            "refused": dict(self.refused),
            "notes": list(self.notes),
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
        }
        return masked(facts, KEYS)

    def __repr__(self) -> str:
        return f"<Repair of {escape(self.source)!r}: {self.verdict}>"

    def __str__(self) -> str:
        lines = [str(self.difference)] if self.difference.total else []
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
            parts.append(self.difference._repr_html_())
        return f'<div class="refexplorer">{"".join(parts)}</div>'

    def _lists(self) -> Iterator[tuple[str, Sequence[str]]]:
        yield "repaired", self.repaired
        yield "left", [f"{each.message}\n{each.remedy}" for each in self.left]
        yield "", self.notes

    def _notes(self) -> Iterator[str]:
        for path, reason in self.refused.items():
            yield f"{array_text(path)} is not changed: {reason}."
        wrong = {each.array for each in self.after.findings}
        for array in self.after.arrays:
            if _UNREPAIRED & {CHUNK_TERMS[state].rank for state in array.states}:
                wrong.add(array.path)
        for path, reason in self.reasons:
            if path in wrong:  # else a later round repaired it
                yield f"{array_text(path)}: not everything can be repaired, since {reason}."
        named_arrays = {each.array for each in _errors(self.after)}
        for array in self.after.arrays:
            bad = {s: n for s, n in array.states.items() if CHUNK_TERMS[s].rank is Rank.BAD}
            if bad and array.path not in named_arrays:
                parts = (f"{counted(n, 'chunk')} {CHUNK_TERMS[s].meaning}" for s, n in bad.items())
                yield f"{array_text(array.path)} still has {', '.join(parts)}."
        start = "After the repair: " if self.difference.total else ""
        yield f"{start}{self.after.summary[0]}"
        yield from self.after.summary[-1:] if len(self.after.summary) > 1 else ()


def _more(sentences: Sequence[str]) -> list[str]:
    more = len(sentences) - _SHOWN
    return [f"  … {counted(more, 'more finding')}"] if more > 0 else []


def _errors(report: Report) -> Iterator[Finding]:
    return (each for each in report.findings if each.severity is Severity.ERROR)


def repair(
    source: object,
    output: str | os.PathLike[str] | None = None,
    *,
    renames: Sequence[tuple[str, str]] = (),
    values: str = "none",
    allow: Collection[str] = (),
    storage_options: Mapping[str, Any] | None = None,
    form: str | None = None,
    overwrite: bool = False,
    watch: AuditWatch = lambda progress: True,
) -> Repair:
    """Repair a set using the metadata of its files.

    The set is verified, a patch is planned, and the patched set is verified in the same way. A
    reference is replaced if it is wrong and the position of the chunk in a file is certain;
    metadata if all files agree. A change that would make a chunk worse is skipped, and the reason
    is reported. The source is never changed.

    Parameters
    ----------
    source
        A `ReferenceSet`, or any source accepted by `open_references`.
    output
        Where to write the repaired set; None writes nothing; call `Repair.write` later.
    renames
        Pairs of old and new URL prefixes, for files that were moved; the first match is applied.
    values, allow, storage_options, watch
        Same as in `ReferenceSet.verify`; the files are read once in each of at most five rounds,
        and again to verify the output.
    form, overwrite
        Same as in `refexplorer.Conversion`.

    Returns
    -------
    Repair
        ``difference``, ``repaired``, ``left`` (with remedies), ``before``, ``after``.

    Raises
    ------
    RefexplorerError
        If a rename matches no URL, verifying was stopped, or the output cannot be written.
    LimitError
        If the set has more references than `verify` supports.
    """
    refs = source if isinstance(source, ReferenceSet) else open_references(source)
    if output is not None:
        check_output(refs, Path(output), None, Conversion(form=form, overwrite=overwrite))
    check_expandable(refs.count, refs.limits)
    options = refs.storage_options if storage_options is None else storage_options
    names = (*refs.allowed, *require_existing(allow))
    reading = ReadTerms(refs.source.location, names, refs.limits, options)
    result = repair_on(reading, refs, renames=renames, values=values, watch=watch)
    if output is not None:
        result.write(output, form=form, overwrite=overwrite)
    return result


def repair_on(
    reading: ReadTerms,
    refs: ReferenceSet,
    *,
    renames: Sequence[tuple[str, str]] = (),
    values: str = "none",
    watch: AuditWatch = lambda progress: True,
) -> Repair:
    """Repair a set with the given reading permissions; nothing is written."""
    context = RepairContext(refs, reading, values)
    refs = _rename_targets(refs, renames)
    before = after = context.verify(refs, watch)
    reasons: dict[tuple[str, str], None] = {}
    refused: dict[str, str] = {}
    for _ in range(ROUNDS):
        better = _improve(refs, after, context, watch, reasons, refused)
        if better is None:
            break
        refs, after = better
    return Repair(before, after, refs, tuple(reasons), refused, context)


def _improve(
    refs: ReferenceSet,
    report: Report,
    context: RepairContext,
    watch: AuditWatch,
    reasons: dict[tuple[str, str], None],
    refused: dict[str, str],
) -> tuple[ReferenceSet, Report] | None:
    """Return a set that the law allows, and the results of verifying it; None if none."""
    opened = internals(refs).opened
    law = RepairLaw(report, opened, context.reads(refs).targets(), refs.limits)
    table, arrays, patch = _planned(refs, report)
    patch = patch.without(refused)
    reasons |= dict.fromkeys(patch.reasons)
    while True:
        result = apply_patch(table, arrays, patch)
        reasons |= dict.fromkeys(result.reasons)
        if not result.has_changed:
            return None
        candidate = _set_of(refs, result.table)
        odd = law.refused(patch, internals(candidate).opened)
        if not odd:
            after = context.verify(candidate, watch)
            odd = law.broken(patch, after)
            if not odd:
                return candidate, after
        refused |= odd
        if not odd.keys() & patch.arrays.keys():  # another array would fall: nothing is changed
            return None
        patch = patch.without(odd)


def has_plan(reading: ReadTerms, refs: ReferenceSet, report: Report) -> bool:
    """Return whether a repair would try to change something after a report with `remake`."""
    table, arrays, patch = _planned(refs, report)
    result = apply_patch(table, arrays, patch)
    if not result.has_changed:
        return False
    opened = internals(refs).opened
    targets = RepairContext(refs, reading, "none").reads(refs).targets()
    law = RepairLaw(report, opened, targets, refs.limits)
    odd = law.refused(patch, internals(_set_of(refs, result.table)).opened)
    return not odd or apply_patch(table, arrays, patch.without(odd)).has_changed


def _planned(refs: ReferenceSet, report: Report) -> tuple[Table, dict[str, ArrayMeta], Patch]:
    opened = internals(refs).opened
    table = table_of(opened.parts)
    arrays = {path: meta for path in opened.arrays.paths if (meta := opened.arrays.get(path))}
    return table, arrays, plan(report, table, arrays)


def _rename_targets(refs: ReferenceSet, rules: Sequence[tuple[str, str]]) -> ReferenceSet:
    if not rules:
        return refs
    renames = Renames(rules)
    table = retargeted(table_of(internals(refs).opened.parts), [renames.apply])
    if renames.unused:
        start = next(iter(renames.unused))[0]
        raise RefexplorerError(f"No URL of {refs.source.name} starts with {start!r}.")
    return _set_of(refs, table)


def _set_of(refs: ReferenceSet, table: Table) -> ReferenceSet:
    """Return a set of other references with the name and location of another."""
    source = replace(
        refs.source, content=None, value=None, store=None, entries=None, place=None, recorded=None
    )
    contents = Contents(OpenedSet(table), Findings())
    options = refs.storage_options
    return ReferenceSet(source, contents, refs.limits, options, refs.allowed)
