"""All diagnostics of a set: those of its document, its references, its codecs and its readers."""

from __future__ import annotations

from contextlib import suppress

from refexplorer.data.lint.codec_rules import lint_codecs
from refexplorer.data.lint.value_rules import lint_values
from refexplorer.errors import RefexplorerError
from refexplorer.formats.locating import locator_of
from refexplorer.formats.source import Source
from refexplorer.formats.source_notes import note_encoding
from refexplorer.limits import Limits
from refexplorer.markup import escape
from refexplorer.readers.comparing import note_readers
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
    findings.extend(note_readers(source, inside.contents, tuple(findings)))
    if source.is_document:
        with suppress(OSError, RefexplorerError):  # of a file that is gone
            note_encoding(source, findings)
    return findings.freeze(locator_of(source))


def _note_left_out(source: Source, base: str, findings: Findings) -> None:
    for each in source.left_out:
        findings.add(
            "left-out",
            base + pointer(each.name),
            f"The {each.kind} `{escape(each.name)}` of the file is not in the set: "
            f"{each.reason.rstrip('.')}.",
        )
