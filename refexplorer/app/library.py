"""What a served page may open."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from refexplorer import demo
from refexplorer.data.access import AccessPolicy
from refexplorer.errors import AccessError
from refexplorer.opening import open_references
from refexplorer.referenceset import ReferenceSet


class Library:
    """The shipped sets, the set that the page was started with, and what `allow` names.

    Other people may see the page: a path that somebody types is opened only inside `allow`,
    a URL only if it is on the internet or inside `allow`.

    Parameters
    ----------
    allow
        Folders, hosts and buckets, as for `AccessPolicy`.
    """

    def __init__(self, allow: Iterable[str] = ()) -> None:
        self.sets = {title: str(path) for title, path in demo.sets().items()}
        self._allow = tuple(allow)

    def open(self, source: str) -> ReferenceSet:
        """Open what somebody chose or typed.

        Raises
        ------
        AccessError
            If it may not be opened on this page.
        SourceError
            If it cannot be read.
        """
        if source not in self.sets.values():
            self._check(source)
        return open_references(source)

    def grants(self, references: ReferenceSet) -> tuple[str, ...]:
        """Say what the targets of a set may be read from: its own folder, too, if it is ours."""
        location = references.source.location
        ours = {str(Path(path).parent) for path in self.sets.values()}
        ours |= {path for path in self.sets.values() if Path(path).is_dir()}
        return (*self._allow, location) if location in ours else self._allow

    def _check(self, source: str) -> None:
        policy = AccessPolicy(allow=self._allow, served=True)
        # Of a parquet store the folder is named, and only files can be checked.
        is_folder = "://" not in source and Path(source).is_dir()
        try:
            policy.check(f"{source}/.zmetadata" if is_folder else source)
        except AccessError as error:
            if "://" not in source:
                raise AccessError(
                    f"{source} is not opened on this page: start it with "
                    f"`refexplorer serve {source}`, or with `--allow` and its folder.",
                    target=source,
                    grant="",
                ) from error
            policy.grant(source)
