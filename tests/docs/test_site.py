"""The documentation site: it builds without a warning and from itself, and what it shows runs."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from operator import attrgetter
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from ipywidgets import DOMWidget

import refexplorer as rx
from refexplorer import demo
from tests.docs.reference import pages
from tests.helpers.commands import run
from tests.ui.screenshots import SHOWN_IN_GALLERY

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [path for room in ("howto", "explanation") for path in sorted((DOCS / room).glob("*.md"))]
PAGES += [DOCS / "index.md", DOCS / "installation.md"]
NEEDED = ("sphinx", "myst_nb", "pydata_sphinx_theme")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
PROPER = "the site was not built, since {} is missing: pip install -e '.[docs]'"
FETCHED = {"script": "src", "link": "href", "img": "src", "iframe": "src"}
"""What a browser asks for by itself."""


class Links(HTMLParser):
    """The links of a page, what it fetches, and the places in it that links can lead to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.places: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.places |= {str(found[name]) for name in ("id", "name") if found.get(name)}
        if tag == "a" and found.get("href"):
            self.links.append(str(found["href"]))
        if (where := found.get(FETCHED.get(tag, ""))) and found.get("rel") != "canonical":
            self.fetched.append(where)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The built site, from a copy of what it is made of: the tree stays as it is."""
    if MISSING:
        pytest.skip(PROPER.format(", ".join(MISSING)))
    root = tmp_path_factory.mktemp("site")
    for name in ("docs", "notebooks"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("_build", "made"))
    shutil.copy(ROOT / "pyproject.toml", root)
    built = root / "html"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    finished = subprocess.run(
        [*command, str(root / "docs"), str(built)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr
    yield built
    shutil.rmtree(root)


def read_pages(site: Path) -> dict[Path, Links]:
    found = (path for path in site.rglob("*.html") if "_static" not in path.parts)
    return {path: Links(path) for path in found}


def lost_links(site: Path) -> list[str]:
    """Each link that leads to no page, file or place of the site, behind the page it is on."""
    pages, lost = read_pages(site), []
    for path, page in pages.items():
        for link in (*page.links, *page.fetched):
            where = urlsplit(link)
            if where.scheme or where.netloc:
                continue
            target = (path.parent / unquote(where.path)).resolve() if where.path else path
            is_place = target not in pages or unquote(where.fragment) in {*pages[target].places, ""}
            if not (target.exists() and is_place):
                lost.append(f"{path.relative_to(site)}: {link}")
    return lost


def test_a_lost_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<p id="x"><a href="b.html#y"></a><a href="#x"></a></p>')
    (tmp_path / "b.html").write_text('<a href="a.html#x"></a><img src="c.png"><a href="//h/z"></a>')
    assert sorted(lost_links(tmp_path)) == ["a.html: b.html#y", "b.html: c.png"]


@pytest.mark.server
def test_the_site_asks_no_other_host_and_its_links_lead_somewhere(site: Path) -> None:
    pages = read_pages(site)
    assert len(pages) > 40
    assert not [
        where for page in pages.values() for where in page.fetched if urlsplit(where).netloc
    ]
    assert not lost_links(site)


@pytest.mark.server
def test_every_page_has_its_version_and_leads_to_the_file_to_edit(site: Path) -> None:
    for path, page in read_pages(site).items():
        if path.stem in ("genindex", "search", "py-modindex") or "static" in path.parts:
            continue
        assert f"refexplorer {rx.__version__}" in path.read_text(encoding="utf-8")
        (edited,) = {link.partition("/edit/main/")[2] for link in page.links if "/edit/" in link}
        assert (ROOT / edited).is_file()


@pytest.mark.server
def test_the_site_has_every_public_name_and_types_link(site: Path) -> None:
    text = {path.stem: path.read_text() for path in (site / "made" / "api").glob("*.html")}
    together = "\n".join(text.values())
    names = [*rx.__all__, *(f"types.{name}" for name in rx.types.__all__)]
    names += [f"errors.{name}" for name in rx.errors.__all__]
    modules = ("errors", "types")
    assert not [name for name in names if f'id="refexplorer.{name}"' not in together
                and name not in modules]  # fmt: skip
    public = {name: attrgetter(name)(rx) for name in names}
    widgets = {
        name
        for name, each in public.items()
        if isinstance(each, type) and issubclass(each, DOMWidget)
    }
    assert not [name for name in widgets if f'id="refexplorer.{name}"' not in text["widgets"]]
    assert 'href="results.html#refexplorer.types.Report"' in text["referenceset"]
    members = {name for name in dir(rx.ReferenceSet) if name[0] != "_"} - {*dir(Mapping)}
    ids = {f"refexplorer.ReferenceSet.{name}" for name in members}
    assert not [name for name in ids if f'id="{name}"' not in text["referenceset"]]
    assert 'href="referenceset.html#refexplorer.ReferenceSet"' in text["functions"]


def test_the_site_has_every_notebook_and_reference_page_in_its_contents() -> None:
    contents = "\n".join(path.read_text() for path in DOCS.glob("*/index.md"))
    made = [f"notebooks/{path.stem}" for path in (ROOT / "notebooks").glob("*.ipynb")]
    made += [f"reference/{Path(name).stem}" for name in (*pages(), "DIAGNOSTICS.md")]
    assert not [name for name in made if f"/made/{name}\n" not in contents]


def test_the_gallery_shows_each_picture_that_is_made() -> None:
    shown = re.findall(r"!\[[^]]+\]\(([^)]+)\)", (DOCS / "gallery.md").read_text())
    here = {f"pictures/{path.name}" for path in (DOCS / "pictures").iterdir()}
    made = {f"made/notebooks/{path.name}" for path in (ROOT / "notebooks").glob("*.png")}
    assert set(shown) == here | made
    assert {f"pictures/{name}.png" for name, _, _ in SHOWN_IN_GALLERY} == here
    assert not [path for path in (DOCS / "pictures").iterdir() if path.stat().st_size > 150_000]


@pytest.mark.parametrize(
    "guide",
    [
        # this one decodes in processes of its own
        pytest.param(path, marks=pytest.mark.server if path.stem == "broken-chunk" else ())
        for path in PAGES
    ],
    ids=lambda path: f"{path.parent.name}/{path.stem}",
)
def test_what_the_site_shows_runs(
    guide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = guide.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|sh|toml)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    folder = demo.path("sst.v0.json").parent
    for target in (*folder.glob("sst_*.nc"), folder / "land.bin"):
        shutil.copy(target, tmp_path)
    shutil.copy(demo.path("sst.v0.json"), tmp_path / "set.json")
    shutil.copy(demo.path("broken.json"), tmp_path / "before.json")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for language, block in blocks:
        if language == "python":
            exec(compile(block, guide.name, "exec"), namespace)
            continue
        if language == "toml":  # its first line says which file it is
            Path(block.partition("\n")[0].removeprefix("# ")).write_text(block)
            continue
        for line in block.splitlines():
            ran = run(*shlex.split(line)[1:])
            # two sets that are compared differ, and so do readers
            assert ran.status == int(" diff " in line), ran.err
            assert ran.out or ran.err
