"""A file of what a check found, a line a target, which later checks are compared with."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

from refexplorer.checks.look.audit_states import TargetState
from refexplorer.checks.render.check_results import TargetCheck
from refexplorer.core.errors import SourceError
from refexplorer.core.masking import masked_url

_START = b'{"url": '
_ASKED = (TargetState.GOOD, TargetState.SHORT)
"""Those of a target that answered, so that its version is known."""


class Journal:
    """The results of an earlier check, and a place for those of this one.

    Each line is one JSON object, written at once. A last line that an end of the machine cut
    is dropped.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._path = None if path is None else Path(path)
        self._known: dict[str | None, TargetCheck] = {}
        if self._path is not None:
            try:
                self._path.touch()
                self._read(self._path)
            except OSError as error:
                raise SourceError(f"{path} cannot be used to resume: {error.strerror}.") from None

    def known(self, url: str | None) -> TargetCheck | None:
        """Return the last earlier result of a target that was reached."""
        found = self._known.get(None if url is None else masked_url(url))
        return None if found is None else found.but(url=url)

    def add(self, record: TargetCheck) -> None:
        """Write one more line."""
        if self._path is not None:
            with self._path.open("ab") as file:
                written = asdict(record) | {"url": _seen(record)}
                file.write(f"{json.dumps(written)}\n".encode())

    def _read(self, path: Path) -> None:
        content = path.read_bytes()
        complete = content.rfind(b"\n") + 1
        for number, line in enumerate(content[:complete].splitlines(), 1):
            record = _record(line)
            if record is None:
                raise _no_journal(path, f"line {number} is not one of its records")
            if record.state in _ASKED:
                self._known[record.url] = record
        if complete < len(content):
            if not complete and not content.startswith(_START):
                raise _no_journal(path, "it begins with something else")
            with path.open("r+b") as file:
                file.truncate(complete)


def _seen(record: TargetCheck) -> str | None:
    return None if record.url is None else masked_url(record.url)


def _no_journal(path: Path, why: str) -> SourceError:
    return SourceError(
        f"{path} was not written by a check of these targets ({why}); name a new file."
    )


def _record(line: bytes) -> TargetCheck | None:
    try:
        found = json.loads(line)
        return TargetCheck(**found | {"state": TargetState(found["state"])})
    except (ValueError, TypeError, KeyError):
        return None
