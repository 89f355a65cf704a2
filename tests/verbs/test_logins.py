"""Which login a place needs, against servers that have public and private buckets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import refexplorer as rx
from tests.helpers.buckets import KEYS, s3_server
from tests.helpers.commands import run
from tests.helpers.servers import RangeServer, range_server

pytestmark = pytest.mark.server
REGION = "eu-west-1"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with s3_server(REGION) as (url, client):
        for bucket, acl in (("open-login", "public-read"), ("closed-login", "private")):
            where = {"LocationConstraint": REGION}
            client.create_bucket(Bucket=bucket, ACL=acl, CreateBucketConfiguration=where)
            client.put_object(Bucket=bucket, Key="f.nc", Body=b"bytes", ACL=acl)
        yield url


@pytest.fixture
def server() -> Iterator[RangeServer]:
    with range_server() as running:
        yield running


REFS = {"a": ["s3://open-login/f.nc"], "b": ["s3://closed-login/f.nc"], "c": ["f.nc"]}


def asked(options: dict[str, Any], *allow: str) -> dict[str, rx.types.Login]:
    refs = rx.open_references(REFS, storage_options={"s3": options})
    return {each.place: each for each in refs.allowing(*allow).logins()}


def test_a_public_and_a_private_bucket(endpoint: str) -> None:
    allow = ("s3://open-login", "s3://closed-login")
    found = asked({"endpoint_url": endpoint}, *allow)
    assert {name: each.answers for name, each in found.items()} == {
        "s3://open-login": "without credentials", "s3://closed-login": "not",
    }  # fmt: skip
    assert "denied" in found["s3://closed-login"].message
    found = asked({"endpoint_url": endpoint} | KEYS, *allow)
    facts = {name: (e.answers, e.requester_pays, e.region) for name, e in found.items()}
    assert facts == {
        "s3://open-login": ("without credentials", False, REGION),
        "s3://closed-login": ("with the options given", False, REGION),
    }  # fmt: skip
    assert "knows" not in str([*found.values()])


def test_the_code_runs(endpoint: str) -> None:
    import fsspec
    import icechunk
    import obstore

    login = asked({"endpoint_url": endpoint}, "s3://open-login")["s3://open-login"]
    assert [*login.code] == ["fsspec", "obstore", "icechunk"]
    for line in login.code.values():
        eval(line, {"fsspec": fsspec, "obstore": obstore, "icechunk": icechunk})


def test_nothing_is_asked_before_it_is_allowed(tmp_path: Path) -> None:
    source = tmp_path / "set.json"
    source.write_text(json.dumps(REFS))
    ran = run("info", source, "--logins")
    assert ran.status == 2
    assert "s3://open-login was not asked" in ran.out
    assert "--allow s3://open-login" in ran.out


def test_a_web_server(server: RangeServer, tmp_path: Path) -> None:
    server.files = {"/f": bytes(8)}
    source = tmp_path / "set.json"
    source.write_text(json.dumps({"a": [f"{server.url}/f"], "b": "text"}))
    ran = run("info", source, "--logins", "--allow", server.url)
    assert (ran.status, ran.err) == (0, "")
    assert f"{server.url} answers without credentials, requester pays: no" in ran.out
    assert 'fsspec: fsspec.filesystem("http")' in ran.out
    found = json.loads(run("info", source, "--logins", "--allow", server.url, "--json").out)
    assert found["logins"][0]["answers"] == "without credentials"


def test_a_set_of_this_machine_needs_none(demo: Path) -> None:
    ran = run("info", demo / "sst.v0.json", "--logins")
    assert (ran.status, ran.out) == (0, "All targets are on this machine, or inline.\n")
