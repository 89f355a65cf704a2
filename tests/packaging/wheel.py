"""Build and install as users do: ``python -m tests.packaging.wheel [--release]``.

Makes sdist and wheel, the wheel from the sdist, with no node on the path; installs the wheel
into an empty environment and asks it for the demo and the page.
Needs pip's registry and two minutes. With ``--release`` it ends where a placeholder is left that
only a project with a host can fill.
"""

# ruff: noqa: T201

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
LARGEST = 5_000_000
NEEDED = ("py.typed", "hosts/static/explorer.js", "hosts/static/editor.js",
          "hosts/static/page.js", "hosts/static/saved.js",
          "hosts/saved_page.html", "hosts/saved_page.js",
          "hosts/static/LICENSES.txt", "hosts/page/page.html",
          "demo/sst.v1.json", "demo/sst_2025-07.nc", "demo/sst.parq/.zmetadata",
          "spec/schema.v1.json", "spec/codes.toml", "spec/rules.toml", "spec/DIAGNOSTICS.md",
          "readers/features.json")  # fmt: skip
UNWANTED = ("node_modules", "frontend/", "__pycache__", "tests/")
PLACEHOLDERS = ("OWNER", "../dist/")
"""The first is in `project.urls` only; docs/conf.py puts what stands there into the pages."""
WITH_PLACEHOLDERS = ("conda/recipe.yaml",)
_PROBE = """
import refexplorer as rx
from refexplorer import demo
assert not rx.__file__.startswith({root!r}), rx.__file__
refs = rx.open_references(demo.path("sst.v1.json"))
print(refs, rx.explore(refs).code, float(refs.to_xarray()["sst"][12, 40, 40]))
from refexplorer.hosts.page.page import page
page(refs)
"""


def main() -> None:
    """Build, look inside, install, use; a step that fails ends it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        environment = _environment(place / "build")
        checkers = ("check-wheel-contents", "twine")
        _run(environment, place, "-m", "pip", "install", "--quiet", "build", *checkers)
        # Without `--wheel` the wheel is built from the sdist, as by installers.
        _run(environment, place, "-m", "build", "--outdir", place, ROOT)
        (sdist,), (wheel,) = place.glob("*.tar.gz"), place.glob("*.whl")
        _run(environment, place, "-m", "twine", "check", "--strict", sdist, wheel)
        # W002: the demo has the same record file for two arrays, as kerchunk writes them.
        _run(environment, place, "-m", "check_wheel_contents", "--ignore", "W002", wheel)
        with zipfile.ZipFile(wheel) as opened:
            _check(wheel, opened.namelist(), UNWANTED)
        with tarfile.open(sdist) as unpacked:
            _check(sdist, unpacked.getnames(), ("node_modules",))
        left = unfilled(wheel, [ROOT / name for name in WITH_PLACEHOLDERS])
        print(*(f"before a release: {each}" for each in left), sep="\n")
        if left and "--release" in sys.argv[1:]:
            sys.exit("This is no release yet.")
        used = _environment(place / "use")
        _run(used, place, "-m", "pip", "install", "--quiet", wheel)
        _run(used, place, "-c", _PROBE.format(root=str(ROOT)))
        _run(used, place, "-m", "refexplorer", "--help")


def unfilled(wheel: Path, pages: Iterable[Path]) -> list[str]:
    """Say what a release may not have: no source, links that lead nowhere, placeholders."""
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (each for each in opened.namelist() if each.endswith(".dist-info/METADATA"))
        described = email.message_from_bytes(opened.read(name))
    urls = dict(each.split(", ", 1) for each in described.get_all("Project-URL", []))
    found = [] if "Source" in urls else ["[project.urls] has no Source"]
    text = str(described.get_payload())
    links = re.findall(r"\]\((?![a-z]+:|#)([^)]+)\)", text)
    if links:
        found.append(f"the long description links to {links[0]}, which is not in the package")
    texts = {"the long description": text, **{page.name: page.read_text() for page in pages}}
    texts["[project.urls]"] = " ".join(urls.values())
    return found + [
        f"{place} has {mark}"
        for place, one in texts.items()
        for mark in PLACEHOLDERS
        if mark in one
    ]


def _environment(folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def _run(python: Path, folder: Path, *arguments: str | Path) -> None:
    print("$ python", *(str(argument)[:60] for argument in arguments), flush=True)
    variables = {**os.environ, "PATH": f"{python.parent}:/usr/bin:/bin"}
    variables.pop("PYTHONPATH", None)  # with it the clone would be used in place of the wheel
    subprocess.run([python, *arguments], cwd=folder, env=variables, check=True)


def _check(archive: Path, names: list[str], unwanted: tuple[str, ...]) -> None:
    """Say what an archive weighs; refuse one that lacks something or brings too much."""
    size = archive.stat().st_size
    print(f"{archive.name}: {size / 1e6:.2f} MB, {len(names)} files")
    missing = [name for name in NEEDED if not any(found.endswith(name) for found in names)]
    extra = [found for found in names if any(name in found for name in unwanted)]
    if size > LARGEST or missing or extra:
        sys.exit(f"{archive.name}: missing {missing}, unwanted {extra[:5]}, {size} bytes")


if __name__ == "__main__":
    main()
