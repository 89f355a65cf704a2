"""Repositories by URL: S3 against moto's server, and a plain web server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from google.oauth2.credentials import Credentials
from moto.server import ThreadedMotoServer

import refexplorer as rx
from refexplorer.formats.icechunk.facts import storage_of
from refexplorer.hosts.page.library import Library
from refexplorer.io.access import InternetPolicy
from refexplorer.verbs.opening import open_guarded
from tests.formats.icechunk.building import targets_of, write
from tests.helpers.commands import run
from tests.helpers.explorer import Host, ask
from tests.helpers.gcs import TOKEN, gcs_server
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
    group: Any = refs.allowing("s3://bucket").to_zarr()
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
    with pytest.raises(rx.errors.SourceError, match="cannot be read"):
        rx.open_references("s3://bucket/a/nothing@v1", storage_options=options)
    with pytest.raises(rx.errors.SourceError, match=r"repo cannot be read by icechunk: .*nope"):
        rx.open_references(f"{bucket}@nope", storage_options=options)


def document(tmp_path: Path, **more: Any) -> Path:
    """Write a set of two virtual chunks and one that it holds."""
    array = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [3],
        "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "bytes"}],
        "attributes": {},
    }
    refs = {
        "zarr.json": json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}),
        "x/zarr.json": json.dumps(array),
        "x/c/0": ["s3://bucket/a/b@v1.json", 1, 1],
        "x/c/1": ["s3://bucket/a/b@v1.json", 2, 1],
        "x/c/2": "base64:Yw==",
    }
    path = tmp_path / "set.json"
    path.write_text(json.dumps(refs | more))
    return path


def test_a_set_is_written_into_a_bucket(
    bucket: str, endpoint: str, options: dict[str, Any], tmp_path: Path
) -> None:
    source, target = document(tmp_path), "s3://bucket/made/one.icechunk"
    how = rx.Conversion(storage_options=options, message="into a bucket")
    assert rx.convert(source, target, how) == 5
    again = rx.open_references(target, storage_options=options)
    assert {**again} == {**rx.open_references(source)}
    assert [each.message for each in rx.history(again).snapshots()] == [
        "into a bucket",
        "Repository initialized",
    ]
    group: Any = again.allowing("s3://bucket").to_zarr()
    assert group["x"][:].tobytes() == b'"xc'
    with pytest.raises(rx.errors.SourceError, match=r"one\.icechunk exists"):
        rx.convert(source, target, how)
    more = rx.Conversion(storage_options=options, overwrite=True, message="one less")
    assert rx.convert(document(tmp_path, **{"x/c/2": "base64:ZA=="}), target, more) == 5
    assert rx.open_references(target, storage_options=options)["x/c/2"].to_v0() == "base64:ZA=="
    assert rx.history(again).snapshots()[0].message == "one less"
    assert not list(tmp_path.glob("*.lock"))


def test_what_does_not_fit_commits_nothing_in_a_bucket(
    bucket: str, options: dict[str, Any], tmp_path: Path
) -> None:
    target = "s3://bucket/made/two.icechunk"
    how = rx.Conversion(storage_options=options)
    with pytest.raises(rx.RefexplorerError, match="does not read back as the same references"):
        rx.convert(document(tmp_path, **{"x/c/0": ["S3://bucket/f", 0, 1]}), target, how)
    left = rx.open_references(target, storage_options=options)
    assert len(rx.history(left).snapshots()) == 1  # an empty repository, which may be written to
    assert rx.convert(document(tmp_path), target, how) == 5
    with pytest.raises(
        rx.errors.SourceError, match="only Icechunk repositories are written by URL"
    ):
        rx.convert(document(tmp_path), "s3://bucket/made.json", how)
    with pytest.raises(rx.errors.SourceError, match=r"to s3:// and gs:// buckets"):
        rx.convert(document(tmp_path), "https://host/made.icechunk", how)
    with pytest.raises(rx.errors.SourceError, match="cannot be written by icechunk"):
        rx.convert(document(tmp_path), "s3://no-bucket/three.icechunk", how)


def test_the_command_writes_into_a_bucket(
    bucket: str, endpoint: str, options: dict[str, Any], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS["key"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEYS["secret"])
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    target = "s3://bucket/made/by-hand.icechunk"
    ran = run("convert", document(tmp_path), target)
    assert ran.status == 0, ran.err
    assert f"{target}: 5 keys as Icechunk, read back and identical to set.json." in ran.out
    assert rx.open_references(target, storage_options=options).count == 5


def test_a_set_is_written_to_google(tmp_path: Path) -> None:
    with gcs_server() as store:
        credentials = Credentials(TOKEN)  # type: ignore[no-untyped-call]
        store.closed.add("closed")
        store.objects["closed", "f.bin"] = b"abc"
        given = {"gs": {"endpoint_url": store.url, "token": credentials}}
        source = document(tmp_path, **{"x/c/0": ["gs://closed/f.bin", 1, 1]})
        target = "gs://closed/made/one.icechunk"
        assert rx.convert(source, target, rx.Conversion(storage_options=given)) == 5
        assert ("closed", "made/one.icechunk/repo") in store.objects
        # as Icechunk opens it: gcsfs first asks a host of its own what kind of bucket it is
        opened = icechunk.Repository.open(storage_of(target, given["gs"]))
        assert {**rx.open_references(opened)} == {**rx.open_references(source)}
        assert next(iter(opened.ancestry(branch="main"))).message.startswith("References")
        anonymous = {"gs": {"endpoint_url": store.url}}
        with pytest.raises(rx.errors.SourceError):
            rx.convert(source, target, rx.Conversion(storage_options=anonymous, overwrite=True))


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
    group: Any = refs.allowing(web.url).to_zarr()
    assert group["big"][1500] == 7


def test_a_page_opens_none_by_url(web: RangeServer) -> None:
    with pytest.raises(rx.RefexplorerError, match="opens repositories only in the folders"):
        open_guarded(f"{web.url}/repo", InternetPolicy([web.url]), rx.Limits())
    asked = {path for path in web.requests if not path.endswith(("repo", ".json"))}
    assert not any("snapshots" in path or "manifests" in path for path in asked)


@pytest.mark.child
def test_visitors_have_the_versions_of_a_repository_that_the_owner_opened_by_url(
    bucket: str, options: dict[str, Any]
) -> None:
    refs = rx.open_references(bucket, storage_options=options)
    assert Library(["s3://bucket"]).versions(refs) is None  # Icechunk would connect by itself
    library = Library()
    library.offer(refs)
    host = Host(refs, served=True, versions=library.versions(refs))
    assert host.ask("hello")["has_versions"] is True
    answer, _ = ask(host, "versions.list")
    known = rx.history(refs)
    assert (dict(answer["branches"]), dict(answer["tags"])) == (known.branches, known.tags)
    assert [row["id"] for row in answer["snapshots"]] == [each.id for each in known.snapshots()]
    compared, _ = ask(host, "versions.compare", before="v1", after="main")
    assert "1 key differs" in compared.get("title", ""), compared
    assert compared["logged"] == ["1 chunk written in g/x"]
    assert {**library.open("repo@v1")} == {
        **rx.open_references(f"{bucket}@v1", storage_options=options)
    }
    said = [str(answer), str(compared)]
    for name in ("nothing", "../other", "v1?x", "v1@main"):
        wrong, _ = ask(host, "versions.compare", before=name, after="v1")
        assert "error" in wrong
        said.append(str(wrong))
    assert not any(KEYS["secret"] in each for each in said)
    with pytest.raises(rx.RefexplorerError):
        library.open(f"{bucket}@v1")  # by its URL nobody opens it here
