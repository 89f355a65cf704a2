"""What GitHub reads follows the schemas that are published for it, and starts what there is."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

import refexplorer as rx

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
SCHEMAS = {
    **dict.fromkeys(WORKFLOWS, "github-workflows"),
    ROOT / "action.yml": "github-actions",
    GITHUB / "ISSUE_TEMPLATE" / "wrong-set.yml": "github-issue-forms",
    GITHUB / "ISSUE_TEMPLATE" / "other.yml": "github-issue-forms",
    GITHUB / "ISSUE_TEMPLATE" / "config.yml": "github-issue-config",
    GITHUB / "dependabot.yml": "dependabot",
    ROOT / "CITATION.cff": "citation-file-format",
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def read(path: Path) -> dict[Any, Any]:
    parsed: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return parsed


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: str(path.relative_to(ROOT)))
def test_it_follows_the_published_schema(path: Path) -> None:
    jsonschema: Any = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    pytest.importorskip("check_jsonschema", reason="check-jsonschema has the published schemas")
    vendored = files("check_jsonschema") / "builtin_schemas" / "vendor" / f"{SCHEMAS[path]}.json"
    parsed = {"on" if name is True else name: each for name, each in read(path).items()}
    schema = json.loads(vendored.read_text(encoding="utf-8"))
    errors = jsonschema.validators.validator_for(schema)(schema).iter_errors(parsed)
    assert [error.message for error in errors] == []


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in read(path)["jobs"].values() for step in job["steps"]]


def test_the_tests_run_on_every_python_that_is_promised() -> None:
    jobs = read(GITHUB / "workflows" / "tests.yml")["jobs"]
    classifiers = " ".join(PROJECT["classifiers"])
    promised = re.findall(r"Python :: (3\.\d+)", classifiers)
    assert jobs["all"]["strategy"]["matrix"]["python"] == promised
    assert [step.get("run") for step in jobs["all"]["steps"]][-1] == "python -m tests"


def test_the_nightly_run_takes_packages_that_the_tests_need() -> None:
    matrix = read(GITHUB / "workflows" / "nightly.yml")["jobs"]["development"]["strategy"]
    packages = {each["package"] for each in matrix["matrix"]["include"]}
    assert packages == {"zarr", "xarray", "fsspec", "kerchunk", "virtualizarr", "icechunk"}
    needed = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
    assert packages <= {re.split(r"[<>=\[]", each)[0] for each in needed}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_each_step_starts_a_module_that_is_there(path: Path) -> None:
    installed = {"pip", "build", "sphinx", "pytest"}
    for step in steps(path):
        assert "${{" not in step.get("run", "")  # a text put into a script can be a script
        words = shlex.split(step.get("run", "python -m pip"))
        assert words[:2] == ["python", "-m"]
        module = ROOT.joinpath(*words[2].split("."))
        assert words[2] in installed or module.is_dir() or module.with_suffix(".py").is_file()


def test_what_is_cited_is_this_version() -> None:
    assert read(ROOT / "CITATION.cff")["version"] == rx.__version__
    assert read(ROOT / "CITATION.cff")["license"] == PROJECT["license"]


def test_a_wrong_set_is_reported_with_its_page() -> None:
    body = read(GITHUB / "ISSUE_TEMPLATE" / "wrong-set.yml")["body"]
    (page,) = (each for each in body if each["id"] == "page")
    assert "refexplorer page combined.json -o report.html" in page["attributes"]["description"]
    assert page["validations"]["required"]


def test_the_placeholder_of_the_owner_is_in_one_place() -> None:
    owner = re.findall(r"github\.com/([\w-]+)/", PROJECT["urls"]["Source"])[0]
    assert all(owner in url for url in PROJECT["urls"].values())
    others = ["README.md", "SECURITY.md", "CITATION.cff", "conda/recipe.yaml"]
    others += [str(path.relative_to(ROOT)) for path in GITHUB.rglob("*.*") if path.is_file()]
    assert not [name for name in others if "OWNER" in (ROOT / name).read_text(encoding="utf-8")]
