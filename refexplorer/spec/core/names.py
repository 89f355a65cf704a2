"""Names of templates and dimensions, as the expressions of jinja2 take them."""

from __future__ import annotations

RESERVED = frozenset({"self"})
"""Names that jinja2 cannot be given, written in an expression or not."""
_KEYWORDS = frozenset(
    {
        "true", "false", "none", "True", "False", "None", "not", "and", "or", "if", "else", "in",
        "is",
    }
)  # fmt: skip


def is_speakable(name: str) -> bool:
    """Say whether a name can be written in an expression."""
    return name.isidentifier() and name not in _KEYWORDS
