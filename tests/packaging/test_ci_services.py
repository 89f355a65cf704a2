"""The GitHub Action and the pre-commit hook do what their files say: each step is replayed."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
STEPS = {"name", "shell", "env", "run", "uses", "with"}


def replay(inputs: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the last step of the action as its runner does; those before it install refexplorer."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    values = {name: each.get("default", "") for name, each in action["inputs"].items()} | inputs
    step = action["runs"]["steps"][-1]

    def evaluated(text: str) -> str:
        return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: values[found[1]], text)

    env = {name: evaluated(text) for name, text in step["env"].items()}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder, env=os.environ | env | {"PATH": path}, capture_output=True, text=True,
    )  # fmt: skip


@pytest.fixture
def checkout(demo: Path, tmp_path: Path) -> Path:
    (tmp_path / "sets" / "more").mkdir(parents=True)
    for name in ("sst.v0.json", "sst_2025-07.nc", "sst_2025-08.nc", "sst_2025-09.nc", "land.bin"):
        shutil.copy(demo / name, tmp_path / "sets")
    shutil.copy(demo / "broken.json", tmp_path / "sets" / "more")
    return tmp_path


def test_the_action_has_what_its_runner_knows() -> None:
    action: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
    assert {*action} == {"name", "description", "inputs", "runs"}
    assert all(
        {*each} <= {"description", "required", "default"} for each in action["inputs"].values()
    )
    assert action["runs"]["using"] == "composite"
    for step in action["runs"]["steps"]:
        assert {*step} <= STEPS
        assert ("uses" in step) is not ("run" in step)
        assert ("shell" in step) is ("run" in step)
        assert "${{" not in step.get("run", "")  # what is put into a script by text can be a script


@pytest.mark.child
def test_the_action_annotates_what_is_wrong(checkout: Path) -> None:
    ran = replay({"sets": "sets/*.json", "verb": "verify"}, checkout)
    assert (ran.returncode, ran.stderr) == (0, "")
    ran = replay({"sets": "sets/**/*.json\n", "options": "--fail-on error"}, checkout)
    assert ran.returncode == 1
    assert "::error file=sets/more/broken.json,line=171,col=16,title=bad-offset::" in ran.stdout
    ran = replay({"sets": "sets/sst.v0.json; touch hacked"}, checkout)
    assert ran.returncode == 2
    assert not (checkout / "hacked").exists()


@pytest.mark.child
def test_the_hook_fails_for_a_set_with_errors(demo: Path, tmp_path: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert {*hook} <= {"id", "name", "description", "entry", "language", "files"}
    for name in ("data.refs.json", "kerchunk/a.json", "package.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps({".zgroup": {"zarr_format": 2}, "a": "text"}))
    (tmp_path / "bad_refs.json").write_text((demo / "broken.json").read_text())
    names = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.json"))
    chosen = [name for name in names if re.search(hook["files"], name)]
    assert chosen == ["bad_refs.json", "data.refs.json"]
    command = [str(Path(sys.executable).parent / "refexplorer"), *shlex.split(hook["entry"])[1:]]
    ran = subprocess.run([*command, *chosen], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 1
    assert "bad_refs.json: has errors" in ran.stdout
    ran = subprocess.run([*command, "data.refs.json"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0
