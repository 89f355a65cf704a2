"""Checks of an exercise, by the meaning of a set; each gives a sentence or None.

Two texts that make the same references are the same answer. A sentence says what is wrong and
where, and leaves to the person what is right.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from refexplorer.errors import RefexplorerError
from refexplorer.opening import dialects, open_references
from refexplorer.referenceset import ReferenceSet
from refexplorer.spec.core.references import Inline, Kind, Range, Reference, Url
from refexplorer.views.text.editor_diagnostics import sentence_of
from refexplorer.views.wire.editor_models import Result

_WRITTEN_OUT = 1_000
_KINDS = {
    Kind.INLINE: "inline data",
    Kind.BASE64: "base64",
    Kind.URL: "a whole file",
    Kind.RANGE: "a byte range",
}


def judge(refs: ReferenceSet, check: Mapping[str, Any]) -> Result:
    """Hold a set against all that an exercise asks.

    Parameters
    ----------
    check
        ``expands`` (V0 text: the whole set), ``samples`` (V0 text: some keys of it), ``count``
        (of keys), ``written`` (how many keys may be written out in ``refs``), ``instead``
        (``templates`` and ``expands``: what comes out with other templates), ``records``
        (``size`` and ``files``: the record files of the set as parquet), ``readers`` (who must
        read it as the specification does), ``clean`` (nothing is warned of).
    """
    for name, expected in check.items():
        said = CHECKS[name](refs, expected)
        if said is not None:
            return Result(False, said)
    return Result(True, "Solved.")


def _expands(refs: ReferenceSet, expected: str) -> str | None:
    wanted = open_references(expected.encode())
    return _samples(refs, expected) or _odd_key(refs, wanted)


def _odd_key(refs: ReferenceSet, wanted: ReferenceSet) -> str | None:
    for key in refs.keys_at(0, _WRITTEN_OUT):
        if key not in wanted:
            return f"The key `{key}` is not part of the solution."
    if refs.count > wanted.count:
        return f"There are {refs.count:,} keys, more than the solution has."
    return None


def _samples(refs: ReferenceSet, expected: str) -> str | None:
    wanted = open_references(expected.encode())
    for key, right in wanted.items():
        if key not in refs:
            return _missing(refs, key)
        found = _difference(refs[key], right)
        if found is not None:
            return f"`{key}`: {found}"
    return None


def _missing(refs: ReferenceSet, key: str) -> str:
    """Say that a key is missing, and what the engine says of the first error, which may be why."""
    reason = next((one for one in refs.diagnostics if one.severity != "info"), None)
    said = f" {' '.join(filter(None, (reason.message, reason.hint)))}" if reason else ""
    return f"There is no key `{key}` yet.{said}"


def _difference(found: Reference, right: Reference) -> str | None:
    """Say in which part a reference is another one."""
    if isinstance(found, Inline) and isinstance(right, Inline):
        same = _parsed(found.text) == _parsed(right.text)
        return None if same else "the text differs from the solution."
    if found.kind != right.kind:
        return f"it is {_KINDS[found.kind]}, but should be {_KINDS[right.kind]}."
    if isinstance(found, Url | Range) and isinstance(right, Url | Range) and found.url != right.url:
        return f"the URL `{found.url}` is not right."
    if isinstance(found, Range) and isinstance(right, Range):
        for name in ("offset", "length"):
            if (value := getattr(found, name)) != getattr(right, name):
                return f"the {name} {value:,} is not right."
    return None if found == right else "the data differ from the solution."


def _parsed(text: str) -> object:
    """Return a JSON object as its value, so that its spelling does not count."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text


def _count(refs: ReferenceSet, expected: int) -> str | None:
    if refs.count == expected:
        return None
    return f"There are {refs.count:,} keys, but there should be {expected:,}."


def _written(refs: ReferenceSet, expected: int) -> str | None:
    found = len(refs.numbers("refs"))
    if found <= expected:
        return None
    return f"{found:,} keys are written out in `refs`; generate them with `gen` instead."


def _instead(refs: ReferenceSet, expected: Mapping[str, Any]) -> str | None:
    text, templates = (refs.source.text or "").encode(), expected["templates"]
    said = _expands(open_references(text, templates=templates), expected["expands"])
    if said is None:
        return None
    given = ", ".join(f"`{name}` = `{value}`" for name, value in templates.items())
    return f"The set is right, but not with {given} instead: {said}"


def _records(refs: ReferenceSet, expected: Mapping[str, Any]) -> str | None:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.parq"
        try:
            refs.to_parquet(store, record_size=expected["size"])
        except RefexplorerError as error:
            return str(error)
        files = sorted(str(path.relative_to(store).as_posix()) for path in store.rglob("*.parq"))
    if files == expected["files"]:
        return None
    return (
        f"As parquet this has {len(files)} record files, but should have {len(expected['files'])}."
    )


def _readers(refs: ReferenceSet, expected: list[str]) -> str | None:
    verdicts = dialects((refs.source.text or "").encode())
    for name in expected:
        if verdicts[name].outcome != "same":
            return f"{name}: {verdicts[name].summary}. {verdicts[name].reasons[0]}"
    return None


def _clean(refs: ReferenceSet, expected: bool) -> str | None:
    odd = next((one for one in refs.diagnostics if one.severity != "info"), None)
    return None if odd is None else sentence_of(RefexplorerError(odd.message))


CHECKS: Mapping[str, Callable[[ReferenceSet, Any], str | None]] = {
    "expands": _expands,
    "samples": _samples,
    "count": _count,
    "written": _written,
    "instead": _instead,
    "records": _records,
    "readers": _readers,
    "clean": _clean,
}
"""By the name that an exercise calls them; they are asked in the order of the exercise."""
