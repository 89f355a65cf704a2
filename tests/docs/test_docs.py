"""What the documents show works, and what they name is there."""

from __future__ import annotations

import inspect
import re
import shlex
import shutil
from dataclasses import fields
from pathlib import Path

import pytest

import refexplorer as rx
from refexplorer import demo
from refexplorer.hosts.cli import load_app
from refexplorer.hosts.cli.program import EXAMPLES
from tests.docs.reference import cli_page
from tests.docs.snippets import SNIPPETS
from tests.docs.teaching import EXAMPLE
from tests.helpers.commands import run
from tests.helpers.sources import modules

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
README = (ROOT / "README.md").read_text(encoding="utf-8")


PICTURES = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README)


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_the_readme_is_short() -> None:
    assert len(README.split()) <= 900


def test_python_of_the_readme_shows_an_explorer() -> None:
    (block,) = blocks("python")
    *before, last = block.splitlines()
    namespace: dict[str, object] = {}
    exec("\n".join(before), namespace)
    assert isinstance(eval(last, namespace), rx.types.Explorer)


SHELL = [line for block in blocks("sh") for line in block.splitlines()]
COMMANDS = [line for line in SHELL if line.startswith("refexplorer ")]


def test_first_commands_are_the_promised_ones() -> None:
    install, test = "pip install -e . && refexplorer demo", "python3 -m tests"
    assert SHELL.index(install) == 1  # after the environment that it installs into
    assert SHELL[-1] == test


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_of_the_readme_run(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = demo.path("sst.v0.json").parent
    for name in ("land.bin", *(path.name for path in folder.glob("sst_*.nc"))):
        shutil.copy(folder / name, tmp_path)
    shutil.copy(folder / "sst.v0.json", tmp_path / "combined.json")
    monkeypatch.chdir(tmp_path)
    command, *arguments = shlex.split(line)[1:]
    if command == "serve":  # waits for visitors; `tests/hosts/page` starts it
        options = [argument for argument in arguments if argument.startswith("--")]
        assert all(option in run(command, "--help").out for option in options)
        return
    ran = run(command, *arguments)
    assert ran.status == 0, ran.err
    assert ran.out


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    assert not [link for link in links if not (ROOT / link).exists()]


def test_the_way_into_the_house_is_short_and_leads_to_modules_that_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    paths = re.findall(r"\btests/[\w/.]+\w", text)
    assert paths
    assert not [path for path in paths if not (ROOT / path).exists()]
    named = set(re.findall(r"`([\w/]+\.(?:py|tsx?))`", text))
    top = [path for room in ("refexplorer", "tests") for path in (ROOT / room).iterdir()]
    rooms = [path for path in top if path.name != "frontend"]
    rooms.append(ROOT / "refexplorer" / "frontend" / "src")  # beside node_modules
    files = [*top, *(path for room in rooms for path in room.rglob("*.*"))]
    assert named
    named = {name for name in named if "NAME" not in name}  # it stands for the name of a view
    assert not [name for name in named if not any(str(path).endswith(f"/{name}") for path in files)]


def test_every_public_name_has_a_docstring() -> None:
    for module in (rx, rx.types, rx.errors):
        assert not [name for name in module.__all__ if not getattr(module, name).__doc__]


def test_the_page_of_the_command_line_leaves_nothing_out() -> None:
    cli = cli_page()
    assert SNIPPETS.keys() - {""} < set(rx.__all__)
    for command in load_app().registered_commands:
        assert command.callback is not None
        assert f"## {command.callback.__name__.replace('_', '-')}\n" in cli
        for parameter in inspect.signature(command.callback).parameters.values():
            options = re.findall(r"'(--[a-z-]+)'", str(parameter.annotation))
            assert all(option in cli for option in options)


@pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr version 3")
def test_python_of_the_reference_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for name, code in SNIPPETS.items():
        exec(compile(code, name, "exec"), namespace)


def test_commands_of_the_reference_are_the_examples_of_the_help() -> None:
    shown = {line for block in blocks("sh", cli_page()) for line in block.splitlines()}
    assert shown == {line for lines in EXAMPLES.values() for line in lines}


def test_docstrings_show_no_code_that_is_not_run() -> None:
    assert not [path.name for path, text in modules().items() if ">>> " in text]


@pytest.mark.parametrize("name", PICTURES)
def test_the_pictures_are_small(name: str) -> None:
    assert (ROOT / name).stat().st_size < 150_000


def test_every_limit_is_in_the_cost_note() -> None:
    note = (ROOT / "docs" / "reference" / "costs.md").read_text(encoding="utf-8")
    for limit in fields(rx.Limits):
        assert f"| `{limit.name}` | {limit.default:,} |" in note


def test_the_exercise_of_the_reference_holds_to_itself(tmp_path: Path) -> None:
    (tmp_path / "every-second.toml").write_text(EXAMPLE)
    assert rx.Exercises(tmp_path, answers=None).exercise == "every-second"
