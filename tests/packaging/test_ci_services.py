"""The GitHub Action and the pre-commit hook do what their files say: each step is replayed."""

from __future__ import annotations

import base64
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

ROOT = Path(__file__).parents[2]
Refs = dict[str, Any]
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
    job = {"sets": "sets/*.json", "verb": "verify", "options": "--fail-on warning"}
    ran = replay(job, checkout)
    assert (ran.returncode, ran.stderr) == (0, "")
    ran = replay({"sets": "sets/**/*.json\n", "options": "--fail-on error"}, checkout)
    assert ran.returncode == 1
    assert "::error file=sets/more/broken.json,line=171,col=16,title=bad-offset::" in ran.stdout
    ran = replay({"sets": "sets/sst.v0.json; touch hacked"}, checkout)
    assert ran.returncode == 2
    assert not (checkout / "hacked").exists()


def _without(prefix: str) -> Callable[[Refs, Path], None]:
    def change(refs: Refs, folder: Path) -> None:
        for key in [key for key in refs if key.startswith(prefix) and "/." not in key]:
            del refs[key]

    return change


def _gap(refs: Refs, folder: Path) -> None:
    days = np.array([0, 1, 2, 3, 4, 5, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20], "<i8")
    refs["day/.zarray"] = json.dumps(
        {"zarr_format": 2, "shape": [18], "chunks": [18], "dtype": "<i8", "compressor": None,
         "filters": None, "fill_value": None, "order": "C"}
    )  # fmt: skip
    attributes = {"_ARRAY_DIMENSIONS": ["day"], "units": "days since 2025-01-01"}
    refs["day/.zattrs"] = json.dumps(attributes)
    refs["day/0"] = f"base64:{base64.b64encode(days.tobytes()).decode()}"


def _stale(refs: Refs, folder: Path) -> None:
    shutil.copy(folder / "sst_2025-08.nc", folder / "sst_2025-07.nc")


FAULTS: dict[str, Callable[[Refs, Path], None]] = {
    "all chunks of an array are gone": _without("sst/"),
    "no group": lambda refs, folder: refs.__delitem__(".zgroup"),
    "a gap in time": _gap,
    "a stale target": _stale,
}


@pytest.mark.child
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_fails_the_job(fault: str, checkout: Path) -> None:
    source = checkout / "sets" / "sst.v0.json"
    job = {"sets": "sets/*.json", "verb": "verify", "options": "--fail-on warning"}
    refs = json.loads(source.read_text())
    FAULTS[fault](refs, source.parent)
    source.write_text(json.dumps(refs))
    ran = replay(job, checkout)
    assert ran.returncode == 1
    assert re.search(r"^::(error|warning) file=sets/sst.v0.json,", ran.stdout, re.MULTILINE)
    if fault != "a stale target":  # which only a look at the files can know
        assert replay(job | {"verb": "check"}, checkout).returncode == 1


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
