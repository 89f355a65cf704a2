"""The explorer or editor as one file, which needs neither a kernel, a server nor a network."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import Any

from refexplorer.checks.report_html import shown_without
from refexplorer.core.errors import SecretsWarning, warn
from refexplorer.core.files import write_blocks
from refexplorer.core.text import counted, escape, has_secrets, is_secret, shown
from refexplorer.hosts import bundle_text
from refexplorer.refset.opened_set import internals
from refexplorer.verbs.referenceset import PAGE_KEYS, ReferenceSet
from refexplorer.views.editor.editor_controller import EditorController
from refexplorer.views.exercises.exercise_controller import ExercisesController
from refexplorer.views.exercises.exercise_models import Exercise
from refexplorer.views.explorer.explorer_controller import ExplorerController
from refexplorer.views.saved.recorded_editor import packed_text, record_editor, record_exercise
from refexplorer.views.saved.recording import Recording, SavedProgress, record
from refexplorer.views.static_html import editor_html, exercises_html, explorer_html

ReadFirst = Iterable[str] | Mapping[str, Sequence[str] | None]
"""Paths of arrays, or with each the part that is read, such as ``{"sst": ["0", ":", ":"]}``."""
_HERE = Path(__file__).parent


def save_page(
    refs: ReferenceSet,
    path: str | os.PathLike[str],
    *,
    read: ReadFirst = (),
    check_targets: bool = False,
    keys: int = PAGE_KEYS,
    state: Mapping[str, str] | None = None,
    report: SavedProgress | None = None,
) -> None:
    """Write the explorer of a set as one HTML file; see `ReferenceSet.to_html`."""
    location = refs.source.location
    # As on a page for others: no folder of this machine is named in what is handed out.
    allowed = [] if location is None or "://" in location else [location]
    controller = ExplorerController(refs, allow=allowed, served=True, at_once=True)
    parts = read.items() if isinstance(read, Mapping) else [(each, None) for each in read]
    unknown = [each for each, _ in parts if each not in refs.arrays()]
    if unknown:
        raise KeyError(unknown[0])
    options: dict[str, Any] = {} if report is None else {"report": report}
    recording = record(controller, read=parts, check_targets=check_targets, keys=keys, **options)
    _ = refs.diagnostics  # of a large set, too
    controller.selection = next((each for each, _ in parts), "")  # whose picture needs no script
    index = internals(refs).target_index
    urls = index.urls if index.urls != index.names else ()
    if any(is_secret(url) for url in (refs.source.place, refs.source.location, *urls) if url):
        warn(shown_without(path), SecretsWarning)
    name = refs.source.name
    facts = _facts(name) | {"part": _part_text(refs, recording), "reports": _reports(refs)}
    content = recording.packed(facts | {"state": dict(state or {})})
    page = _page_text("explorer", name, explorer_html(controller), content)
    write_blocks(Path(path), [page.encode()])


def save_editor_page(text: str, path: str | os.PathLike[str], name: str = "An example") -> None:
    """Write the template editor with a text, its keys and their derivation as one HTML file."""
    controller = EditorController(text)
    content = record_editor(controller, _facts(name) | {"reports": []})
    page = _page_text("editor", name, editor_html(controller), content)
    if has_secrets(text):
        warn(
            f"{os.fspath(path)} has the text of the set, with signatures, tokens or passwords: "
            "anyone who has the page can use them until they expire.",
            SecretsWarning,
        )
    write_blocks(Path(path), [page.encode()])


def save_exercise_page(exercise: Exercise, path: str | os.PathLike[str]) -> None:
    """Write one exercise as one HTML file; see `Exercises.to_html`."""
    controller = ExercisesController(exercise.name, offered=[exercise])
    content = record_exercise(exercise, _facts(exercise.title) | {"reports": []})
    page = _page_text("editor", exercise.title, exercises_html(controller), content)
    write_blocks(Path(path), [page.encode()])


def _facts(name: str) -> dict[str, Any]:
    now = datetime.now(UTC)
    return {
        "title": escape(name),
        "version": version("refexplorer"),
        "made": f"{now:%Y-%m-%d %H:%M} UTC",
    }


def _page_text(view: str, name: str, static: str, content: str) -> str:
    """Return the page of a view: its static HTML, and its recorded responses."""
    loader = (_HERE / "saved_page.js").read_text(encoding="utf-8")
    return Template((_HERE / "saved_page.html").read_text(encoding="utf-8")).substitute(
        hash=base64.b64encode(hashlib.sha256(loader.encode()).digest()).decode(),
        version=version("refexplorer"),
        title=shown(f"{name} · refexplorer", 200),
        static=static,
        view=_packed_bundle(view),
        saved=_packed_bundle("saved"),
        content=content,
        loader=loader,
    )


@cache
def _packed_bundle(view: str) -> str:
    return packed_text(bundle_text(view).encode())


def _part_text(refs: ReferenceSet, recording: Recording) -> str:
    """Return which part of the set is in the page, as text."""
    keys = counted(refs.count, "key")
    text = f"All {keys} are on this page."
    if not recording.tree.whole:
        each = max(len(level["rows"]) for level in recording.tree.levels.values())
        text = (
            f"This page has {recording.tree.rows:,} rows of the tree of {keys}, at most the first "
            f"{each:,} of each group or array; counts, notes and maps cover all keys."
        )
    for name, noun in (("health", "array"), ("targets", "target")):
        listed = recording.content[name]
        if len(listed["rows"]) < int(listed["total"]):
            here, total = len(listed["rows"]), counted(int(listed["total"]), noun)
            text += f" The table of {noun}s has the first {here:,} of {total}."
    return text


def _reports(refs: ReferenceSet) -> list[dict[str, str]]:
    """Return the label and the HTML of findings about the targets."""
    reports = {"Audit": refs.audited, "Verification": refs.verified}
    return [
        {"label": label, "html": report._repr_html_()}
        for label, report in reports.items()
        if report is not None
    ]
