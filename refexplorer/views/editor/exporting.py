"""The rows of the editor as a V0 text, and the way to one of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from refexplorer.errors import RefexplorerError
from refexplorer.markup import size_text
from refexplorer.spec.expansion import check_expandable
from refexplorer.views.wire.editor.editor_messages import V0Text

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet

_LARGE = 5_000_000
_SAMPLES = 50


def write_v0(refs: ReferenceSet, *, sure: bool) -> V0Text:
    """Write a set as V0, one key a line."""
    check_expandable(refs.count, refs.limits)
    size = _estimate(refs)
    if size > _LARGE and not sure:
        sentence = f"{refs.count:,} keys take about {size_text(size)} as V0."
        return V0Text(None, sentence)
    lines = (_line(key, value) for key, value in refs.to_v0().items())
    return V0Text("{\n" + ",\n".join(lines) + "\n}\n", None)


def seek(refs: ReferenceSet, text: str) -> int:
    """Return the number of the row that a person asks for by its key or its number."""
    if text in refs:
        return refs.number(text)
    digits = text.strip().replace(",", "")
    if digits.isdecimal() and len(digits) < 100 and int(digits) < refs.count:
        return int(digits)
    last = f"; the last number is {refs.count - 1:,}" if digits.isdecimal() and refs.count else ""
    raise RefexplorerError(f"There is no key `{text[:100]}`{last}.")


def _estimate(refs: ReferenceSet) -> int:
    """Return about how many bytes the V0 text has, from a sample of the keys."""
    step = max(1, refs.count // _SAMPLES)
    keys = [key for at in range(0, refs.count, step) for key in refs.keys_at(at, at + 1)]
    sampled = sum(len(_line(key, refs[key].to_v0())) + 2 for key in keys)
    return sampled * refs.count // max(1, len(keys))


def _line(key: str, value: object) -> str:
    return f" {json.dumps(key, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"
