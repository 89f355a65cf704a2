"""What the help shows works: every example of every command, completion, the tree."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from refexplorer.hosts.cli import load_app, main
from refexplorer.hosts.cli.program import EXAMPLES, app
from tests.helpers.commands import run
from tests.helpers.forking import COMMAND, LOAD_PAGE, Interpreter, preloaded

PAGES = ("serve", "demo")
NOT_HERE = (*PAGES, "mcp")  # `tests/hosts/test_assistant.py` speaks to that
LINES = [line for command, lines in EXAMPLES.items() if command not in NOT_HERE for line in lines]
SHELL = {">", "|"}
PIPED = re.compile(
    r"(cat (?P<given>\S+) \| )?refexplorer (?P<arguments>[^|>]+)( \| head -\d| > \S+)?"
)
"""The one command of a line of the shell, and the file that it is given."""
TOLD, *PAGE_LINES = sorted(
    (line for command in PAGES for line in EXAMPLES[command]), key=lambda line: "--json" not in line
)
"""The example of what is written for programs, and all others."""


@pytest.fixture
def folder(demo: Path, tmp_path: Path) -> Path:
    """Where ``combined.json`` lies, and the same set of another day, and what both refer to."""
    shutil.copy(demo / "sst.v1.json", tmp_path / "combined.json")
    shutil.copy(demo / "sst.v0.json", tmp_path / "before.json")
    answers = {"01-a-range": {"text": '{"x/0": ["data.nc", 100, 150]}'}}
    (tmp_path / "answers.json").write_text(json.dumps({"schema": 1, "answers": answers}))
    for target in (*demo.glob("*.nc"), demo / "land.bin"):
        shutil.copy(target, tmp_path)
    return tmp_path


@pytest.mark.parametrize("line", [line for line in LINES if not SHELL & set(line)])
def test_an_example_runs(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    ran = run(*shlex.split(line)[1:])
    assert ran.status == int(" dialects " in line), ran.err  # readers differ on the set
    assert ran.out


@pytest.mark.parametrize("line", [line for line in LINES if SHELL & set(line)])
def test_an_example_of_the_shell_runs(
    line: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command of it; `test_reader_that_stops_early` has a shell and a pipe."""
    monkeypatch.chdir(folder)
    found = PIPED.fullmatch(line)
    assert found is not None
    ran = run(
        *shlex.split(found["arguments"]),
        stdin=Path(found["given"]).read_bytes() if found["given"] else b"",
    )
    assert ran.status == 0, ran.err
    assert ran.out


@pytest.fixture(scope="module")
def programs() -> Iterator[Interpreter]:
    with preloaded(LOAD_PAGE) as interpreter:
        yield interpreter


@pytest.mark.server
@pytest.mark.parametrize("line", PAGE_LINES)
def test_an_example_of_a_page_serves(line: str, folder: Path, programs: Interpreter) -> None:
    words = [word for word in shlex.split(line)[1:] if word != "--no-browser"]
    served = programs.start(COMMAND, *words, "--no-browser", "--port", "0", cwd=folder)
    assert "http://" in served.line(), served.communicate()
    served.send_signal(signal.SIGTERM)
    assert served.communicate()[1] == ""


@pytest.mark.server
def test_a_program_is_reported_the_address_of_the_page(folder: Path) -> None:
    command = [sys.executable, "-m", *shlex.split(TOLD)]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        try:
            told = json.loads(served.stdout.readline())
            with urllib.request.urlopen(f"{told['url']}healthz", timeout=30) as answer:
                assert answer.status == 200
        finally:
            served.terminate()


def test_without_a_command_the_help_is_shown() -> None:
    ran = run()
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("Usage: refexplorer ")
    assert "…" not in ran.out
    assert "..." not in ran.out.partition("Commands:")[2]


def names() -> list[str]:
    """All commands, in the order of the help."""
    return [
        command.callback.__name__.replace("_", "-")
        for command in load_app().registered_commands
        if command.callback is not None
    ]


def test_every_command_has_examples_in_its_help_and_every_example_a_command() -> None:
    assert names() == list(EXAMPLES), "each verb has its lines in refexplorer/hosts/cli/program.py"
    for name in EXAMPLES:
        shown = run(name, "--help").out
        assert all(line in shown for line in EXAMPLES[name])
        assert "--json" in shown or name == "mcp"  # which speaks JSON alone


def made_up() -> None:
    """Print a line."""
    typer.echo("made up")


@pytest.mark.parametrize("is_verb", [True, False])
def test_a_verb_without_an_example_or_an_example_without_a_verb_breaks_no_command(
    is_verb: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    load_app()  # not later, when verbs would join the list that is in place for this test alone
    monkeypatch.setattr(app, "registered_commands", list(app.registered_commands))
    if is_verb:
        app.command()(made_up)
    else:
        monkeypatch.setitem(EXAMPLES, "gone", {"refexplorer gone": "nothing"})
    for arguments in (["--help"], ["ls", "combined.json"], ["ls", "--help"]):
        assert run(*arguments).status == 0
    assert ("made-up" in run("--help").out.split()) is is_verb
    assert (run("made-up").out == "made up\n") is is_verb


def test_the_shell_completes_commands_and_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_REFEXPLORER_COMPLETE", "complete_bash")
    for typed, wanted in {"refexplorer exp": ["expand", "explain", "explain-code"],
                          "refexplorer ls --js": ["--json"]}.items():  # fmt: skip
        monkeypatch.setenv("COMP_WORDS", typed)
        monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
        with pytest.raises(SystemExit):  # as typer ends a completion
            main([])
        assert sorted(capsys.readouterr().out.split()) == wanted


def test_the_tree_goes_three_levels_down_and_says_what_it_leaves_out(demo: Path) -> None:
    lines = run("ls", demo / "sst.v1.json", "--tree").out.splitlines()
    assert any(line.startswith("├── sst/  array") for line in lines)
    assert any(line.startswith("│   ├── 0.0.0  range") for line in lines)
