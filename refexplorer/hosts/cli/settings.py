"""Settings of a folder for the commands that check: ``refexplorer.toml`` or ``pyproject.toml``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from refexplorer.core.errors import SourceError

VERBS = ("check", "audit", "verify")
_OWN, _SHARED = Path("refexplorer.toml"), Path("pyproject.toml")
_PARAMETERS = {"format": "form"}


def settings() -> dict[str, Any]:
    """Return the default options of the checking commands, from files in this folder only."""
    if not (_OWN.is_file() or _SHARED.is_file()):
        return {}
    # numpy and more come with it, which the command needs a moment later
    from refexplorer.checks.expectations import FLAG, TEXT, TEXTS, check_keys, read_toml

    name = str(_OWN)
    found = read_toml(_OWN, name) if _OWN.is_file() else None
    if found is None:
        tool = read_toml(_SHARED, str(_SHARED)).get("tool")
        name = f"[tool.refexplorer] of {_SHARED}"
        found = tool.get("refexplorer") if isinstance(tool, dict) else None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise SourceError(f"{name} must be a table of settings.")
    kinds = {
        "accept": TEXTS, "allow": TEXTS, "decode": TEXT, "expect": TEXT, "fail-on": TEXT,
        "format": TEXT, "targets": FLAG, "values": TEXT,
    }  # fmt: skip
    check_keys(name, found, kinds)
    options = {_PARAMETERS.get(key, key.replace("-", "_")): value for key, value in found.items()}
    return dict.fromkeys(VERBS, options)
