"""Reports in formats that CI services read: JSON, GitHub annotations, JUnit, SARIF, a badge."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path, PurePath
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.sax.saxutils import escape as xml_escape
from xml.sax.saxutils import quoteattr

from refexplorer.checks.headlines import reaches
from refexplorer.checks.report import SCHEMA, Report
from refexplorer.checks.terms import array_of
from refexplorer.core.text import KEYS, counted, escape, masked, masked_url
from refexplorer.spec.codes import CODES, Severity
from refexplorer.spec.findings import Finding, written

_OF_SET = "(the set)"
_UNKNOWN = "(what was not checked)"
_SARIF_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_BADGE = {0: ("passing", "#2a7d3f"), 1: ("failing", "#b3261e"), 2: ("not known", "#6b6b6b")}
_CHAR_WIDTH = 6.6  # of Verdana at 11 pixels, on average


class SetResult(NamedTuple):
    """One set of a run: its report, or why there is none."""

    source: str  # As it was given
    verb: str
    report: Report | None = None
    error: str = ""

    @property
    def status(self) -> int:
        """The exit status of this set."""
        return 2 if self.report is None else self.report.status

    @property
    def name(self) -> str:
        """The source, safe to display."""
        return escape(masked_url(self.source))

    @property
    def is_file(self) -> bool:
        """Whether the source is a path, so that CI can annotate its text."""
        return "://" not in self.source and self.source != "-"

    def to_dict(self) -> dict[str, Any]:
        """Return the report, or that there is none, as JSON values."""
        if self.report is not None:
            return self.report.to_dict()
        fields = {"source": self.source, "verb": self.verb, "status": 2, "error": self.error}
        found: dict[str, Any] = masked({"schema": SCHEMA, **fields}, KEYS)
        return found


def joint_status(results: Iterable[SetResult]) -> int:
    """Return the exit status of a run over several sets: 1 takes precedence over 2."""
    found = {each.status for each in results}
    return 1 if 1 in found else 2 if 2 in found else 0


def json_document(results: Sequence[SetResult]) -> dict[str, Any]:
    """Return the report of a set, or a list of reports for several."""
    if len(results) == 1:
        return results[0].to_dict()
    reports = [each.to_dict() for each in results]
    return {"schema": SCHEMA, "status": joint_status(results), "reports": reports}


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema of the output of `json_document`."""
    text = Path(__file__).with_name("report.schema.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def github_lines(results: Iterable[SetResult]) -> Iterator[str]:
    """Yield GitHub workflow commands for annotations, and each headline."""
    for each in results:
        if each.report is None:
            yield _command("error", each, "refexplorer", each.error)
            continue
        for found in each.report.findings:
            yield _command(_COMMANDS[found.severity], each, found.code, found.sentence, found)
        for sentence in each.report.unknowns:
            yield _command("warning", each, "not known", sentence)
        yield f"{each.name}: {each.report.headline.text}"


def _command(
    name: str, result: SetResult, title: str, message: str, found: Finding | None = None
) -> str:
    """Return a workflow command; characters that end a property or a line are percent-encoded."""
    properties: dict[str, object] = {}
    if result.is_file:
        properties["file"] = _path(result.source)
        if found is not None and found.line is not None:
            properties |= {"line": found.line, "col": found.column}
    else:
        message = f"{result.name}: {message}"
    if found is not None:
        message = f"{written(found.pointer)}: {message}"
    properties["title"] = title
    text = ",".join(f"{key}={_coded(str(value), ':,')}" for key, value in properties.items())
    return f"::{name} {text}::{_coded(message)}"


def _coded(text: str, more: str = "") -> str:
    for character in "%\r\n" + more:  # the percent sign first
        text = text.replace(character, f"%{ord(character):02X}")
    return escape(text)


def _path(source: str) -> str:
    """Return a path relative to the job's folder."""
    path, here = PurePath(source), Path.cwd()
    return escape((path.relative_to(here) if path.is_relative_to(here) else path).as_posix())


def _suite(result: SetResult) -> str:
    """Return a suite of JUnit XML: a case for each array, and one for the set."""
    counts = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    cases = []
    for name, kind, message, lines in _cases(result):
        counts["tests"] += 1
        inner = ""
        if kind:
            counts[{"failure": "failures", "error": "errors"}.get(kind, kind)] += 1
            inner = f"<{kind} message={quoteattr(escape(message))}"
            inner += "/>" if kind == "skipped" else f">{_lines(lines)}</{kind}>"
        elif lines:
            inner = f"<system-out>{_lines(lines)}</system-out>"
        head = f"  <testcase classname={quoteattr(f'{result.verb} {result.name}')}"
        cases.append(f"{head} name={quoteattr(escape(name))}>{inner}</testcase>")
    numbers = " ".join(f'{name}="{count}"' for name, count in counts.items())
    head = f" <testsuite name={quoteattr(result.name)} {numbers}>"
    return "\n".join([head, *cases, " </testsuite>"])


def _lines(lines: Iterable[str]) -> str:
    return xml_escape("\n".join(map(escape, lines)))


def _cases(result: SetResult) -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield a name, its outcome (none if it passes), a message, and lines."""
    report = result.report
    if report is None:
        yield _OF_SET, "error", result.error, [result.error]
        return
    arrays = {each.path for each in report.arrays}
    found: dict[str, list[Finding]] = {}
    for each in report.findings:
        path = array_of(each)
        found.setdefault(path if path in arrays else _OF_SET, []).append(each)
    cases = [*report.arrays]
    for name, path in [(_OF_SET, _OF_SET), *((each.name, each.path) for each in cases)]:
        mine = found.get(path, [])
        failing = [each for each in mine if reaches(each.severity, report.terms.threshold)]
        message = failing[0].sentence if failing else ""
        if len(failing) > 1:
            message += f" And {counted(len(failing) - 1, 'more finding')}."
        lines = list(map(str, mine))
        if path == _OF_SET and report.status == 1 and not any(
            reaches(each.severity, report.terms.threshold) for each in report.findings
        ):  # fmt: skip
            failing, message = mine, report.headline.text
        yield name, "failure" if message else "", message, lines
    if unknown := report.unknowns:
        yield _UNKNOWN, "skipped", "; ".join(unknown), []


def sarif_document(results: Sequence[SetResult]) -> dict[str, Any]:
    """Return SARIF 2.1.0: a rule for each code that occurs, a result for each finding."""
    pairs = [
        (each, found, is_accepted)
        for each in results
        if each.report is not None
        for group, is_accepted in ((each.report.findings, False), (each.report.accepted, True))
        for found in group
    ]
    codes = list(dict.fromkeys(found.code for _, found, _ in pairs))
    numbers = {code: number for number, code in enumerate(codes)}
    errors = [(each, each.error) for each in results if each.report is None]
    errors += [(each, why) for each in results if each.report for why in each.report.unknowns]
    invocation = {
        "executionSuccessful": not any(each.status == 2 for each in results),
        "exitCode": joint_status(results),
        "toolExecutionNotifications": [
            {"level": "error" if each.report is None else "warning", "message": {"text": sentence},
             "locations": [{"physicalLocation": _artifact(each)}]}
            for each, sentence in errors
        ],
    }  # fmt: skip
    driver = {"name": "refexplorer", "version": version("refexplorer")}
    run = {
        "tool": {"driver": driver | {"rules": [*map(_rule, codes)]}},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(each, f, numbers[f.code], is_ok) for each, f, is_ok in pairs],
    }
    document: dict[str, Any] = masked({"version": "2.1.0", "runs": [run]}, KEYS)
    return document


def _rule(code: str) -> dict[str, Any]:
    known = CODES[code]
    return {
        "id": code,
        "shortDescription": {"text": known.meaning},
        "fullDescription": {"text": f"{known.meaning} {known.cause}"},
        "help": {"text": known.mend},
        "defaultConfiguration": {"level": _SARIF_LEVELS[known.severity]},
    }


def _sarif_result(
    result: SetResult, found: Finding, number: int, is_accepted: bool
) -> dict[str, Any]:
    physical = _artifact(result)
    if found.line is not None:
        physical["region"] = {"startLine": found.line, "startColumn": found.column}
    logical = {"fullyQualifiedName": found.pointer or "/"}
    entry: dict[str, Any] = {
        "ruleId": found.code,
        "ruleIndex": number,
        "level": _SARIF_LEVELS[found.severity],
        "message": {"text": found.sentence},
        "locations": [{"physicalLocation": physical, "logicalLocations": [logical]}],
        "partialFingerprints": {"refexplorer/v1": found.id},
    }
    if is_accepted:
        entry["suppressions"] = [{"kind": "external", "justification": "accepted by --accept"}]
    return entry


def _artifact(result: SetResult) -> dict[str, Any]:
    uri = quote(_path(result.source)) if result.is_file else masked_url(result.source)
    return {"artifactLocation": {"uri": uri}}


def badge_svg(results: Iterable[SetResult], label: str = "references") -> str:
    """Return an SVG badge that says whether all sets pass; it needs no external font or host."""
    text, colour = _BADGE[joint_status(results)]
    left, right = (round(len(each) * _CHAR_WIDTH) + 12 for each in (label, text))
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" \
aria-label="{label}: {text}">
<title>{label}: {text}</title>
<rect width="{left}" height="20" fill="#444"/>
<rect x="{left}" width="{right}" height="20" fill="{colour}"/>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{left / 2}" y="14">{label}</text>
<text x="{left + right / 2}" y="14">{text}</text>
</g>
</svg>
"""


def report_text(results: Sequence[SetResult], form: str) -> str:
    """Return the reports in one of the machine-readable formats."""
    if form == "github":
        return "\n".join(github_lines(results)) + "\n"
    if form == "junit":
        head, suites = '<?xml version="1.0" encoding="UTF-8"?>', map(_suite, results)
        return "\n".join([head, "<testsuites>", *suites, "</testsuites>", ""])
    document = sarif_document(results) if form == "sarif" else json_document(results)
    return json.dumps(document, indent=1) + "\n"
