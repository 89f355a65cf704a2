"""Cases of the specification and hostile inputs, as data."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """One case: its fields are those of ``conformance.json``."""

    fields: Mapping[str, Any]

    def __str__(self) -> str:
        return str(self.fields["id"])

    @property
    def source(self) -> Any:
        return self.fields["raw"] if self.fields["kind"] == "raw" else self.fields.get("input")

    @property
    def templates(self) -> dict[str, str] | None:
        overrides: dict[str, str] | None = self.fields.get("options", {}).get("template_overrides")
        return overrides

    @property
    def expect(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.fields["expect"]
        return found

    @property
    def refused(self) -> bool:
        """Whether the whole set is refused."""
        return "error" in self.expect and "v0_rest" not in self.expect

    @property
    def v0(self) -> dict[str, Any]:
        """The expected expansion."""
        return comparable(self.expect.get("v0", self.expect.get("v0_rest", {})))


def conformance() -> list[Case]:
    return [Case(fields) for fields in json.loads((FOLDER / "conformance.json").read_text())]


def hostile() -> dict[str, dict[str, Any]]:
    cases = json.loads((FOLDER / "hostile.json").read_text())
    return {case["id"]: case for case in cases}


def comparable(v0: Mapping[str, Any]) -> dict[str, Any]:
    """Bring texts that hold a JSON object, and objects, to one form."""
    return {key: _comparable_value(value) for key, value in v0.items()}


def _comparable_value(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("hex:"):
        return "base64:" + base64.b64encode(bytes.fromhex(value[4:])).decode()
    if isinstance(value, str):
        try:
            parsed = json.loads(value, parse_constant=lambda name: name + "*")
        except ValueError:
            return value
        return parsed if isinstance(parsed, dict) else value
    return value
