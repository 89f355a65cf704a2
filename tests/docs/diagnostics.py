"""The page of the diagnostics, made of what `explain_code` says of each."""

from __future__ import annotations

import refexplorer as rx
from refexplorer.spec.codes import codes_of, titles


def diagnostics_page() -> str:
    """Return the page: a section for each code."""
    lines = ["# Diagnostics", ""]
    lines += [
        "Each problem that refexplorer finds has a code. For each code, this page says what was "
        "found, what readers do with such a set, what the cause may be, and what to do, with an "
        "example. `refexplorer explain-code CODE` and `rx.explain_code` show the same text for one "
        "code. `python -m tests.docs.reference` writes this page.",
        "",
    ]
    for subject, title in titles().items():
        lines += [f"## {title}", ""]
        for code in codes_of(subject):
            lines += section(rx.explain_code(code))
    return "\n".join(lines).rstrip() + "\n"


def section(found: rx.types.CodeExplanation) -> list[str]:
    """Return what there is to know about a code."""
    readers = found.readers if len(found.readers) == 1 else ("", *map("- {}".format, found.readers))
    lines = [f"### `{found.code}`", "", f"{found.severity.capitalize()}. {found.meaning}", ""]
    lines += ["**What readers do.** " + "\n".join(readers).strip(" "), ""]
    lines += [f"**Cause.** {found.cause}", "", f"**What to do.** {found.mend}", ""]
    if found.rule is not None:
        rule = found.rule
        lines += [f"**The rule.** {rule.sentence} ([{rule.section}]({rule.link}))", ""]
    return [*lines, "```", found.example, "```", ""]
