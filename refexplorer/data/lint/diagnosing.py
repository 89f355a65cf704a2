"""All diagnostics of a set: those of its document, its references, its codecs and its readers."""

from __future__ import annotations

from collections.abc import Collection

from refexplorer.data.lint.codec_rules import lint_codecs
from refexplorer.data.lint.value_rules import lint_values
from refexplorer.formats.locating import locator_of
from refexplorer.formats.reader_notes import COMPARED_KEYS, reader_notes, too_many_to_compare
from refexplorer.formats.source import Source
from refexplorer.limits import Limits
from refexplorer.markup import escape
from refexplorer.refset.lint.linting import lint
from refexplorer.refset.queries.internals import Internals
from refexplorer.spec.core.diagnostics import Diagnostic, Findings, pointer


def diagnose(
    source: Source, inside: Internals, limits: Limits, trusted: bool, base: str
) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of a set, errors first.

    Parameters
    ----------
    source, limits, trusted
        Of the set.
    inside
        Its references, and what was found while they were read.
    base
        The start of the pointer of an explicit key.
    """
    opened = inside.contents.opened
    opened.read_all()
    findings = Findings()
    findings.extend(inside.findings)
    _note_left_out(source, base, findings)
    lint(opened, 1 if source.form == "V1" else 0, base, findings)
    decodable = lint_codecs(opened, base, findings)
    lint_values(opened, limits, decodable, base, findings)
    findings.extend(_reader_notes(source, inside, limits, trusted, tuple(findings)))
    return findings.freeze(locator_of(source))


def _note_left_out(source: Source, base: str, findings: Findings) -> None:
    for each in source.left_out:
        findings.add(
            "left-out",
            base + pointer(each.name),
            f"The {each.kind} `{escape(each.name)}` of the file is not in the set: "
            f"{each.reason.rstrip('.')}.",
        )


def _reader_notes(
    source: Source,
    inside: Internals,
    limits: Limits,
    trusted: bool,
    noted: Collection[Diagnostic],
) -> Findings:
    contents = inside.contents
    if contents.opened.table.count > COMPARED_KEYS:  # they would be held twice at a time
        return too_many_to_compare(contents.opened.table.count)
    given = contents.templates.items()
    templates = {name: each.text for name, each in given if each.text or each.literal}
    return reader_notes(source, templates, limits, trusted, noted)
