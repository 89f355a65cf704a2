"""S3 against moto's server: a public bucket, a private one, and what is needed for each."""

from __future__ import annotations

import gzip
import json
import pickle
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import botocore.session
import pytest
import s3fs

import refexplorer as rx
from refexplorer import demo
from refexplorer.core.errors import AccessError, FetchError
from refexplorer.core.limits import Limits
from refexplorer.io.access import AccessPolicy, Options, parse
from refexplorer.io.fetch.many import fetch_many
from refexplorer.io.fetch.targets import Targets
from refexplorer.spec.references import Range, Url
from tests.helpers.buckets import KEYS, s3_server
from tests.helpers.commands import run
from tests.helpers.servers import RangeServer
from tests.helpers.sets import bytes_at

pytestmark = pytest.mark.server

BODY = bytes(range(256)) * 8
STORED = gzip.compress(BODY, mtime=0)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with s3_server() as (url, client):
        for bucket, acl in (("open-bucket", "public-read"), ("closed-bucket", "private")):
            client.create_bucket(Bucket=bucket, ACL=acl)
            client.put_object(Bucket=bucket, Key="a/f.nc", Body=BODY, ACL=acl)
        stored = {"Body": STORED, "ContentEncoding": "gzip", "ACL": "public-read"}
        client.put_object(Bucket="open-bucket", Key="a/f.gz", **stored)
        yield url


def targets(options: dict[str, Any], *allow: str) -> Targets:
    return Targets(AccessPolicy(None, allow), options, Limits())


def s3(endpoint: str, **more: Any) -> dict[str, Any]:
    return {"s3": {"endpoint_url": endpoint} | more}


def test_a_public_bucket_is_read_without_credentials(
    endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "never")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "sent")
    reader = targets(s3(endpoint), "s3://open-bucket")
    assert reader.fetch("x/0", Range("s3://open-bucket/a/f.nc", 300, 7)) == BODY[300:307]
    assert reader.fetch("x/0", Url("s3://open-bucket/a/f.nc")) == BODY


@pytest.mark.parametrize("start", [0, 30])
def test_an_object_that_is_stored_as_gzip_is_read_as_it_is_stored(
    endpoint: str, start: int
) -> None:
    reader, url = targets(s3(endpoint), "s3://open-bucket"), "s3://open-bucket/a/f.gz"
    assert reader.fetch("x/0", Range(url, start, 20)) == STORED[start : start + 20]
    assert reader.fetch("x/0", Url(url)) == STORED


def test_a_gateway_that_answers_with_a_page(server: RangeServer) -> None:
    """It was taken for the values of an array that is not compressed."""
    server.answers["/open-bucket/f"] = 200, {}, b"<!DOCTYPE html><title>Log in</title>"
    reader = targets(s3(server.url), "s3://open-bucket")
    with pytest.raises(FetchError, match=r"a web page \(it begins with <!DOCTYPE html\)"):
        reader.fetch("x/0", Url("s3://open-bucket/f"))


def test_a_store_that_redirects_elsewhere(server: RangeServer, other_server: RangeServer) -> None:
    """s3fs followed to any host."""
    server.redirects["/open-bucket/f"] = f"{other_server.url}/f"
    other_server.files["/f"] = BODY
    wanted = Range("s3://open-bucket/f", 10, 4)
    with pytest.raises(AccessError) as caught:
        targets(s3(server.url), "s3://open-bucket").fetch("x/0", wanted)
    assert caught.value.grant == other_server.url
    assert (len(server.requests), other_server.requests) == (1, [])
    reader = targets(s3(server.url), "s3://open-bucket", other_server.url)
    assert reader.fetch("x/0", wanted) == BODY[10:14]
    server.redirects["/open-bucket/f"] = "/open-bucket/g"
    server.files["/open-bucket/g"] = BODY
    assert targets(s3(server.url), "s3://open-bucket").fetch("x/0", wanted) == BODY[10:14]
    server.redirects["/open-bucket/f"] = "ftp://127.0.0.1/f"
    with pytest.raises(FetchError, match=r"redirects to ftp://127\.0\.0\.1/f, but only http and"):
        targets(s3(server.url), "s3://open-bucket").fetch("x/0", wanted)


def test_a_private_bucket_says_what_would_help(endpoint: str) -> None:
    reader = targets(s3(endpoint), "s3://closed-bucket")
    with pytest.raises(FetchError) as caught:
        reader.fetch("x/0", Range("s3://closed-bucket/a/f.nc", 300, 7))
    assert str(caught.value) == (
        "x/0 could not be read from s3://closed-bucket/a/f.nc, bytes 300 to 307: access is "
        'denied; storage_options={"s3://closed-bucket": {"key": …, "secret": …}} gives credentials.'
    )


def test_credentials_for_a_bucket_read_it(endpoint: str) -> None:
    options = s3(endpoint) | {"s3://closed-bucket": {"endpoint_url": endpoint} | KEYS}
    reader = targets(options, "s3://closed-bucket", "s3://open-bucket")
    found = fetch_many(
        reader,
        {
            "private": Range("s3://closed-bucket/a/f.nc", 1, 4),
            "public": Range("s3://open-bucket/a/f.nc", 1, 4),
            "missing": Range("s3://open-bucket/a/g.nc", 1, 4),
            "elsewhere": Range("s3://other-bucket/a/f.nc", 1, 4),
        },
    )
    assert found["private"] == found["public"] == BODY[1:5]
    assert "there is no such file" in str(found["missing"])
    assert isinstance(found["elsewhere"], AccessError)
    assert found["elsewhere"].grant == "s3://other-bucket"


def test_credentials_are_for_what_they_were_named_for() -> None:
    options = Options({"s3": {"endpoint_url": "http://e"}, "s3://mine": KEYS}, None)
    assert options.of(parse("s3://mine/f"))[1] == KEYS
    assert options.of(parse("s3://other/f"))[1] == {"endpoint_url": "http://e", "anon": True}
    assert options.of(parse("gs://other/f"))[1] == {"token": "anon"}
    assert Options({"gcs": {"token": "cloud"}}, None).of(parse("gs://b/f"))[1] == {"token": "cloud"}
    assert Options({"anon": False}, "s3://b/sets").of(parse("s3://b/f"))[1] == {"anon": False}


def test_a_set_with_targets_of_three_protocols(
    endpoint: str, server: RangeServer, tmp_path: Any
) -> None:
    server.files["/f"] = BODY
    (tmp_path / "f").write_bytes(BODY)
    urls = (f"{server.url}/f", f"{tmp_path}/f", "s3://open-bucket/a/f.nc")
    refs = rx.open_references(bytes_at(*urls))
    group: Any = refs.allowing(
        server.url, str(tmp_path), "s3://open-bucket", storage_options=s3(endpoint)
    ).to_zarr()
    assert bytes(group["x"][:]) == BODY[:12]


def test_a_store_that_is_not_there() -> None:
    once = {"config_kwargs": {"retries": {"max_attempts": 1}, "connect_timeout": 1}}
    reader = targets(s3("http://127.0.0.1:1", **once), "s3://open-bucket")
    with pytest.raises(FetchError, match="x/0 could not be read from s3://open-bucket/f"):
        reader.fetch("x/0", Range("s3://open-bucket/f", 0, 4))


@pytest.mark.parametrize("name", ["set.json", "set", "set.parq", "store.zarr"])
def test_a_set_in_a_store_that_stalls_is_given_up(name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        said = r"cannot be read: there was no complete answer within 0\.5 seconds, retries included"
        with pytest.raises(rx.errors.SourceError, match=said):
            rx.open_references(
                f"s3://open-bucket/{name}",
                storage_options={"endpoint_url": endpoint, "anon": True},
                limits=rx.Limits(read_seconds=0.5),
            )
        silent.setblocking(False)
        with suppress(BlockingIOError):
            silent.accept()[0].close()
            silent.accept()
            pytest.fail("something else was asked")


def test_sets_of_a_store_are_read_and_travel(endpoint: str) -> None:
    options = {"endpoint_url": endpoint} | KEYS
    store = s3fs.S3FileSystem(**options)
    text = json.dumps({"a": "b" * 10**6})
    with store.open("open-bucket/set.json", "w") as file:
        file.write(text)
    store.put(str(demo.path("sst.parq")), "open-bucket/sst.parq", recursive=True)
    refs = rx.open_references("s3://open-bucket/set.json", storage_options=options)
    assert refs.source.text == text
    refs = rx.open_references("s3://open-bucket/sst.parq", storage_options=options)
    assert {**refs} == {**rx.open_references(demo.path("sst.parq"))}
    assert {**pickle.loads(pickle.dumps(refs))} == {**refs}
    with pytest.raises(rx.errors.SourceError, match="there is no such file"):
        rx.open_references("s3://open-bucket/nosuch.json", storage_options=options)


def test_a_store_that_stalls_has_one_budget_for_all_its_tries(server: RangeServer) -> None:
    """104 requests were waited for one after the other: six minutes, and half an hour as it is."""
    server.files["/open-bucket/f"] = BODY
    impatient = {"config_kwargs": {"read_timeout": 0.2}}
    policy = AccessPolicy(None, ["s3://open-bucket"])
    options = s3(server.url, **impatient)
    targets(options, "s3://open-bucket").fetch("x/0", Range("s3://open-bucket/f", 0, 4))
    server.stalled.add("/open-bucket/f")
    reader = Targets(policy, options, Limits(read_seconds=1.5))
    with pytest.raises(FetchError) as caught:
        reader.fetch("x/0", Range("s3://open-bucket/f", 0, 4))
    assert str(caught.value) == (
        "x/0 could not be read from s3://open-bucket/f, bytes 0 to 4: there was no complete answer "
        "within 1.5 seconds, retries included (`Limits.read_seconds`)."
    )
    assert 2 < len(server.requests) < 10


def test_a_store_that_stops_in_the_middle(server: RangeServer) -> None:
    headers = {"Content-Range": f"bytes 0-99/{len(BODY)}", "Content-Length": "100"}
    server.answers["/open-bucket/f"] = 206, headers, BODY[:50]
    policy = AccessPolicy(None, ["s3://open-bucket"])
    reader = Targets(policy, s3(server.url), Limits(read_seconds=0.5))
    with pytest.raises(FetchError, match="there was no complete answer within"):
        reader.fetch("x/0", Range("s3://open-bucket/f", 0, 100))


def test_a_size_that_changes_between_two_reads(server: RangeServer) -> None:
    """Of a store that gives no ETag."""
    server.files["/open-bucket/f"] = BODY
    reader = targets(s3(server.url), "s3://open-bucket")
    changing = Range("s3://open-bucket/f", 10, 4)
    assert reader.fetch("x/0", changing) == BODY[10:14]
    server.files["/open-bucket/f"] = BODY * 2
    with pytest.raises(
        FetchError, match=r"changed since its first read \(it had 2,048 bytes and has"
    ):
        reader.fetch("x/0", changing)


def test_stopping_ends_requests_to_a_store(server: RangeServer) -> None:
    server.files["/open-bucket/f"] = BODY * 100
    server.dripping.add("/open-bucket/f")
    reader = targets(s3(server.url), "s3://open-bucket")
    wanted = {"x": Range("s3://open-bucket/f", 0, 200_000)}
    assert fetch_many(reader, wanted, lambda progress: not server.requests) == {}
    assert server.hung_up.wait(10)


def test_an_object_that_changes_between_two_reads(endpoint: str) -> None:
    keys = {"endpoint_url": endpoint} | KEYS
    writer = s3fs.S3FileSystem(**keys, skip_instance_cache=True)
    writer.pipe_file("open-bucket/changing", BODY)
    reader = targets({"s3": keys}, "s3://open-bucket")
    changing = Range("s3://open-bucket/changing", 10, 4)
    assert reader.fetch("x/0", changing) == BODY[10:14]
    assert reader.fetch("x/0", changing) == BODY[10:14]
    writer.pipe_file("open-bucket/changing", BODY[::-1])
    with pytest.raises(
        FetchError, match=r"the file changed since its first read \(its version was"
    ):
        reader.fetch("x/0", changing)


METADATA = {
    "zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "|u1", "compressor": None,
    "filters": None, "order": "C", "fill_value": None,
}  # fmt: skip


@pytest.fixture
def sets(endpoint: str) -> str:
    """A set in each bucket, whose chunk is in that bucket."""
    client: Any = botocore.session.Session().create_client(
        "s3", region_name="us-east-1", endpoint_url=endpoint,
        aws_access_key_id=KEYS["key"], aws_secret_access_key=KEYS["secret"],
    )  # fmt: skip
    for bucket, acl in (("open-bucket", "public-read"), ("closed-bucket", "private")):
        keys = {".zgroup": {"zarr_format": 2}, "x/.zarray": METADATA}
        body = json.dumps(keys | {"x/0": [f"s3://{bucket}/a/f.nc", 1, 4]}).encode()
        client.put_object(Bucket=bucket, Key="set.json", Body=body, ACL=acl)
    client.close()
    return endpoint


def option(text: str) -> list[str]:
    return ["--storage-option", text]


def test_commands_read_a_set_and_its_targets_in_a_bucket(sets: str) -> None:
    place = option(f"s3.endpoint_url={sets}")
    public = run("info", "s3://open-bucket/set.json", *place)
    assert (public.status, "x\t4" in public.out) == (0, True), public
    audited = run("audit", "s3://open-bucket/set.json", *place, "--decode", "all")
    assert "all 1 chunks decode" in audited.out or "1 chunk decodes" in audited.out, audited
    denied = run("info", "s3://closed-bucket/set.json", *place)
    assert denied.status == 2
    assert "access is denied" in denied.err
    assert "--storage-option 's3://closed-bucket.key=…'" in denied.err
    assert "storage_options" not in denied.err
    for prefix in ("s3", "s3://closed-bucket"):
        keys = [*option(f"{prefix}.key={KEYS['key']}"), *option(f"{prefix}.secret=knows")]
        own = option(f"{prefix}.endpoint_url={sets}")
        opened = run("verify", "s3://closed-bucket/set.json", *own, *keys)
        assert "Read: 0 of 1 file" in opened.out, opened  # no file format, but it was read
        audited = run("audit", "s3://closed-bucket/set.json", *own, *keys, "--decode", "all")
        assert audited.status == 0, audited
    assert run("ls", "s3://open-bucket/set.json", *place).status == 0
    assert run("dialects", "s3://open-bucket/set.json", *place).status in (0, 1)


def test_commands_take_a_profile_and_the_environment(
    sets: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "credentials").write_text(
        f"[work]\naws_access_key_id = {KEYS['key']}\naws_secret_access_key = {KEYS['secret']}\n"
    )
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    place = ["s3://closed-bucket/set.json", *option(f"s3.endpoint_url={sets}")]
    assert run("info", *place).status == 2  # nothing is taken unasked
    assert run("info", *place, *option("s3.profile=work")).status == 0
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS["key"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEYS["secret"])
    assert run("info", *place).status == 2
    assert run("info", *place, *option("s3.anon=false")).status == 0
    assert run("info", *place).status == 2  # an option is for one command
