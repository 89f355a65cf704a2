"""`explain_code`: the explanation of a diagnostic code."""

from __future__ import annotations

from dataclasses import dataclass, fields
from textwrap import fill, indent

from refexplorer.core.errors import RefexplorerError
from refexplorer.readers.features import WHOLE
from refexplorer.spec.codes import CODES, RULES, Severity, SpecRule
from refexplorer.spec.findings import suggest
from refexplorer.verbs.opening import dialects

_SAME = "as the specification says."
_WIDTH = 88  # columns of a terminal


@dataclass(frozen=True, slots=True)
class CodeExplanation:
    """The explanation of a diagnostic code.

    Attributes
    ----------
    code, severity, meaning
        Those of the diagnostics.
    readers
        How readers handle it, one sentence each; for most codes, how they read the example.
    cause
        The usual cause.
    mend
        The remedy.
    example
        The smallest set that produces it: JSON, or the files of a parquet store by name.
    rule
        The rule of the specification; None if there is none.
    """

    code: str
    severity: Severity
    meaning: str
    readers: tuple[str, ...]
    cause: str
    mend: str
    example: str
    rule: SpecRule | None

    def __str__(self) -> str:
        parts = {
            "": f"{self.severity} {self.code}: {self.meaning}",
            "What readers do": "\n".join(self.readers),
            "Cause": self.cause,
            "What to do": self.mend,
            "The smallest example": self.example,
        }
        if self.rule is not None:
            rule_text = f'{self.rule.sentence} (reference specification, "{self.rule.section}")'
            parts["The rule"] = f"{rule_text}\n{self.rule.link}"
        blocks = []
        for title, text in parts.items():
            if not text.startswith(("{", "[")):  # as the example does
                text = "\n".join(fill(line, _WIDTH) for line in text.splitlines())
            blocks.append("\n".join(filter(None, (title, indent(text, "  " if title else "")))))
        return "\n\n".join(blocks)

    def fields(self) -> dict[str, object]:
        """Return everything as JSON values; the rule as its sentence and its section."""
        values: dict[str, object] = {each.name: getattr(self, each.name) for each in fields(self)}
        rule = self.rule
        values["rule"] = None if rule is None else {"sentence": rule.sentence, "link": rule.link}
        return values


def explain_code(code: str) -> CodeExplanation:
    """Explain a diagnostic code: what it means, what readers do, how to fix it.

    Raises
    ------
    RefexplorerError
        If there is no such code.
    """
    if code not in CODES:
        hint = suggest(code, CODES) or "DIAGNOSTICS.md lists them."
        raise RefexplorerError(f"There is no diagnostic code {code!r}. {hint}")
    entry = CODES[code]
    readers = (entry.readers,) if entry.readers else tuple(_reader_texts(entry.example))
    mend, rule = f"{entry.mend} {entry.command}".rstrip(), RULES[entry.rule] if entry.rule else None
    facts = entry.severity, entry.meaning, readers, entry.cause, mend, entry.example, rule
    return CodeExplanation(code, *facts)


def _reader_texts(example: str) -> list[str]:
    """Describe how readers handle an example; those with the same result are grouped."""
    names_by_text: dict[str, list[str]] = {}
    for verdict in [*dialects(example, readers=WHOLE)][1:]:
        if verdict.outcome == "not run":
            continue
        if verdict.is_run:
            text = _SAME if verdict.outcome == "same" else f"{verdict.outcome}."
        else:
            text = f"{verdict.outcome}. {verdict.reasons[0].sentence}"
        names_by_text.setdefault(text, []).append(verdict.reader)
    return [f"{', '.join(names)}: {text}" for text, names in names_by_text.items()]
