"""JSON Schema of reference sets, so that editors complete and check them.

The schemas say what the specification says of structure. What only reading can tell, such as
whether a template renders or base64 has the right length, is left to `refexplorer.expand`; JSON
Schema also takes 3.0 for an integer, which in a dimension it is not.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from refexplorer.errors import RefexplorerError

VERSIONS = (0, 1)


def schema(version: int = 1) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of V0 or V1.

    Raises
    ------
    RefexplorerError
        If the specification has no such version.
    """
    if version not in VERSIONS:
        raise RefexplorerError(f"There is a JSON Schema of V0 and of V1, but not of V{version}.")
    text = files(__package__).joinpath(f"schema.v{version}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
