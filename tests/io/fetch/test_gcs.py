"""Google's storage: an open bucket, a closed one, and a set whose targets have three protocols."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.oauth2.credentials import Credentials

import refexplorer as rx
from refexplorer.checks.look.targets import ask
from refexplorer.core.errors import AccessError, FetchError
from refexplorer.core.limits import Limits
from refexplorer.io.access import AccessPolicy
from refexplorer.io.fetch.background import stoppable, wait_for
from refexplorer.io.fetch.targets import Targets
from refexplorer.spec.references import Range, Url
from tests.helpers.gcs import TOKEN, GcsServer, gcs_server
from tests.helpers.servers import RangeServer
from tests.helpers.sets import bytes_at

BODY = bytes(range(256)) * 8
OPEN, CLOSED = "gs://open-bucket/a/f.nc", "gs://closed-bucket/a/f.nc"
LONGEST = 60
"""Seconds after which a read is stopped, whatever it waits for."""


@pytest.fixture(autouse=True)
def time_limit() -> Iterator[None]:
    last = time.monotonic() + LONGEST
    with stoppable(lambda: time.monotonic() < last):
        yield


@pytest.fixture
def store() -> Iterator[GcsServer]:
    with gcs_server() as running:
        for bucket in ("open-bucket", "closed-bucket"):
            running.objects[bucket, "a/f.nc"] = BODY
        running.closed.add("closed-bucket")
        yield running


def _credentials() -> Any:
    return Credentials(TOKEN)  # type: ignore[no-untyped-call]


def options(store: GcsServer) -> dict[str, Any]:
    return {
        "gs": {"endpoint_url": store.url},
        "gs://closed-bucket": {"endpoint_url": store.url, "token": _credentials()},
    }


def targets(store: GcsServer, **more: Any) -> Targets:
    policy = AccessPolicy(None, ["gs://open-bucket", "gs://closed-bucket"])
    return Targets(policy, options(store) | more, Limits())


def test_a_set_with_targets_of_three_protocols(
    store: GcsServer, server: RangeServer, tmp_path: Path
) -> None:
    server.files["/f"] = BODY
    (tmp_path / "f").write_bytes(BODY)
    refs = rx.open_references(bytes_at(f"{server.url}/f", f"{tmp_path}/f", OPEN, CLOSED))
    group: Any = refs.allowing(storage_options=options(store)).to_zarr()
    for place, bucket in ((8, "open-bucket"), (12, "closed-bucket")):
        with pytest.raises(AccessError, match=rf'allow=\["gs://{bucket}"\]'):
            group["x"][place]
    refs.explain("x/2"), refs.summary()
    assert store.requests == []
    allowed = [server.url, str(tmp_path), "gs://open-bucket", "gs://closed-bucket"]
    group = refs.allowing(*allowed, storage_options=options(store)).to_zarr()
    assert bytes(group["x"][:]) == BODY[:16]
    assert store.tokens == {"open-bucket": {None}, "closed-bucket": {f"Bearer {TOKEN}"}}


def test_objects_are_read_and_described(store: GcsServer) -> None:
    reader = targets(store)
    assert reader.fetch("x/0", Range(OPEN, 300, 7)) == BODY[300:307]
    assert reader.fetch("x/0", Url(CLOSED)) == BODY
    facts = wait_for(ask(reader, OPEN)).facts
    assert facts is not None
    assert facts.size == len(BODY)
    assert wait_for(ask(reader, "gs://open-bucket/none")).message == "There is no such file."


@pytest.mark.parametrize(
    ("url", "offset", "cause"),
    [
        ("gs://open-bucket/none", 0, "there is no such file."),
        (OPEN, len(BODY), "the server refuses this byte range (416)."),
        (
            CLOSED,
            0,
            "the server requires a login (401); "
            'storage_options={"gs://closed-bucket": {"token": …}} gives credentials.',
        ),
    ],
)
def test_what_is_refused_is_one_sentence(
    store: GcsServer, url: str, offset: int, cause: str
) -> None:
    reader = targets(store, **{"gs://closed-bucket": {"endpoint_url": store.url}})
    with pytest.raises(FetchError) as caught:
        reader.fetch("x/0", Range(url, offset, 4))
    assert str(caught.value).endswith(cause)


def test_a_store_that_redirects_elsewhere(store: GcsServer, server: RangeServer) -> None:
    """gcsfs followed to any host."""
    store.redirects["open-bucket", "a/f.nc"] = f"{server.url}/f"
    server.files["/f"] = BODY
    with pytest.raises(AccessError) as caught:
        targets(store).fetch("x/0", Range(OPEN, 10, 4))
    assert caught.value.grant == server.url
    assert (len(store.requests), server.requests) == (1, [])
    policy = AccessPolicy(None, ["gs://open-bucket", server.url])
    reader = Targets(policy, options(store), Limits())
    assert reader.fetch("x/0", Range(OPEN, 10, 4)) == BODY[10:14]


def test_an_object_that_changes_between_two_reads(store: GcsServer) -> None:
    reader = targets(store)
    reader.fetch("x/0", Range(OPEN, 10, 4))
    store.objects["open-bucket", "a/f.nc"] = BODY[::-1]
    with pytest.raises(FetchError, match="the file changed since its first read"):
        reader.fetch("x/0", Range(OPEN, 20, 4))


@pytest.mark.parametrize("reference", [Range(OPEN, 0, 20), Range(OPEN, 30, 20), Url(OPEN)])
def test_an_object_that_is_stored_as_gzip_is_read_as_it_is_stored(
    store: GcsServer, reference: Range | Url
) -> None:
    stored = gzip.compress(BODY)
    store.objects["open-bucket", "a/f.nc"] = stored
    store.encodings["open-bucket", "a/f.nc"] = "gzip"
    reader = targets(store)
    start = reference.offset if isinstance(reference, Range) else 0
    size = reference.length if isinstance(reference, Range) else len(stored)
    assert reader.fetch("x/0", reference) == stored[start : start + size]
    facts = wait_for(ask(reader, OPEN)).facts
    assert facts is not None
    assert facts.size == len(stored)


def test_an_object_that_the_store_unpacks_is_refused(store: GcsServer) -> None:
    store.objects["open-bucket", "a/f.nc"] = gzip.compress(BODY)
    store.encodings["open-bucket", "a/f.nc"] = "gzip"
    store.unpacks = True
    with pytest.raises(FetchError, match=r"\(X-Goog-Stored-Content-Encoding: gzip\)"):
        targets(store).fetch("x/0", Range(OPEN, 10, 4))
