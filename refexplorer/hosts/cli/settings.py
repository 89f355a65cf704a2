"""Settings of a folder for the commands that check: ``refexplorer.toml`` or ``pyproject.toml``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from refexplorer.core.errors import SourceError
from refexplorer.core.text import escape
from refexplorer.spec.findings import suggest

VERBS = ("check", "audit", "verify")
_OWN, _SHARED = "refexplorer.toml", "pyproject.toml"
_TEXT, _TEXTS, _FLAG = "text", "a list of texts", "true or false"
_PARAMETERS = {"format": "form"}
_KINDS = {
    "accept": _TEXTS, "allow": _TEXTS, "decode": _TEXT, "expect": _TEXT, "fail-on": _TEXT,
    "format": _TEXT, "targets": _FLAG, "values": _TEXT,
}  # fmt: skip
"""Options that a file may have, and what they are; a command takes those that it has."""
_BYTES = 2**20
"""A longer file of settings is not read."""


def settings() -> dict[str, Any]:
    """Return defaults for the options of each verb that checks, from the files of this folder.

    Only this folder is asked: a file above it may be anybody's.

    Raises
    ------
    SourceError
        If a file cannot be parsed, or has a key or a value that no option has.
    """
    name, found = _OWN, _table(_OWN)
    if found is None:
        tool = (_table(_SHARED) or {}).get("tool")
        name = f"[tool.refexplorer] of {_SHARED}"
        found = tool.get("refexplorer") if isinstance(tool, dict) else None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise SourceError(f"{name} is no table of settings.")
    for key, value in found.items():
        _check(name, key, value)
    options = {_PARAMETERS.get(key, key.replace("-", "_")): value for key, value in found.items()}
    return dict.fromkeys(VERBS, options)


def _table(name: str) -> dict[str, Any] | None:
    """Return what a file of this folder has; None if there is no such file."""
    import tomllib

    path = Path(name)
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            data = file.read(min(_BYTES, path.stat().st_size) + 1)
        if len(data) > _BYTES:
            raise SourceError(f"{name} has more than {_BYTES:,} bytes, too many for settings.")
        return tomllib.loads(data.decode())
    except OSError as error:
        raise SourceError(f"{name} cannot be read: {error.strerror or error}.") from None
    except ValueError as error:
        raise SourceError(f"{name} is not TOML: {escape(str(error), 200)}.") from None


def _check(name: str, key: str, value: object) -> None:
    shown = escape(key, 100)
    if key not in _KINDS:
        hint = suggest(key, _KINDS) or f"It may have {', '.join(_KINDS)}."
        raise SourceError(f"{name} has the unknown setting {shown!r}. {hint}")
    kind = _KINDS[key]
    is_right = {
        _TEXT: isinstance(value, str),
        _TEXTS: isinstance(value, list) and all(isinstance(each, str) for each in value),
        _FLAG: isinstance(value, bool),
    }[kind]
    if not is_right:
        raise SourceError(f"{shown!r} of {name} must be {kind}.")
