"""The versions of the targets behind a result, kept with it and compared before it is used again.

A result says nothing of a file that changed since: one request for each target shows whether it is
still the file that was looked at, without reading it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from refexplorer.checks.look.asking import Answer, ask_all
from refexplorer.io.fetch.background import wait_for
from refexplorer.io.fetch.targets import Targets
from refexplorer.masking import masked_url

METADATA_KEY = b"refexplorer.targets"
TargetVersion = tuple[int | None, str | None, str | None]
"""Size in bytes, ETag and time of the last change, as its store reports them."""


def versions_asked(
    targets: Targets,
    urls: Sequence[str],
    keep_on: Callable[[], bool] | None = None,
    unlisted: str | None = None,
) -> dict[str, TargetVersion | None]:
    """Ask for the versions of targets, several at a time; None for those without an answer."""
    answers: dict[str, Answer] = {}
    asked = [(url, partial(answers.__setitem__, url)) for url in urls]
    if asked:
        wait_for(ask_all(targets, asked, unlisted=unlisted), keep_on)
    return {url: version_of(answer) for url, answer in answers.items()}


def version_of(answer: Answer) -> TargetVersion | None:
    """Return the version of a target that answered."""
    facts = answer.facts
    return None if facts is None else (facts.size, facts.etag, facts.modified)


def as_metadata(versions: Mapping[str, TargetVersion | None]) -> dict[bytes, bytes]:
    """Return versions as metadata of a table."""
    return {METADATA_KEY: json.dumps({masked_url(url): v for url, v in versions.items()}).encode()}


def from_metadata(metadata: Mapping[bytes, bytes]) -> dict[str, TargetVersion | None] | None:
    """Return what `as_metadata` wrote; None if there is nothing of it."""
    try:
        found = json.loads(metadata[METADATA_KEY])
        return {url: None if kept is None else tuple(kept) for url, kept in found.items()}
    except (KeyError, ValueError, AttributeError, TypeError):
        return None


def is_same(kept: TargetVersion | None, now: TargetVersion | None) -> bool:
    """Say whether a target is known to be as it was; a store without versions does not tell."""
    if kept is None or now is None:
        return kept is now
    return kept == now and any(kept[1:])
