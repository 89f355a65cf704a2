"""The command that tells what reading costs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import refexplorer as rx
from tests.helpers.commands import run


def test_advise_prints_what_the_method_says(demo: Path) -> None:
    source = demo / "sst.v0.json"
    expected = rx.open_references(source).advise([("sst", (slice(0, 3), 10)), ("sst", (0,))])
    options = ["--access", "sst[0:3,10]", "--access", "sst[0]"]
    ran = run("advise", source, *options, "--json")
    assert ran.status == 0
    assert json.loads(ran.out) == json.loads(json.dumps(expected.to_dict()))
    text = run("advise", source, *options).out
    assert "sst, as given ([0:3, 10, :])" in text
    assert "sst, as given ([0, :, :])" in text
    assert "object-store: 30 ms to the first byte" in text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--place", "moon"), "'moon' is not a known location"),
        (("--access", "sst"), "not a part of an array"),
        (("--access", "sst[a]"), "neither an index nor a slice"),
        (("--access", "sst[::0]"), "a step of 0"),
        (("--access", "sst[9999]"), "out of bounds"),
        (("--access", "sts[0]"), "similar: 'sst'"),
    ],
)
def test_advise_refuses_in_one_sentence(options: tuple[str, str], said: str, demo: Path) -> None:
    ran = run("advise", demo / "sst.v0.json", *options)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1
