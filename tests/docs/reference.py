"""The reference pages, made from help texts, docstrings and the cases of the tests.

The site has them (docs/conf.py); they are not committed. ``python -m tests.docs.reference`` writes
the one that is: the page of the diagnostics.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from typer.core import TyperGroup
from typer.main import get_command

import refexplorer as rx
from refexplorer.hosts.cli import load_app
from refexplorer.hosts.cli.program import EXAMPLES
from tests.cases import Case, conformance
from tests.docs.diagnostics import diagnostics_page
from tests.docs.protocol import protocol_page
from tests.docs.teaching import exercises_page, jinja_page, specification_page

DIAGNOSTICS = Path(rx.__file__).parent / "spec" / "DIAGNOSTICS.md"
_HELP_WIDTH = 88
_ROOMS = {
    "v0": "Version 0",
    "v1": "Version 1",
    "t": "Templates",
    "g": "`gen`",
    "p": "Parquet",
}
_SECRETS = """\
A URL may contain a query and user information, so a set may contain signatures, tokens and
passwords. refexplorer removes them from everything it shows: `repr` and HTML of every object,
`code()` and copied cells, messages, titles and addresses in the explorer, static HTML, saved pages,
output of commands with and without `--json`, reports, results of `audit`, `verify` and `check`
(including tables and files), warnings, errors, progress and logs. It shows the protocol, host and
path of a URL, and parameters that are known to be harmless, such as `versionId`. It replaces
everything else by `***`, because the name of a parameter does not show whether it is secret. It
shows the names of options, and replaces their values by `***` unless the option is known to be
harmless.

Data do not change: references, templates and targets in the fields of Python objects, such as
`refs[key].url`, `to_v0()`, `storage_options` and `AccessError.target`; keys; attributes and inline
values of the set; the text in the template editor and in a page made from it; and the output of
`expand`, `convert`, `repair --output` and `infer --output`. You need them to read, edit and copy a
set. The diagnostic `signed-url` warns that such a set gives access to anyone who has it, and a
`SecretsWarning` is issued before a page or a report about it is written."""
_STATUSES = (
    ("status", "check, audit, verify, repair", "diff", "dialects", "all others"),
    ("---",) * 5,
    ("0", "everything requested was checked, and no finding reaches --fail-on", "equal",
     "no reader that was run loses or changes keys", "done"),
    ("1", "a finding reaches --fail-on", "different", "a reader loses or changes keys",
     "done, but the set has errors; `convert`: not written, because data would be lost"),
    ("2", "something could not be checked, the source cannot be read, or an argument is wrong",
     "a source cannot be read, or an argument is wrong", "no reader was run, or as for `diff`",
     "as for `diff`; nothing was done"),
    ("130", "interrupted by Ctrl-C (143 by SIGTERM)", *("the same",) * 3),
)  # fmt: skip
_SAME = "as above"
_SEVERITIES = {"error": "the error", "warning": "the warning", "info": "the note"}
_OTHERS = "also_ok"


def pages() -> dict[str, str]:
    """Return the text of every page that is built, by its name."""
    return {
        "CLI.md": cli_page(),
        "DECISIONS.md": decisions_page(),
        "PROTOCOL.md": protocol_page(),
        "SPECIFICATION.md": specification_page(),
        "JINJA.md": jinja_page(),
        "EXERCISES.md": exercises_page(),
    }


def cli_page() -> str:
    """Return the help of every command, and its examples."""
    lines = ["# The command line", ""]
    lines += ["`combined.json` is your reference set. Exit status of every command:", ""]
    lines += [_row(cells) for cells in _STATUSES]
    lines.append("")
    group = get_command(load_app())
    assert isinstance(group, TyperGroup)
    context = group.make_context("refexplorer", [], resilient_parsing=True)
    for name in sorted(group.list_commands(context)):
        command = group.commands[name]
        below = command.make_context(
            name, [], parent=context, resilient_parsing=True, terminal_width=_HELP_WIDTH
        )
        command.epilog = None
        lines += [f"## {name}", "", "```text", command.get_help(below).rstrip(), "```", ""]
        for line, purpose in EXAMPLES.get(name, {}).items():
            lines += [f"{purpose[0].upper()}{purpose[1:]}:", "", "```sh", line, "```", ""]
    return _text(lines)


def decisions_page() -> str:
    """Return what refexplorer does where the specification does not decide."""
    lines = ["# Choices beyond the specification", ""]
    lines += [
        "Where the specification does not say what to do, or readers differ, refexplorer makes "
        "these choices. Each is a test case, whose name is in parentheses. "
        "[Diagnostics](DIAGNOSTICS.md) describes the codes.",
        "",
    ]
    cases = [case for case in conformance() if "judgement" in case.fields]
    for room, title in _ROOMS.items():
        lines += [f"## {title}", "", "| case | specification | refexplorer | reason |"]
        lines.append("|---|---|---|---|")
        because = ""
        for case in cases:
            if str(case).partition("-")[0] == room:
                because = _because(case, because)
                cells = (_named(case), case.fields["spec"], _outcome(case), because)
                lines.append(_row(cells))
        lines.append("")
    return _text([*lines, "## Secrets in addresses and options", "", _SECRETS])


def _row(cells: Iterable[str]) -> str:
    return " | ".join(["", *(cell.replace("|", "\\|") for cell in cells), ""]).strip()


def _named(case: Case) -> str:
    return f"{case.fields['why']} (`{case}`)"


def _outcome(case: Case) -> str:
    expect = case.expect
    if case.refused:
        return f"refused: `{expect['error']}`"
    if "error" in expect:
        return f"rejected: `{expect['error']}`; all other keys are kept"
    if "diagnostic" not in expect:
        return "kept"
    code = expect["diagnostic"]
    return f"kept, with {_SEVERITIES[rx.explain_code(code).severity]} `{code}`"


def _because(case: Case, before: str) -> str:
    """Return the reason; notes on what other readers may do as well are none."""
    reason, _, _ = str(case.fields["judgement"]).partition(_OTHERS)
    reason = reason.rstrip(" (;")
    if reason.startswith(_SAME):
        return before
    return re.sub(r"^(info|a warning)(: |; |, because |$)", "", reason)  # the outcome says it


def _text(lines: list[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Write the page that is committed."""
    DIAGNOSTICS.write_text(diagnostics_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
