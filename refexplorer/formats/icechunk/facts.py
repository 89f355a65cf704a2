"""Facts about a repository, in addition to its references."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from refexplorer.core.errors import SourceError
from refexplorer.core.text import masks_repr

NO_LOCATION = "icechunk:///"  # The prefix of native chunks of a repository without location
UNREAD = "not told apart"  # The kind of chunks in manifests that were not read
NATIVE_STARTS = ("chunks/", NO_LOCATION)  # The prefixes of native chunks


@masks_repr
class Container(NamedTuple):
    """A virtual chunk container: URLs that Icechunk may read chunks from.

    Attributes
    ----------
    prefix
        The common prefix of these URLs.
    name
        Its name in the repository; None without a name.
    store
        The kind of store: ``s3``, ``gcs``, ``http``, ``local_filesystem`` and so on.
    endpoint
        The server of an S3 bucket outside AWS.
    """

    prefix: str
    name: str | None
    store: str
    endpoint: str | None = None


@masks_repr
@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryFacts:
    """A repository, and the snapshot that was read.

    Attributes
    ----------
    place
        Path or URL of the repository; None for one in memory.
    version
        The requested branch, tag or snapshot; None if an object was given.
    snapshot
        The id of the snapshot that was read.
    uncommitted
        Whether uncommitted changes of the session were read, too.
    branches, tags
        Their names; None if only a session was given, which does not list them.
    containers
        Virtual chunk containers; None if only a session was given.
    chunks
        Numbers of chunks: ``native`` (bytes in the repository), ``virtual`` and ``inline``; of a
        large snapshot, whose manifests are not read on opening, ``not told apart``.
    outside
        The number of virtual chunks outside all containers, which Icechunk refuses to read;
        None if unknown.
    example
        One of these locations.
    """

    place: str | None
    version: str | None
    snapshot: str
    uncommitted: bool = False
    branches: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    containers: tuple[Container, ...] | None = None
    chunks: Mapping[str, int] = field(default_factory=dict)
    outside: int | None = None
    example: str | None = None

    @property
    def endpoints(self) -> dict[str, str]:
        """The servers of buckets outside AWS, by URL prefix."""
        return {each.prefix: each.endpoint for each in self.containers or () if each.endpoint}

    @staticmethod
    def kind_of(url: str) -> Literal["native", "virtual"]:
        """Return whether a target is a file of the repository or an external file."""
        return "native" if url.startswith(NATIVE_STARTS) else "virtual"

    @property
    def access(self) -> str | None:
        """Return what Icechunk needs to read the virtual chunks, as text; None without any.

        refexplorer uses its own access policy instead.
        """
        if not self.chunks.get("virtual") and not self.chunks.get(UNREAD):
            return None
        if self.containers is None:
            return (
                "A session does not list its virtual chunk containers, so it is not known "
                "which virtual chunks Icechunk may read."
            )
        sentences = []
        if self.containers:
            names = ", ".join(each.prefix for each in self.containers)
            sentences.append(
                "Icechunk reads virtual chunks of "
                f"{names} once `authorize_virtual_chunk_access` names the prefix"
            )
        if self.outside:
            others = "location is" if self.outside == 1 else "locations are"
            sentences.append(
                f"{self.outside:,} {others} in no virtual chunk container (such as "
                f"{self.example}), and Icechunk refuses to read them until one is added"
            )
        return "; ".join(sentences) + "." if sentences else None


MARKS = ("repo", "refs/branch.main/ref.json")  # Files of every repository, versions 2 and 1
_LOCAL = "local_file_system_object_store_provider"
_S3_KEYS = {"key": "access_key_id", "secret": "secret_access_key", "token": "session_token"}
_S3_ENVIRONMENT = ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE")
_GCS_ENVIRONMENT = "GOOGLE_APPLICATION_CREDENTIALS"
_GCS_WAYS = ("google_default", "cloud", "cache", "browser")  # Values of gcsfs other than a path
_S3_REGION = ("AWS_REGION", "AWS_DEFAULT_REGION")
_STORAGE = 2  # Position in the pickle of a session


def storage_of(place: str, options: Mapping[str, Any]) -> Any:
    """Return Icechunk's storage for a path or URL."""
    import icechunk

    function, arguments, named = storage_call(place, options)
    if not hasattr(icechunk, function):
        raise SourceError(
            f"icechunk {icechunk.__version__} has no storage for {place.partition(':')[0]} URLs; "
            f"open a session of the repository, or a copy on disk."
        )
    return getattr(icechunk, function)(*arguments, **named)


def storage_call(
    place: str, options: Mapping[str, Any]
) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Return the constructor of the storage, and its arguments; as for `storage_of`."""
    if "://" not in place:
        return "local_filesystem_storage", (place,), {}
    protocol, _, rest = place.partition("://")
    bucket, _, prefix = rest.strip("/").partition("/")
    if protocol == "s3":
        return "s3_storage", (), {"bucket": bucket, "prefix": prefix} | _s3(options)
    if protocol in ("gs", "gcs"):
        return "gcs_storage", (), {"bucket": bucket, "prefix": prefix} | _gcs(options)
    if protocol == "file":
        return "local_filesystem_storage", ("/" + rest.partition("/")[2],), {}
    headers = options.get("headers") or options.get("client_kwargs", {}).get("headers")
    return "http_storage", (place,), {"headers": headers} if headers else {}


def _s3(options: Mapping[str, Any]) -> dict[str, Any]:
    client = options.get("client_kwargs", {})
    endpoint, region = options.get("endpoint_url"), client.get("region_name")
    endpoint = endpoint or client.get("endpoint_url")
    found: dict[str, Any] = {"requester_pays": True} if options.get("requester_pays") else {}
    if endpoint:
        found |= {"endpoint_url": endpoint, "force_path_style": True}
        found["allow_http"] = endpoint.startswith("http:")
    if region or os.environ.keys().isdisjoint(_S3_REGION):
        found["region"] = region or "us-east-1"  # Icechunk sends nothing without any
    given = {name: options[fsspec] for fsspec, name in _S3_KEYS.items() if options.get(fsspec)}
    if given:
        return found | given
    anonymous = options.get("anon")
    if anonymous is None:  # else Icechunk would search for credentials, as on a cloud machine
        anonymous = os.environ.keys().isdisjoint(_S3_ENVIRONMENT)
    return found | ({"anonymous": True} if anonymous else {"from_env": True})


def _gcs(options: Mapping[str, Any]) -> dict[str, Any]:
    token, endpoint = options.get("token"), options.get("endpoint_url")
    found = {"config": {"google_base_url": endpoint}} if endpoint else {}
    if token is None and _GCS_ENVIRONMENT not in os.environ:
        token = "anon"  # else Icechunk would search for credentials, as on a cloud machine
    if token == "anon":
        return {**found, "anonymous": True}
    if isinstance(token, Mapping):
        return {**found, "service_account_key": json.dumps({**token})}
    if (bearer := getattr(token, "token", None)) is not None:
        return {**found, "bearer_token": bearer}
    if isinstance(token, str) and token not in _GCS_WAYS:
        return {**found, "application_credentials": token}
    return {**found, "from_env": True}


def place_of(session: Any) -> str | None:
    """Return the path or URL of a session's repository from its pickle; None if unknown."""
    # The object reveals its storage only through its pickle.
    from msgspec import msgpack

    try:  # what its pickle is made of
        fields = msgpack.decode(session._session.as_bytes())
        storage = fields[_STORAGE]
    except (AttributeError, LookupError, TypeError, ValueError):
        return None
    found = _fields(storage)
    if found.get("object_store_provider_type") == _LOCAL:
        return found.get("path")
    if found.get("bucket") and found.get("type") in ("S3Storage", "S3"):
        return "/".join(["s3:/", found["bucket"], *filter(None, [found.get("prefix")])])
    return None


def _fields(fields: Any) -> dict[str, Any]:
    """Return the strings in a tree of mappings, outer ones first."""
    found: dict[str, Any] = {}
    if isinstance(fields, Mapping):
        for name, value in fields.items():
            if isinstance(value, Mapping):
                found = _fields(value) | found
            elif isinstance(value, str):
                found[name] = value
    return found
