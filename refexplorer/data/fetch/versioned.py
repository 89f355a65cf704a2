"""Reads of object stores that tell the version of what they read.

`cat_file` keeps it to itself, so this goes one step below it for S3 and GCS. Of GCS it uses the
JSON API alone: `gcsfs` by itself would ask for the kind of each bucket first, over gRPC. An
object that is stored as gzip is read as it is stored, since offsets refer to that: S3 does so by
itself, GCS if gzip is accepted and nobody unpacks it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from refexplorer.data.fetch.answers import check_encoding, check_sent
from refexplorer.data.fetch.facts import Facts
from refexplorer.data.fetch.failures import http_failure

# gcsfs logs each refusal with a traceback, which Python writes to stderr where no log is set up
logging.getLogger("gcsfs").addHandler(logging.NullHandler())

_STORED = "X-Goog-Stored-Content-Encoding"

TaggedBytes = tuple[bytes, str | None, int | None]
"""Bytes, what changes with the content of their object, and its size; None if the store does not
tell."""


def gcs_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options for gcsfs with which no answer is unpacked, or has to be, unless asked for."""
    given = options.get("session_kwargs", {})
    headers = {"Accept-Encoding": "identity"} | given.get("headers", {})
    return {**options, "session_kwargs": {"auto_decompress": False, **given, "headers": headers}}


async def read(filesystem: Any, url: str, start: int, end: int) -> TaggedBytes:
    """Return the bytes from `start` to `end` of an object; raises what the filesystem raises."""
    if _is_s3(filesystem):
        return await _read_s3(filesystem, url, start, end)
    if _is_gcs(filesystem):
        return await _read_gcs(filesystem, url, start, end)
    if filesystem.async_impl:
        return await filesystem._cat_file(url, start=start, end=end), None, None
    return await asyncio.to_thread(filesystem.cat_file, url, start=start, end=end), None, None


async def facts(filesystem: Any, url: str) -> Facts:
    """Return the facts of an object.

    Raises
    ------
    FileNotFoundError
        If there is none.
    """
    if _is_gcs(filesystem):
        bucket, key, _ = filesystem.split_path(url)
        found = await _ask_gcs(filesystem, "b/{}/o/{}", bucket, key, json_out=True)
        return Facts(int(found["size"]), found.get("etag"), found.get("updated"))
    if filesystem.async_impl:
        found = await filesystem._info(url)
    else:
        found = await asyncio.to_thread(filesystem.info, url)
    if found.get("type") == "directory":
        raise FileNotFoundError(url)
    etag = found.get("ETag") or found.get("etag")
    modified = found.get("LastModified") or found.get("created")
    return Facts(found.get("size"), etag and str(etag), modified and str(modified))


def _is_s3(filesystem: Any) -> bool:
    return hasattr(filesystem, "_call_s3")


def _is_gcs(filesystem: Any) -> bool:
    return "gs" in filesystem.protocol and hasattr(filesystem, "_call")


async def _read_s3(filesystem: Any, url: str, start: int, end: int) -> TaggedBytes:
    from s3fs.core import _error_wrapper  # repeats a body that broke off, as its own reads do

    bucket, key, version = filesystem.split_path(url)
    which = {"VersionId": version} if version else {}

    async def read() -> tuple[bytes, Any]:
        span = f"bytes={start}-{end - 1}"
        answer = await filesystem._call_s3(
            "get_object", Bucket=bucket, Key=key, Range=span, **which
        )
        async with answer["Body"] as body:
            return await body.read(), answer

    data, answer = await _error_wrapper(read, retries=filesystem.retries)
    size = check_sent(answer.get("ContentRange"), start, end, len(data))
    return data, answer.get("ETag"), size


async def _read_gcs(filesystem: Any, url: str, start: int, end: int) -> TaggedBytes:
    asked = {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "gzip"}
    headers, data = await _ask_gcs(filesystem, filesystem.url(url), headers=asked)
    sent, stored = headers.get("Content-Encoding", ""), headers.get(_STORED, "")
    if sent != stored:
        check_encoding(_STORED, stored)
        check_encoding("Content-Encoding", sent)
    size = check_sent(headers.get("Content-Range"), start, end, len(data))
    return data, headers.get("X-Goog-Generation") or headers.get("ETag"), size


async def _ask_gcs(filesystem: Any, path: str, *names: str, **options: Any) -> Any:
    from gcsfs.retry import HttpError

    try:
        return await filesystem._call("GET", path, *names, **options)
    except HttpError as error:
        raise http_failure(int(error.code), error.message) from None
    except OSError as error:
        if str(error).startswith("Forbidden"):
            raise http_failure(403, None) from None
        raise
