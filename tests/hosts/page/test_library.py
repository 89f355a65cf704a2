from __future__ import annotations

from pathlib import Path

import pytest

from refexplorer import demo
from refexplorer.core.errors import AccessError
from refexplorer.core.limits import DEFAULT_LIMITS
from refexplorer.hosts.page.library import Library
from refexplorer.verbs.opening import open_references


def test_every_shipped_set_opens_with_leave_to_read_its_targets() -> None:
    library = Library()
    assert library.offers
    for name in library.offers:
        references = library.open(name)
        assert references.source.location in library.grants(references)


def test_a_typed_path_is_refused_and_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "refs.json"
    path.write_text('{"a": "text"}')
    with pytest.raises(AccessError, match="refexplorer serve"):
        Library().open(str(path))


@pytest.mark.parametrize("name", ["refs.json", "store"])
def test_a_path_inside_an_allowed_folder_opens(tmp_path: Path, name: str) -> None:
    (tmp_path / "refs.json").write_text('{"a": "text"}')
    (tmp_path / "store").symlink_to(demo.path("sst.parq"))
    library = Library([str(tmp_path), str(demo.path("sst.parq"))])
    assert library.open(str(tmp_path / name)).count > 0


def test_allowing_a_folder_allows_no_way_out_of_it(tmp_path: Path) -> None:
    outside = tmp_path / "secret.json"
    outside.write_text('{"a": "text"}')
    inside = tmp_path / "open"
    inside.mkdir()
    (inside / "link.json").symlink_to(outside)
    library = Library([str(inside)])
    for path in (inside / "link.json", inside / ".." / "secret.json"):
        with pytest.raises(AccessError):
            library.open(str(path))


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/refs.json", "http://localhost/refs.json", "file:///etc/hostname"]
)
def test_urls_into_the_machine_are_refused(url: str) -> None:
    with pytest.raises(AccessError):
        Library().open(url)


def test_a_set_of_somebody_else_gets_only_what_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "refs.json").write_text('{"a": "text"}')
    library = Library([str(tmp_path)])
    references = library.open(str(tmp_path / "refs.json"))
    assert library.grants(references) == (str(tmp_path),)


def test_offers_show_no_folder_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text('{"a": "text"}')
    library = Library()
    library.offer(open_references(tmp_path / "mine.json"))
    assert next(iter(library.offers)) == "mine.json"
    shown = [*library.offers, *(offer.title for offer in library.offers.values())]
    assert not [text for text in shown if str(tmp_path) in text or text.startswith("/")]


def test_what_a_visitor_opens_costs_less_than_what_the_owner_opens(tmp_path: Path) -> None:
    (tmp_path / "refs.json").write_text('{"a": "text"}')
    opened = Library([str(tmp_path)]).open(str(tmp_path / "refs.json"))
    assert opened.limits.document_bytes < DEFAULT_LIMITS.document_bytes
