"""Several sources that are opened together: a pattern of this machine, or a list."""

from __future__ import annotations

import os
from collections.abc import Sequence
from glob import has_magic
from pathlib import Path

from refexplorer.errors import SourceError
from refexplorer.formats.files.local_files import own_path
from refexplorer.markup import escape

Sources = Sequence["str | os.PathLike[str]"]
_FILES = 10_000
"""Files that are opened together."""
NAME_SHOWN = 200
"""Characters of a name in a message."""


def whole_pattern(pattern: str) -> Path:
    """Return a pattern as an absolute path."""
    return own_path(pattern).absolute()


def fitting(pattern: str) -> Sources:
    """Return the files that a pattern fits, in the order of their names."""
    whole = whole_pattern(pattern)
    root = Path(whole.anchor)
    paths = sorted(path for path in root.glob(str(whole.relative_to(root))) if path.is_file())
    shown = repr(escape(pattern, NAME_SHOWN))
    if not paths:
        raise SourceError(f"There is no file {shown}, and none that it fits as a pattern.")
    if len(paths) > _FILES:
        raise SourceError(
            f"The pattern {shown} fits {len(paths):,} files, and at most {_FILES:,} are opened "
            "together."
        )
    return paths


def sources_of(source: object) -> tuple[Sources, str | None]:
    """Return the sources that are to be joined, and the pattern that they fit, if it is one."""
    if isinstance(source, list | tuple) and source:
        check_several(source)
        return source, None
    if isinstance(source, str) and "://" not in source and has_magic(source):
        return fitting(source), str(whole_pattern(source))
    raise SourceError(
        "Several sources are joined along a dimension: pass their paths or URLs as a list, or a "
        'pattern such as "2024*.nc".'
    )


def check_several(sources: Sequence[object]) -> None:
    """Refuse a list of anything else than paths and URLs."""
    if len(sources) > _FILES:
        raise SourceError(
            f"{len(sources):,} files are given, and at most {_FILES:,} are opened together."
        )
    for source in sources:
        if not isinstance(source, str | os.PathLike):
            raise SourceError(
                f"Several sources are opened by their paths or URLs, not from "
                f"{type(source).__name__}."
            )


def common_folder(folders: Sequence[str]) -> str:
    """Return the longest folder or URL that all folders or URLs are in; ``""`` for none."""
    shared = [parts[0] for parts in zip(*(each.split("/") for each in folders), strict=False)]
    for number, parts in enumerate(zip(*(each.split("/") for each in folders), strict=False)):
        if len({*parts}) > 1:
            del shared[number:]
            break
    start = "/".join(shared)
    return "" if start.endswith((":", ":/")) else start


def is_web(source: object) -> bool:
    """Say whether a source is the URL of a web server."""
    return isinstance(source, str) and source.lower().startswith(("http://", "https://"))
