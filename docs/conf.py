"""Sphinx: ``sphinx-build -W docs docs/_build/html``, offline.

Notebooks are copied to `made`, and the pages that are made of the code (reference, Python) written
there.
"""

from __future__ import annotations

import inspect
import shutil
import sys
import tomllib
from operator import attrgetter
from pathlib import Path
from textwrap import indent
from typing import Any
from urllib.parse import urlsplit

import refexplorer as rx
from refexplorer import demo

_DOCS = Path(__file__).parent
_ROOT = _DOCS.parent
_MADE = _DOCS / "made"
sys.path.insert(0, str(_ROOT))  # for `tests`, whose cases the pages show

from refexplorer.hosts.notebook.widgets import ReferencesWidget, StaticWidget  # noqa: E402
from tests.docs.reference import DIAGNOSTICS, pages  # noqa: E402
from tests.docs.snippets import SNIPPETS  # noqa: E402

project = "refexplorer"
author = "the refexplorer developers"
copyright = f"2026, {author}"  # noqa: A001  # Sphinx looks for the name
version = release = rx.__version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_nb"]
exclude_patterns = ["_build"]
templates_path: list[str] = []
html_theme = "pydata_sphinx_theme"
html_title = f"refexplorer {release}"  # on each page
html_static_path = ["made/static"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "navbar_persistent": [],
    "navbar_end": ["search-button", "theme-switcher"],
    "secondary_sidebar_items": ["page-toc", "edit-this-page"],
    "use_edit_page_button": True,
    "footer_end": [],
}
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_SOURCE = _PROJECT["urls"]["Source"]
html_context = {
    "edit_page_provider_name": "GitHub",
    "edit_page_url_template": _SOURCE + "/edit/main/{{ made.get(file_name, 'docs/' + file_name) }}",
}
default_role = "py:obj"  # a name in a docstring leads to what it names
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True}
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
nb_execution_mode = "off"
# no page asks a CDN: no notebook here has widgets that would need these, or formulas
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
myst_heading_anchors = 3
myst_links_external_new_tab = False
# napoleon refers to each attribute by its name alone, and several classes have `keys`
suppress_warnings = ["ref.python"]


def _make() -> None:
    """Bring to `made` what is written elsewhere, and keep where each page can be edited."""
    shutil.rmtree(_MADE, ignore_errors=True)
    for name in ("notebooks", "reference", "api"):
        (_MADE / name).mkdir(parents=True)
    for path in (_ROOT / "notebooks").iterdir():
        if path.suffix in (".ipynb", ".png", ".svg"):
            shutil.copy(path, _MADE / "notebooks")
    shutil.copy(DIAGNOSTICS, _MADE / "reference")
    for name, text in pages().items():
        (_MADE / "reference" / name).write_text(text, encoding="utf-8")
    live = _MADE / "static" / "live"
    live.mkdir(parents=True)
    example = demo.path("spec.v1.json").read_text(encoding="utf-8")
    rx.TemplateEditor(example).to_html(live / "spec.html", name="The specification's own example")
    for name, text in _api().items():
        (_MADE / "api" / f"{name}.md").write_text(text, encoding="utf-8")


def _api() -> dict[str, str]:
    """Return the pages of the Python face, by their names."""
    values = {name: getattr(rx, name) for name in rx.__all__ if name not in ("errors", "types")}
    values |= {f"errors.{name}": getattr(rx.errors, name) for name in rx.errors.__all__}
    values |= {f"types.{name}": getattr(rx.types, name) for name in rx.types.__all__}
    classes = {name: each for name, each in values.items() if inspect.isclass(each)}
    shown = [name for name, each in classes.items() if issubclass(each, StaticWidget)]
    shown.sort(key=lambda name: (not issubclass(values[name], ReferencesWidget), *_place(name)))
    widgets = ["explore", *shown]
    rest = [name for name in sorted(values, key=str.lower) if name not in widgets]
    errors = [name for name in rest if name.endswith(("Error", "Warning"))]
    functions = [name for name in rest if inspect.isfunction(values[name])]
    results = [name for name in rest if name not in (*errors, *functions, "ReferenceSet")]
    return {
        "functions": _page("Functions", functions),
        "referenceset": _page("ReferenceSet", ["ReferenceSet"]),
        "widgets": _page("Widgets", widgets),
        "results": _page("What functions take and return", results),
        "errors": _page("Errors and warnings", errors),
    }


def _value(name: str) -> Any:
    return attrgetter(name)(rx)


def _place(name: str) -> tuple[str, int]:
    """Return where a class is written."""
    return _value(name).__module__, inspect.getsourcelines(_value(name))[1]


def _page(title: str, names: list[str]) -> str:
    lines = [f"# {title}", "", "```python", SNIPPETS[""], "```", ""]
    lines += ["```{eval-rst}", ".. currentmodule:: refexplorer", ""]
    for name in names:
        value = _value(name)
        if inspect.isclass(value):
            kind = "autoexception" if issubclass(value, BaseException) else "autoclass"
        else:
            kind = "autofunction" if callable(value) else "autodata"
        lines += [f".. {kind}:: refexplorer.{name}"]
        lines += ["   :inherited-members: Mapping", ""] if name == "ReferenceSet" else [""]
        if name in SNIPPETS:
            lines += ["   .. code-block:: python", "", indent(SNIPPETS[name], "      "), ""]
    return "\n".join([*lines, "```", ""])


def _of_types(app: Any, env: Any, node: Any, shown: Any) -> Any:
    """Return a link from the bare name of a class of results, as annotations have it."""
    name = node.get("reftarget", "").rpartition(".")[2]
    if node.get("refdomain") != "py" or name not in (*rx.types.__all__, *rx.errors.__all__):
        return None
    full = f"refexplorer.{'types' if name in rx.types.__all__ else 'errors'}.{name}"
    domain = env.get_domain("py")
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", full, node, shown)


def _edited() -> dict[str, str]:
    """Return the file to edit for each page in `made`."""
    notebooks = {path.name: f"notebooks/{path.name}" for path in (_MADE / "notebooks").iterdir()}
    return {
        **{f"made/notebooks/{name}": path for name, path in notebooks.items()},
        **{
            f"made/api/{path.name}": "refexplorer/__init__.pyi"
            for path in (_MADE / "api").iterdir()
        },
        **{f"made/reference/{name}": "tests/docs/reference.py" for name in pages()},
        "made/reference/CLI.md": "refexplorer/hosts/cli/examples.txt",
        "made/reference/SPECIFICATION.md": "refexplorer/spec/rules.toml",
        "made/reference/DIAGNOSTICS.md": "refexplorer/spec/codes.toml",
    }


def setup(app: Any) -> None:
    """Let Sphinx put the owner of the repository into the pages, which `pyproject.toml` names."""
    owner = urlsplit(_SOURCE).path.split("/")[1]

    def fill(_app: Any, _name: str, text: list[str]) -> None:
        text[0] = text[0].replace("OWNER", owner)

    app.connect("source-read", fill)
    app.connect("missing-reference", _of_types)


_make()
html_context["made"] = _edited()
