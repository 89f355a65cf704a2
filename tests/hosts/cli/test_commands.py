"""The commands as a person or a pipe runs them: what is on stdout, on stderr, and the status."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import refexplorer as rx
from tests.helpers.commands import run, start
from tests.helpers.explorer import Host

COMMANDS = ("ls", "info", "expand", "check")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("name", "status"),
    [("sst.v0.json", 0), ("sst.v1.json", 0), ("sst.parq", 0), ("broken.json", 1)],
)
def test_json_is_one_document(command: str, name: str, status: int, demo: Path) -> None:
    ran = run(command, demo / name, "--json")
    assert ran.status == status, ran.err
    assert json.loads(ran.out)
    assert bool(ran.err) is bool(status and command != "check")


def test_the_version() -> None:
    ran = run("--version")
    assert (ran.status, ran.out, ran.err) == (0, f"refexplorer {rx.__version__}\n", "")


def test_the_code_for_a_set_runs(demo: Path) -> None:
    ran = run("info", demo / "sst.v1.json", "--code")
    assert ran.status == 0
    names: dict[str, Any] = {}
    exec(ran.out, names)
    assert names["dataset"]["sst"].shape == (18, 96, 192)


def test_ls_pages_one_level(demo: Path) -> None:
    ran = run("ls", demo / "sst.v1.json", "wind", "--start", "2", "--limit", "3", "--json")
    level = json.loads(ran.out)
    assert (level["total"], level["start"]) == (20, 2)
    assert [row["name"] for row in level["rows"]] == ["0.0.0", "1.0.0", "2.0.0"]
    assert {row["origin"] for row in level["rows"]} == {"gen[0]"}


def test_ls_in_a_pipe_is_tab_separated_and_complete(demo: Path) -> None:
    lines = run("ls", demo / "sst.v0.json", "sst").out.splitlines()
    assert len(lines) == 20
    assert lines[2].split("\t") == ["0.0.0", "range", "9163", "sst_2025-07.nc", "refs", "0"]


def test_info_counts_findings_as_the_explorer_does(demo: Path) -> None:
    assert "findings\t6 errors, 1 warning, 2 notes" in run("info", demo / "broken.json").out
    facts = json.loads(run("info", demo / "broken.json", "--json").out)
    assert facts["diagnostics"] == Host(demo / "broken.json").ask("hello")["severities"]


def test_info_counts(demo: Path) -> None:
    facts = json.loads(run("info", demo / "sst.v1.json", "--json").out)
    assert facts["keys"] == 60
    assert facts["kinds"] == {"inline": 19, "base64": 3, "url": 1, "range": 37}
    arrays = {array["path"]: array for array in facts["arrays"]}
    assert arrays["sst"]["chunks"] == [2, 96, 96]


def test_expand_prints_what_the_spec_prints(demo: Path) -> None:
    expanded = json.loads(run("expand", demo / "spec.v1.json").out)
    assert len(expanded) == 9
    assert expanded["gen_key4"] == ["http://server.domain/path_4", 5000, 1000]


def test_expand_by_lines(demo: Path) -> None:
    lines = run("expand", demo / "sst.v1.json", "--lines").out.splitlines()
    members = [json.loads(line) for line in lines]
    whole = rx.open_references(demo / "sst.v1.json").to_v0()
    assert {member["key"]: member["value"] for member in members} == whole


def test_check_names_the_place(demo: Path) -> None:
    ran = run("check", demo / "broken.json")
    assert ran.status == 1
    assert 'refs["sst/5.0.0"]' in ran.out
    assert "line 121:16" in ran.out
    assert "`september` is not defined" in ran.out


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (None, "no file"),
        ("", "empty"),
        ("<html>", "html"),
        ('{"version": 7, "refs": {}}', "version"),
        ("[1, 2]", "object"),
        ('{"a": ', "line 1"),
    ],
)
@pytest.mark.parametrize("command", COMMANDS)
def test_unreadable_source_is_one_sentence(
    command: str, text: str | None, word: str, tmp_path: Path
) -> None:
    path = tmp_path / "set.json"
    if text is not None:
        path.write_text(text)
    ran = run(command, path, "--json")
    document = json.loads(ran.out)
    assert (ran.status, document["status"], document["schema"]) == (2, 2, 1)
    assert document["error"] in ran.err
    assert len(ran.err.splitlines()) == 1
    assert "set.json" in ran.err
    assert word in ran.err.lower()


@pytest.mark.parametrize("arguments", [["nosuch"], ["ls"], ["info", "a", "b"], ["ls", "a", "--no"]])
def test_wrong_call_is_one_sentence(arguments: list[str]) -> None:
    ran = run(*arguments)
    assert (ran.status, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 1


def test_no_such_folder_is_one_sentence(demo: Path) -> None:
    ran = run("ls", demo / "sst.v0.json", "nosuch")
    assert (ran.status, ran.out) == (2, "")
    command = f"`refexplorer ls {demo / 'sst.v0.json'}`"
    assert ran.err == (
        f"refexplorer: sst.v0.json has nothing at 'nosuch'; {command} lists its keys.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ls", "sts"), "has nothing at 'sts'; similar: 'sst'; `refexplorer ls "),
        (("explain", "SST/0.0.9"), "has no key 'SST/0.0.9'; similar: 'sst'; `refexplorer ls "),
        (("explain", "sst/0.0.9"), "similar: 'sst/0.0.1', 'sst/0.0.0',"),
        (("explain", "sst"), "'sst' of sst.v1.json is a folder of keys"),
        (("find", "x", "--kind", "y"), "--kind': 'y' is not one of 'inline',"),
        (("ls", "--limit", "x"), "; see `refexplorer ls --help`."),
    ],
)
def test_what_is_meant_is_named(arguments: tuple[str, ...], said: str, demo: Path) -> None:
    ran = run(arguments[0], demo / "sst.v1.json", *arguments[1:])
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert said in ran.err


def test_a_key_that_was_left_out_is_explained_by_its_error(demo: Path) -> None:
    ran = run("explain", demo / "broken.json", "lat/0")
    assert (ran.status, ran.out) == (2, "")
    assert "'lat/0' of broken.json is rejected: error bad-base64 at line " in ran.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ls", "sst/0.0.0"), "'sst/0.0.0' is a key, not a folder"),
        (("ls", "--start", "100"), "--start 100 is past the last of 10 rows."),
        (("find", "sst"), "No key matches 'sst' as a whole; a * before and after it"),
        (("find", "*none*"), "No key matches '*none*'.\n"),
    ],
)
def test_nothing_to_list_is_said(arguments: tuple[str, ...], said: str, demo: Path) -> None:
    ran = run(arguments[0], demo / "sst.v1.json", *arguments[1:])
    assert (ran.status, ran.out) == (0, "")
    assert said in ran.err
    assert run(arguments[0], demo / "sst.v1.json", *arguments[1:], "--json").err == ""


def test_slashes_around_a_folder_do_not_matter(demo: Path) -> None:
    levels = {run("ls", demo / "sst.v1.json", path).out for path in ("sst", "sst/", "/sst")}
    assert len(levels) == 1


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps({"a\x1b[31m\nb\u202e": ["\x1b]0;x\x07.nc", 0, 1]}))
    for command in COMMANDS:
        ran = run(command, path)
        assert not set("\x1b\x07\u202e") & set(ran.out + ran.err)
    assert r"a\x1b[31m\nb" in run("ls", path).out


@pytest.mark.child
@pytest.mark.parametrize("count", [1, 20_000])
def test_reader_that_stops_early(count: int, tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    path.write_text(json.dumps({f"x/{number}": "text" for number in range(count)}))
    command = f"set -o pipefail; {sys.executable} -m refexplorer expand {path} | head -1"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "{\n", "")


@pytest.mark.child
def test_an_interrupt_is_no_traceback_while_modules_are_loaded(demo: Path) -> None:
    started = start("ls", demo / "sst.v0.json", PYTHONVERBOSE="1")
    assert started.stderr is not None
    for line in started.stderr:
        if "typer" in line:
            break
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=60)
    assert (started.returncode, out) == (130, "")
    assert "Traceback" not in err


def test_a_trillion_keys_are_listed_and_not_expanded(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    side = {"stop": 10**6}
    item = {"key": "v/{{i}}.{{j}}", "url": "u_{{i}}", "dimensions": {"i": side, "j": side}}
    path.write_text(json.dumps({"version": 1, "gen": [item]}))
    listed = json.loads(run("ls", path, "v", "--start", str(10**12 - 1), "--json").out)
    assert listed["total"] == 10**12
    assert listed["rows"][0]["path"] == "v/999999.999999"
    refused = run("expand", path)
    assert (refused.status, refused.out) == (2, "")
    assert "1,000,000,000,000 keys" in refused.err
    given_up = run("find", path, "v/0.99*", "--json")
    assert given_up.status == 2
    found = json.loads(given_up.out)
    assert found["keys"][-1] == "v/0.999999"
    assert found["error"] in given_up.err


def test_find_lists_keys_and_json_holds_them(demo: Path) -> None:
    keys = run("find", demo / "sst.v1.json", "sst/*.0.1", "--limit", "3").out.splitlines()
    assert keys == ["sst/0.0.1", "sst/1.0.1", "sst/2.0.1"]
    found = run("find", demo / "sst.v1.json", "*", "--kind", "base64", "--json").out
    assert json.loads(found)["keys"] == ["lat/0", "wind_lat/0", "wind_lon/0"]
    for form in ([], ["--json"]):
        wrong = run("find", demo / "sst.v1.json", "(", "--mode", "regex", *form)
        assert wrong.status == 2
        assert (json.loads(wrong.out)["error"] in wrong.err) if form else (wrong.out == "")
        assert "not a valid regular expression" in wrong.err


@pytest.mark.parametrize("command", [["ls"], ["ls", "--json"], ["find", "*"]])
def test_a_limit_may_be_any_number(command: list[str], demo: Path) -> None:
    name, *more = command
    ran = run(name, demo / "sst.v1.json", *more, "--limit", str(10**30))
    assert (ran.status, ran.err) == (0, "")
    assert ran.out


@pytest.mark.child
@pytest.mark.parametrize("command", ["ls", "expand"])
def test_an_output_that_takes_nothing_is_said(command: str, demo: Path) -> None:
    asked = [sys.executable, "-m", "refexplorer", command, str(demo / "sst.v1.json")]
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(asked, stdout=full, stderr=subprocess.PIPE, text=True)
    said = "refexplorer: The output cannot be read or written: No space left on device.\n"
    assert (ran.returncode, ran.stderr) == (2, said)
    closed = subprocess.run(asked, stderr=subprocess.PIPE, preexec_fn=lambda: os.close(1))
    assert (closed.returncode, closed.stderr) == (0, b"")


def test_explain_shows_each_step(demo: Path) -> None:
    ran = run("explain", demo / "sst.v1.json", "wind/7.0.0")
    assert "combination 8 of 18" in ran.out
    assert "{{m * 6 + day}}.0.0  →  wind/7.0.0" in ran.out
    steps = json.loads(run("explain", demo / "sst.v1.json", "wind/7.0.0", "--json").out)["steps"]
    assert [step["name"] for step in steps][-2:] == ["length", "reference"]
    missing = run("explain", demo / "sst.v1.json", "nope")
    assert missing.status == 2
    assert missing.err.startswith("refexplorer: sst.v1.json has no key 'nope'; `refexplorer ls ")


def test_dialects_say_what_readers_make_of_a_set(demo: Path) -> None:
    ran = run("dialects", demo / "spec.v1.json", "--json")
    outcomes = {reader["reader"]: reader["outcome"] for reader in json.loads(ran.out)["readers"]}
    assert outcomes["the specification"] == "same"
    assert outcomes["fsspec (default)"] == "refused"
    assert outcomes["fsspec (simple_templates=False)"] == "same"
    assert ran.status == 0  # who refuses a set says so


def test_schema_is_json_schema_of_either_version() -> None:
    v0, v1 = json.loads(run("schema", "--v0").out), json.loads(run("schema").out)
    assert (v0["title"], v1["title"]) == ("Reference set, version 0", "Reference set, version 1")


def test_a_program_loads_nothing_that_it_does_not_need(demo: Path) -> None:
    """It lists a set, and tells of another that is piped into it."""
    heavy = (
        "asyncio", "fsspec", "h5py", "icechunk", "kerchunk", "msgspec", "pandas", "panel", "rich",
        "virtualizarr", "xarray", "zarr",
    )  # fmt: skip
    program = (
        "import sys; from refexplorer.hosts.cli import main; "
        f"main(['ls', {str(demo / 'sst.v1.json')!r}])"
        f"; main(['info', '-']); sys.stderr.write(' '.join(set({heavy!r}) & sys.modules.keys()))"
    )
    packed = gzip.compress((demo / "spec.v1.json").read_bytes())
    ran = subprocess.run([sys.executable, "-c", program], input=packed, capture_output=True)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert b"sst" in ran.stdout
    assert b"source\tstandard input\n" in ran.stdout
