"""Python as text: calls over several lines, and imports in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# as long as Black and Ruff let a line be
_WIDTH = 88


@dataclass(frozen=True, slots=True)
class RawCode:
    """Python that stands in the code as it is, not as the text that `repr` makes of it."""

    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass
class Recipe:
    """The parts of the code: imports, lines before the call, and options of the file system."""

    imports: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)


def whole_code(recipe: Recipe, imports: list[str], lines: list[str]) -> str:
    """Return the imports in order, and the lines below them; ``module:name`` is a from-import."""
    names = sorted({*recipe.imports, *imports})
    plain = [f"import {name}" for name in names if ":" not in name]
    parted = [name.split(":") for name in names if ":" in name]
    head = plain + [f"from {module} import {name}" for module, name in parted]
    return "\n".join([*head, "", *recipe.lines, *lines]) + "\n"


def call_text(function: str, positional: list[Any], named: Mapping[str, Any]) -> str:
    """Write a call on one line, or an argument to a line where that is too long."""
    arguments = [repr(value) for value in positional]
    short = [f"{name}={value!r}" for name, value in named.items()]
    line = f"{function}({', '.join([*arguments, *short])})"
    if len(line) <= _WIDTH and "\n" not in line:
        return line
    spread = [f"{name}={_spread(value)}" for name, value in named.items()]
    inside = "".join(f"    {part},\n" for part in [*arguments, *spread])
    return f"{function}(\n{inside})"


def _spread(value: Any) -> str:
    """Write a dict with an entry to a line, inside the arguments of a call."""
    if not isinstance(value, dict) or len(repr(value)) < _WIDTH // 2:
        return repr(value)
    inside = "".join(f"        {key!r}: {item!r},\n" for key, item in value.items())
    return f"{{\n{inside}    }}"
