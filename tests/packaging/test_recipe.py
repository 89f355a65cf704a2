"""The conda recipe says what pyproject.toml says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.helpers.building import build_hook

ROOT = Path(__file__).parents[2]
OF_CONDA = {"lazy-loader": "lazy_loader"}
"""Packages that conda-forge calls differently."""


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    described = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return {**described["project"], "requires": described["build-system"]["requires"]}


@pytest.fixture(scope="module")
def recipe() -> dict[str, Any]:
    text = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    context = yaml.safe_load(text)["context"] | {"python_min": "3.11", "PYTHON": "python"}
    filled = re.sub(r"\$\{\{ (\w+) \}\}", lambda name: context[name[1]], text)
    parsed: dict[str, Any] = yaml.safe_load(filled)
    return parsed


def of_conda(requirements: list[str]) -> set[str]:
    found = [re.fullmatch(r"([\w-]+)(.*)", each) for each in requirements]
    return {f"{OF_CONDA.get(one[1], one[1])} {one[2]}".strip() for one in found if one}


def test_it_needs_what_the_package_needs(recipe: dict[str, Any], project: dict[str, Any]) -> None:
    python, *run = recipe["requirements"]["run"]
    assert set(run) == of_conda(project["dependencies"])
    assert python.replace(" ", "") == f"python{project['requires-python']}"
    host = set(recipe["requirements"]["host"]) - {"python 3.11.*", "pip"}
    # node is for the front end, which an sdist brings
    needed = [each for each in project["requires"] if not each.startswith("nodejs")]
    assert host == of_conda(needed)


def test_it_is_the_same_package(recipe: dict[str, Any], project: dict[str, Any]) -> None:
    assert recipe["package"] == {"name": project["name"], "version": project["version"]}
    assert recipe["source"]["path"] == f"../dist/refexplorer-{project['version']}.tar.gz"
    entries = [f"{name} = {place}" for name, place in project["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == entries
    assert recipe["about"]["license"] == project["license"]
    assert recipe["about"]["summary"] == project["description"]
    assert f"refexplorer-{project['version']}-py3" in (ROOT / "README.md").read_text()
    assert (ROOT / recipe["about"]["license_file"]).is_file()


def test_rattler_build_renders_it(tmp_path: Path) -> None:
    """As conda-forge's own checks begin: unknown fields and undefined names are refused."""
    rattler = pytest.importorskip("rattler_build")
    variants = tmp_path / "variants.yaml"
    variants.write_text('python_min:\n  - "3.11"\n')
    config = rattler.VariantConfig.from_file(str(variants))
    path = ROOT / "conda" / "recipe.yaml"
    (rendered,) = rattler.Stage0Recipe.from_file(str(path)).render(config)
    assert rendered.recipe.package.name == "refexplorer"
    wrong = path.read_text(encoding="utf-8").replace("requirements:", "requirments:")
    with pytest.raises(rattler.RecipeParseError, match="requirments"):
        rattler.Stage0Recipe.from_yaml(wrong)


def test_links_of_the_long_description_lead_to_the_source() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    made = build_hook().absolute(text, "https://host/of/it/", "v1.2")
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", made)
    assert [link for _, link in links if not re.match(r"https?://|#", link)] == []
    assert ("!", "https://host/of/it/raw/v1.2/notebooks/broken.png") in links
    assert ("", "https://host/of/it/blob/v1.2/docs/howto/publish.md") in links
    assert len(links) > 15
