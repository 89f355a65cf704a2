"""What an install brings: the wheel as it is built of this clone."""

from __future__ import annotations

import email
import json
import tomllib
import zipfile
from pathlib import Path

import pytest

import refexplorer
from tests.packaging.wheel import NEEDED, UNWANTED, WITH_PLACEHOLDERS, unfilled

ROOT = Path(__file__).parents[2]
EXTENSION = "share/jupyter/labextensions/refexplorer"
builders = pytest.importorskip("hatchling.builders.wheel", reason="hatchling builds the wheel")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("dist")
    (built,) = builders.WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    return zipfile.ZipFile(built)


def test_it_has_what_is_needed_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    assert [need for need in NEEDED if not any(name.endswith(need) for name in names)] == []
    assert [name for name in names if any(each in name for each in UNWANTED)] == []


def test_jupyterlab_finds_the_extension(wheel: zipfile.ZipFile) -> None:
    (package,) = [name for name in wheel.namelist() if name.endswith(f"{EXTENSION}/package.json")]
    described = json.loads(wheel.read(package))
    built = described["jupyterlab"]["_build"]
    entry = wheel.read(package.replace("package.json", built["load"])).decode()
    assert built["extension"] == "./extension"
    assert (
        f'_JUPYTERLAB["{described["name"]}"]' in entry
        or f"_JUPYTERLAB.{described['name']}" in entry
    )
    assert len(entry) < 30_000


def test_it_has_one_version_everywhere(wheel: zipfile.ZipFile) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extension = json.loads((ROOT / "refexplorer" / "labextension" / "package.json").read_text())
    metadata = email.message_from_bytes(
        wheel.read(next(name for name in wheel.namelist() if name.endswith("/METADATA")))
    )
    versions = {project["version"], extension["version"], metadata["Version"]}
    assert versions == {refexplorer.__version__}
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert str(metadata.get_payload()).startswith("# refexplorer")


def test_a_release_without_a_host_is_refused(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    assert wheel.filename is not None
    pages = [ROOT / name for name in WITH_PLACEHOLDERS]
    left = unfilled(Path(wheel.filename), pages)
    # once there is a host these lines go, and the build for a release passes
    assert {"[project.urls] has OWNER", "the long description has OWNER"} <= set(left)
    assert "recipe.yaml has ../dist/" in left
    filled = tmp_path / "filled-1.whl"
    described = "Metadata-Version: 2.4\nProject-URL: Source, https://host/{}/refexplorer\n\n[a](https://host)"
    for owner, expected in (("us", []), ("OWNER", ["[project.urls] has OWNER"])):
        with zipfile.ZipFile(filled, "w") as made:
            made.writestr("refexplorer-1.dist-info/METADATA", described.format(owner))
        assert unfilled(filled, []) == expected
