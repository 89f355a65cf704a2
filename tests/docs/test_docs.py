"""What the documents show works, and what they name is there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import refexplorer as rx

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def test_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, object] = {}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), namespace)
    assert capsys.readouterr().out == "sst/6.0.0\n"
    assert "sst" in str(namespace["dataset"])


SHELL = [line for block in blocks("sh") for line in block.splitlines()]
COMMANDS = [line for line in SHELL if line.startswith("refexplorer ")]


def test_first_commands_are_the_promised_ones() -> None:
    assert SHELL[:2] == ["pip install -e . && refexplorer demo", "python3 -m tests"]


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_of_the_readme_run(line: str) -> None:
    command = [sys.executable, "-m", *shlex.split(line)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    assert not [link for link in links if not (ROOT / link).exists()]


def test_every_public_name_has_a_docstring() -> None:
    assert not [name for name in rx.__all__ if not getattr(rx, name).__doc__]


def test_every_command_is_in_the_readme() -> None:
    from refexplorer.cli.commands import app

    names = [command.callback.__name__ for command in app.registered_commands if command.callback]
    assert not [name for name in names if f"refexplorer {name}" not in README]


def test_the_picture_is_small() -> None:
    assert (ROOT / "notebooks" / "explorer.png").stat().st_size < 150_000
