"""A shorter version 1 for the editor's text: found on a thread, inserted on request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import Struct

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.limits import DEFAULT_LIMITS, check_expandable
from refexplorer.core.text import counted, size_text
from refexplorer.formats.columns.references import json_text
from refexplorer.verbs.inferring import Inference, infer, part_rows, parts_text, savings_text
from refexplorer.verbs.opening import open_references
from refexplorer.verbs.referenceset import ReferenceSet
from refexplorer.views.editor.editor_models import V0Text
from refexplorer.views.wire.jobs import JobReport, go_on
from refexplorer.views.wire.requests import Count, job, request

if TYPE_CHECKING:
    from refexplorer.views.editor.editor_controller import EditorController

_LARGE = 5_000_000  # bytes of V0 text that is written only after a confirmation
_SAMPLES = 50  # keys, evenly spaced, from which the size of the text is estimated


def write_v0(refs: ReferenceSet, *, sure: bool) -> V0Text:
    """Write a set as V0, one key per line."""
    check_expandable(refs.count, refs.limits)
    size = _estimate(refs)
    if size > _LARGE and not sure:
        sentence = f"{refs.count:,} keys take about {size_text(size)} as V0."
        return V0Text(None, sentence)
    lines = (_line(key, value) for key, value in refs.to_v0().items())
    return V0Text("{\n" + ",\n".join(lines) + "\n}\n", None)


def seek(refs: ReferenceSet, text: str) -> int:
    """Return the number of the row for a key or a number typed by a person."""
    if text in refs:
        return refs.number(text)
    digits = text.strip().replace(",", "")
    if digits.isdecimal() and len(digits) < 100 and int(digits) < refs.count:
        return int(digits)
    last = f"; the last number is {refs.count - 1:,}" if digits.isdecimal() and refs.count else ""
    raise RefexplorerError(f"There is no key `{text[:100]}`{last}.")


def _estimate(refs: ReferenceSet) -> int:
    """Estimate the size of the V0 text in bytes, from a sample of the keys."""
    step = max(1, refs.count // _SAMPLES)
    keys = [key for at in range(0, refs.count, step) for key in refs.keys_at(at, at + 1)]
    sampled = sum(len(_line(key, refs[key].to_v0())) + 2 for key in keys)
    return sampled * refs.count // max(1, len(keys))


def _line(key: str, value: object) -> str:
    return f" {json.dumps(key, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"


LISTED = 50  # Keys that stay explicit, of which so many are named
_UNREAD = ("unknown-field", "unknown-top-level-key")
_SECTIONS = ("templates", "gen", "refs")


class Shorter(Struct, frozen=True):
    """A shorter text, if one was found."""

    found: bool  # Whether there is a shorter one
    # sizes, parts: The sizes, and what the document consists of, in a sentence each
    sizes: str
    parts: str
    # The gen items and templates: what it is, key or name, URL
    rows: tuple[tuple[str, str, str], ...]
    # explicit, explicit_count: The first of the keys that are written out, and how many there are
    explicit: tuple[str, ...]
    explicit_count: Count


class Shortening:
    """Responds to the editor's requests about a shorter text."""

    def __init__(self, editor: EditorController) -> None:
        self._editor = editor
        self._pair: tuple[str, str] | None = None

    @job("shorten", unsaved="This saved page cannot find a shorter text", sends="shorter")
    def find(self, report: JobReport) -> Shorter:
        """Search for a shorter text."""
        text, references = self._editor.document, self._editor.references
        limits = DEFAULT_LIMITS if references is None else references.limits
        # as bytes, since a short text could also be a path
        refs = open_references(text.encode("utf-8", "replace"), limits=limits)
        found, document = shortened(refs, text, report)
        self._pair = None if document is None else (text, document)
        return found

    @request("shorten.put", sends="document")
    def put(
        self,
        back: bool = False,  # Whether the text that was there before comes back
    ) -> str:
        """Insert the shorter text into the editor, unless its text has changed."""
        if self._pair is None:
            raise RefexplorerError("No shorter text was found yet.")
        old, new = reversed(self._pair) if back else self._pair
        if self._editor.document != old:
            raise RefexplorerError("The text has changed in the meantime, so it was not replaced.")
        self._editor.document = new
        return new


def shortened(refs: ReferenceSet, text: str, report: JobReport) -> tuple[Shorter, str | None]:
    """Find a shorter text for a set read from a text; None if there is none."""
    if errors := refs.error_count:
        raise RefexplorerError(
            f"{counted(errors, 'error')} in the text would be lost: fix the text first."
        )

    def tell(done: int, of: int) -> None:
        go_on(report, done, of, f"{100 * done // max(of, 1)} % checked")

    found = infer(refs, progress=tell)
    document = _shorter_text(found, text)
    size = found.size_before if document is None else len(document.encode("utf-8", "replace"))
    unread = sum(note.count for note in refs.diagnostics if note.code in _UNREAD)
    return _shorter(replace(found, size_after=size), document is not None, unread), document


def _shorter(found: Inference, better: bool, unread: int) -> Shorter:
    omitted = f" The content of {counted(unread, 'field')} that no reader knows is omitted."
    return Shorter(
        better,
        savings_text(found),
        parts_text(found) + omitted * bool(unread) if better else "",
        tuple(part_rows(found)) if better else (),
        tuple(found.explicit_keys(0, LISTED)) if better else (),
        found.kept_explicit,
    )


def _shorter_text(found: Inference, text: str) -> str | None:
    """Format the document, in lines if still shorter; spaces alone do not count as savings."""
    if not found.templates and not found.gen:
        return None
    compact, by_lines = json_text(found.document), "".join(_lines(found.document))
    if len(compact) >= len(json_text(json.loads(text))):
        return None
    return by_lines if len(by_lines) < len(text) else compact


def _lines(document: dict[str, object]) -> Iterator[str]:
    """Format a document with one line per template, gen item and reference."""
    sections = [name for name in _SECTIONS if document.get(name)]
    yield '{\n "version": 1'
    for name in sections:
        part = document[name]
        assert isinstance(part, dict | list)
        opening, closing = "{}" if isinstance(part, dict) else "[]"
        yield f',\n "{name}": {opening}\n  '
        if isinstance(part, dict):
            entries = [f"{json_text(key)}: {json_text(value)}" for key, value in part.items()]
        else:
            entries = [json_text(value) for value in part]
        yield ",\n  ".join(entries)
        yield f"\n {closing}"
    yield "\n}\n"
