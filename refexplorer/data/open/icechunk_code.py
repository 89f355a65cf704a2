"""The Python that opens a repository with Icechunk, Zarr and xarray alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from refexplorer.formats.icechunk.facts import Container, RepositoryFacts
from refexplorer.formats.icechunk.storage import storage_call
from refexplorer.masking import masked_options

if TYPE_CHECKING:
    from collections.abc import Mapping

_ACCESS = {
    "s3": "icechunk.s3_anonymous_credentials()",
    "s3_compatible": "icechunk.s3_anonymous_credentials()",
    "tigris": "icechunk.s3_anonymous_credentials()",
    "gcs": "icechunk.gcs_anonymous_credentials()",
    "azure": "icechunk.azure_anonymous_credentials()",
    "http": "icechunk.credentials.HttpAccess",
    "local_file_system": "icechunk.credentials.LocalFileSystemAccess",
}
"""What lets Icechunk read a container that everybody may read, by the kind of its store."""


def opening_lines(facts: RepositoryFacts, options: Mapping[str, Any]) -> list[str] | None:
    """Return the lines that make ``session`` of a repository; None if it has no place.

    Parameters
    ----------
    facts
        Of the repository.
    options
        For its storage, as fsspec has them; the lines have none that may be a secret.
    """
    if facts.place is None or facts.containers is None or facts.uncommitted:
        return None
    function, arguments, named = storage_call(facts.place, options)
    lines = [
        f"storage = icechunk.{function}({', '.join(_written(arguments, masked_options(named)))})"
    ]
    access = [f"    {each.prefix!r}: {_access(each)}," for each in facts.containers]
    if access and facts.chunks.get("virtual"):
        lines += ["access = {", *access, "}"]
        lines.append(
            "repository = icechunk.Repository.open(storage, authorize_virtual_chunk_access=access)"
        )
    else:
        lines.append("repository = icechunk.Repository.open(storage)")
    return [*lines, f"session = repository.readonly_session({_version(facts)})"]


def _access(container: Container) -> str:
    import icechunk

    found = _ACCESS.get(container.store, "None")
    is_older = not hasattr(icechunk.credentials, "LocalFileSystemAccess")
    return "None" if is_older and "Access" in found else found  # Icechunk 1 has no name for it


def _version(facts: RepositoryFacts) -> str:
    if facts.version in (facts.branches or ()):
        return repr(facts.version)
    if facts.version in (facts.tags or ()):
        return f"tag={facts.version!r}"
    return f"snapshot_id={facts.snapshot!r}"


def _written(arguments: tuple[Any, ...], named: dict[str, Any]) -> Iterator[str]:
    yield from map(repr, arguments)
    yield from (f"{name}={value!r}" for name, value in named.items())
