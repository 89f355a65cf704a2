"""Reads of object stores that tell the version of what they read.

`cat_file` keeps it to itself, so this goes one step below it for S3 and GCS. Of GCS it uses the
JSON API alone: `gcsfs` by itself would ask for the kind of each bucket first, over gRPC. An
object that is stored as gzip is read as it is stored, since offsets refer to that: S3 does so by
itself, GCS if gzip is accepted and nobody unpacks it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from refexplorer.data.fetch.answers import check_encoding, check_sent
from refexplorer.data.fetch.background import beside
from refexplorer.data.fetch.facts import Facts
from refexplorer.data.fetch.failures import http_failure
from refexplorer.data.fetch.pieces import note_bytes
from refexplorer.data.fetch.redirects import redirect_trace, s3_session_class

# gcsfs logs each refusal with a traceback, which Python writes to stderr where no log is set up
logging.getLogger("gcsfs").addHandler(logging.NullHandler())

Answer = TypeVar("Answer")
_PIECE = 2**20
_STORED = "X-Goog-Stored-Content-Encoding"

TaggedBytes = tuple[bytes, str | None, int | None]
"""Bytes, what changes with the content of their object, and its size; None if the store does not
tell."""


def gcs_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options for gcsfs with which no answer is unpacked, or has to be, unless asked for."""
    given = options.get("session_kwargs", {})
    headers = {"Accept-Encoding": "identity"} | given.get("headers", {})
    traces = [*given.get("trace_configs", ()), redirect_trace()]
    kept = {"auto_decompress": False, **given, "headers": headers, "trace_configs": traces}
    return {**options, "session_kwargs": kept}


def s3_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options for s3fs with which redirects are followed as the policy allows."""
    given = options.get("config_kwargs", {})
    return {**options, "config_kwargs": {"http_session_cls": s3_session_class(), **given}}


async def read(filesystem: Any, url: str, start: int, end: int) -> TaggedBytes:
    """Return the bytes from `start` to `end` of an object; raises what the filesystem raises."""
    if is_s3(filesystem):
        return await _read_s3(filesystem, url, start, end)
    if _is_gcs(filesystem):
        return await _read_gcs(filesystem, url, start, end)
    if filesystem.async_impl:
        return await filesystem._cat_file(url, start=start, end=end), None, None
    return await in_thread(filesystem.cat_file, url, start=start, end=end), None, None


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
        found = await in_thread(filesystem.info, url)
    if found.get("type") == "directory":
        raise FileNotFoundError(url)
    etag = found.get("ETag") or found.get("etag")
    modified = found.get("LastModified") or found.get("created")
    return Facts(found.get("size"), etag and str(etag), modified and str(modified))


async def in_thread(call: Callable[..., Answer], *given: Any, **named: Any) -> Answer:
    """Call what waits for a server, in a thread that does not keep the program from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Answer] = loop.create_future()

    def answer(error: BaseException | None, found: Any) -> None:
        if future.done():  # nobody waits any more
            return
        future.set_result(found) if error is None else future.set_exception(error)

    def work() -> None:
        error, found = None, None
        try:
            found = call(*given, **named)
        except Exception as raised:
            error = raised
        with suppress(RuntimeError):  # the loop is gone: the program ends
            loop.call_soon_threadsafe(answer, error, found)

    beside(work, "refexplorer-store")
    return await future


def is_s3(filesystem: Any) -> bool:
    """Say whether a filesystem reads S3."""
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
        pieces = list[bytes]()
        async with answer["Body"] as body:
            async for piece in body.iter_chunks(_PIECE):
                pieces.append(piece)
                note_bytes(len(piece))
        return b"".join(pieces), answer

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
