"""Options of file systems on the command line: as Python has them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from refexplorer.hosts.cli import load_app
from refexplorer.hosts.cli.output import options_text
from refexplorer.hosts.cli.program import storage_options
from tests.helpers.commands import run
from tests.helpers.servers import RangeServer, range_server


@pytest.fixture
def server() -> Iterator[RangeServer]:
    with range_server() as running:
        running.files["/set.json"] = json.dumps({"a": "text"}).encode()
        yield running


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        (["s3.anon=false"], {"s3": {"anon": False}}),
        (["s3.anon=FALSE", "s3.profile=work"], {"s3": {"anon": False, "profile": "work"}}),
        (["anon=true"], {"anon": True}),
        (["s3.key=123", "s3.secret=a=b"], {"s3": {"key": "123", "secret": "a=b"}}),
        (["s3.client_kwargs.region_name=eu"], {"s3": {"client_kwargs": {"region_name": "eu"}}}),
        (["s3://a.b.profile=w"], {"s3://a.b": {"profile": "w"}}),
        (['https://h.d:8.headers={"A": "b"}'], {"https://h.d:8": {"headers": {"A": "b"}}}),
        (["s3.token=null", "gs.token=anon"], {"s3": {"token": None}, "gs": {"token": "anon"}}),
        (["s3.x={not JSON"], {"s3": {"x": "{not JSON"}}),
        ([], {}),
    ],
)
def test_texts_are_options_as_python_has_them(texts: list[str], options: dict[str, Any]) -> None:
    assert storage_options(texts) == options


@pytest.mark.parametrize("text", ["s3.key", "=x", "s3.=x", "s3.a.b=1"])
def test_what_is_no_option_is_one_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "set.json").write_text("{}")
    given = ["--storage-option", "s3.a=1", "--storage-option", text]
    ran = run("info", tmp_path / "set.json", *given)
    assert ran.status == 2
    assert len(ran.err.splitlines()) == 1
    assert "needs a value: write PLACE.NAME=VALUE" in ran.err or "below an option" in ran.err


def test_each_command_that_opens_a_set_takes_them() -> None:
    for command in load_app().registered_commands:
        assert command.callback is not None
        names = command.callback.__annotations__.keys()
        assert bool({"source", "before"} & names) == ("storage_option" in names)


def test_headers_and_netrc_of_a_server(
    server: RangeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{server.url}/set.json"
    option = f'{server.url}.headers={{"Authorization": "Bearer mine"}}'
    assert run("info", url, "--storage-option", option).status == 0
    assert {"Bearer mine"} == {each.get("Authorization") for each in server.seen_headers}
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    server.seen_headers.clear()
    assert run("info", url).status == 0
    assert {each.get("Authorization") for each in server.seen_headers} == {None}
    option = 'http.client_kwargs={"trust_env": true}'
    assert run("info", url, "--storage-option", option).status == 0
    sent = server.seen_headers[-1]["Authorization"]
    assert base64.b64decode(sent.removeprefix("Basic ")) == b"me:secret"


def test_advice_is_what_can_be_typed() -> None:
    python = 'denied; storage_options={"https://h": {"headers": {"Authorization": …}}} gives them'
    assert options_text(python) == (
        "denied; --storage-option 'https://h.headers={\"Authorization\": …}' gives them"
    )
