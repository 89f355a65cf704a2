"""What the server tells browsers: nothing of another origin, and no frame of another site."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterator
from email.message import Message
from urllib.error import HTTPError

import pytest

from tests.helpers.hosts import running_page

pytestmark = pytest.mark.server

PATHS = (
    "",
    "healthz",
    "static/extensions/refexplorer/page.js",
    "nosuch",
    "metadata",
    "autoload.js",
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running_page("demo") as served:
        yield served.url


def ask(url: str) -> tuple[Message, str]:
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.headers, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.headers, error.read().decode()


def policy(headers: Message) -> dict[str, list[str]]:
    written = headers["Content-Security-Policy"]
    parts = (part.split() for part in written.split(";"))
    return {name: values for name, *values in parts}


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_allows_nothing_of_another_origin(url: str, path: str) -> None:
    headers, _ = ask(url + path)
    found = policy(headers)
    assert found["default-src"] == ["'none'"]
    assert found["frame-ancestors"] == ["'self'"]
    allowed = {value for values in found.values() for value in values if "nonce" not in value}
    assert allowed == {"'none'", "'self'", "'unsafe-inline'", "data:", "blob:"}
    assert [name for name in found if "'unsafe-inline'" in found[name]] == ["style-src"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"


def test_scripts_run_by_a_number_of_each_answer(url: str) -> None:
    numbers = set()
    for _ in range(2):
        headers, text = ask(url)
        nonce = policy(headers)["script-src"][-1].removeprefix("'nonce-").removesuffix("'")
        scripts = re.findall(r"<script[^>]*>", text)
        assert scripts
        assert all(f'nonce="{nonce}"' in script for script in scripts)
        numbers.add(nonce)
    assert len(numbers) == 2
