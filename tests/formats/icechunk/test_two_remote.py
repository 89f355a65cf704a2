"""Repositories by URL: S3 against moto's server, and a plain web server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from moto.server import ThreadedMotoServer

import refexplorer as rx
from refexplorer.data.access.policy import InternetPolicy
from refexplorer.opening import open_guarded
from tests.formats.icechunk.building import targets_of, write
from tests.helpers.newer_python import has_two
from tests.helpers.servers import RangeServer, range_server

pytestmark = pytest.mark.server
if not has_two():
    pytest.skip("icechunk 2 is not installed; it needs Python 3.12", allow_module_level=True)
icechunk: Any = pytest.importorskip("icechunk")
KEYS = {"key": "who", "secret": "knows"}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="module")
def bucket(endpoint: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Make a bucket with a repository at ``a/repo``, and a document beside it."""
    client: Any = botocore.session.Session().create_client(
        "s3",
        region_name="us-east-1",
        endpoint_url=endpoint,
        aws_access_key_id=KEYS["key"],
        aws_secret_access_key=KEYS["secret"],
    )
    client.create_bucket(Bucket="bucket")
    client.put_object(Bucket="bucket", Key="a/b@v1.json", Body=b'{"x": "text"}')
    storage = icechunk.s3_storage(
        bucket="bucket",
        prefix="a/repo",
        region="us-east-1",
        endpoint_url=endpoint,
        allow_http=True,
        force_path_style=True,
        access_key_id=KEYS["key"],
        secret_access_key=KEYS["secret"],
    )
    write(storage, targets_of(tmp_path_factory.mktemp("made") / "targets"), ("one", "two"))
    return "s3://bucket/a/repo"


@pytest.fixture
def options(endpoint: str) -> dict[str, Any]:
    return {"s3": {**KEYS, "endpoint_url": endpoint}}


def test_a_repository_in_a_bucket(bucket: str, options: dict[str, Any]) -> None:
    refs = rx.open_references(bucket, storage_options=options)
    assert refs.source.form == "Icechunk"
    assert refs.source.location == refs.source.place == bucket
    assert (refs.count, refs.arrays()) == (10, ("big", "g/x", "s"))
    group: Any = refs.to_zarr(allow=["s3://bucket"])
    assert group["big"][1500] == 7
    tagged = rx.open_references(f"{bucket}@v1", storage_options=options)
    assert tagged.source.place == f"{bucket}@v1"
    assert rx.diff(tagged, refs).counts["shifted"] == 1


def test_its_history_and_recorded_versions(bucket: str, options: dict[str, Any]) -> None:
    refs = rx.open_references(bucket, storage_options=options)
    known = rx.history(refs)
    assert [each.message for each in known.snapshots()][:2] == ["second", "first"]
    assert known.changes("v1", "main") == ("1 chunk written in g/x",)
    assert refs.source.recorded is not None
    ((url, versions),) = refs.source.recorded().items()
    assert url.endswith("/targets/f.bin")
    assert [each.etag for each in versions] == ["two"]


def test_a_session_of_a_bucket(bucket: str, endpoint: str, options: dict[str, Any]) -> None:
    storage = icechunk.s3_storage(
        bucket="bucket",
        prefix="a/repo",
        region="us-east-1",
        endpoint_url=endpoint,
        allow_http=True,
        force_path_style=True,
        access_key_id=KEYS["key"],
        secret_access_key=KEYS["secret"],
    )
    session = icechunk.Repository.open(storage).readonly_session(tag="v1")
    refs = rx.open_references(session, storage_options=options)
    assert refs.source.location == bucket
    assert refs.to_v0() == rx.open_references(f"{bucket}@v1", storage_options=options).to_v0()


def test_the_code_names_the_bucket_and_no_secret(bucket: str, options: dict[str, Any]) -> None:
    code = rx.open_references(f"{bucket}@v1", storage_options=options).code()
    assert "icechunk.s3_storage(bucket='bucket', prefix='a/repo'" in code
    assert "session = repository.readonly_session(tag='v1')" in code
    assert "knows" not in code


def test_a_name_with_an_at_sign_is_a_file_first(bucket: str, options: dict[str, Any]) -> None:
    assert rx.open_references("s3://bucket/a/b@v1.json", storage_options=options).count == 1
    with pytest.raises(rx.SourceError, match="cannot be read"):
        rx.open_references("s3://bucket/a/nothing@v1", storage_options=options)
    with pytest.raises(rx.SourceError, match=r"repo cannot be read by icechunk: .*nope"):
        rx.open_references(f"{bucket}@nope", storage_options=options)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[RangeServer]:
    made = tmp_path / "repo"
    write(icechunk.local_filesystem_storage(str(made)), targets_of(tmp_path / "targets"))
    files = {
        f"/repo/{path.relative_to(made).as_posix()}": path.read_bytes()
        for path in made.rglob("*")
        if path.is_file()
    }
    with range_server() as server:
        server.files = files
        yield server


def test_a_repository_of_a_web_server(web: RangeServer) -> None:
    refs = rx.open_references(f"{web.url}/repo")
    assert (refs.source.form, refs.count) == ("Icechunk", 10)
    assert rx.open_references(f"{web.url}/repo@v1")["g/x/c/0/0"].to_v0()[1] == 10
    group: Any = refs.to_zarr(allow=[web.url])
    assert group["big"][1500] == 7


def test_a_page_opens_none_by_url(web: RangeServer) -> None:
    with pytest.raises(rx.RefexplorerError, match="this page opens those in the folders"):
        open_guarded(f"{web.url}/repo", InternetPolicy([web.url]), rx.Limits())
    asked = {path for path in web.requests if not path.endswith(("repo", ".json"))}
    assert not any("snapshots" in path or "manifests" in path for path in asked)
