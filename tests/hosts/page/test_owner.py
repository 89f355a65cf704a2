"""The owner of a page may open any set of the machine; nobody else, and no address alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine

from refexplorer.core.errors import AccessError
from refexplorer.hosts.page.library import Library
from refexplorer.hosts.page.page import ServedPage
from refexplorer.hosts.page.server import Owner
from refexplorer.views.explorer.explorer_controller import ExplorerController
from tests.helpers.visiting import choose, go

PORT = 5006
ORIGINS = (f"127.0.0.1:{PORT}", "data.example.org")


@pytest.fixture
def owner() -> Owner:
    return Owner(PORT, ORIGINS)


def request(query: str = "", cookie: str = "", host: str = ORIGINS[0]) -> HTTPServerRequest:
    headers = HTTPHeaders({"Host": host} | ({"Cookie": cookie} if cookie else {}))
    line = RequestStartLine("GET", f"/?{query}", "HTTP/1.1")
    return HTTPServerRequest(headers=headers, start_line=line)


def test_the_secret_proves_the_owner_in_the_address_and_in_a_cookie(owner: Owner) -> None:
    query = owner.address("http://127.0.0.1:5006/").partition("?")[2]
    secret = query.partition("=")[2]
    assert len(secret) >= 32
    assert owner.is_asking(request(query))
    assert owner.is_asking(request(cookie=f"{owner.cookie}={secret}"))
    assert owner.is_asking(request(query, host=ORIGINS[1]))
    assert not owner.is_asking(request())
    assert not owner.is_asking(request(query[:-1]))
    assert not owner.is_asking(request("token=%FF%FE"))
    assert not owner.is_asking(request(cookie=f"refexplorer-1={secret}"))


def test_a_page_that_is_reached_by_a_foreign_name_has_no_owner(owner: Owner) -> None:
    """A name of somebody else's that resolves to 127.0.0.1 is how a web page reaches it."""
    query = owner.address("").partition("?")[2]
    assert not owner.is_asking(request(query, host=f"evil.example.org:{PORT}"))
    assert not owner.is_asking(request(query, host=""))


def set_at(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "data.bin").write_bytes(b"ab")
    path = folder / "set.json"
    path.write_text(json.dumps({".zgroup": '{"zarr_format": 2}', "a": ["data.bin", 0, 2]}))
    return path


def test_the_owner_opens_a_path_by_typing_it_and_a_visitor_does_not(tmp_path: Path) -> None:
    path, other = set_at(tmp_path / "mine"), set_at(tmp_path / "other")
    library = Library()
    mine, theirs = ServedPage(library, is_owner=True), ServedPage(library)
    choose(theirs, str(path))
    assert "not opened on this page" in theirs._frame.problem
    choose(mine, str(path))
    assert (mine._frame.title, mine._frame.problem) == ("set.json", "")
    assert mine._explorer is not None
    controller = mine._explorer._controller
    assert isinstance(controller, ExplorerController)
    assert controller.policy.allowed(str(path.parent / "data.bin"))
    choose(theirs, str(path))
    assert "not opened on this page" in theirs._frame.problem  # what the owner allowed is theirs
    with pytest.raises(Exception, match="not"):
        controller.policy.allowed(str(other.parent / "data.bin"))
    mine.close()
    theirs.close()


def test_an_address_alone_opens_no_path(tmp_path: Path) -> None:
    path = set_at(tmp_path / "mine")
    mine = ServedPage(Library(), is_owner=True)
    go(mine, f"source={path}", 1)
    assert (mine._frame.title, mine._frame.typed) == ("", str(path))
    assert "open it here" in mine._frame.problem
    choose(mine, str(path))
    assert mine._frame.title == "set.json"
    go(mine, f"source={path}&key=a", 2)  # allowed by now
    assert mine._frame.problem == ""
    mine.close()


def test_the_owner_compares_with_a_path_by_typing_it(tmp_path: Path) -> None:
    path, other = set_at(tmp_path / "mine"), set_at(tmp_path / "other")
    mine = ServedPage(Library(), is_owner=True)
    choose(mine, str(path))
    assert mine._explorer is not None
    controller = mine._explorer._controller
    assert isinstance(controller, ExplorerController)
    sets = controller.comparison.sets
    assert sets is not None
    with pytest.raises(AccessError, match="not opened on this page"):
        sets.open(str(other), lambda done, size: None, lambda: True)
    sets.consent(str(other))
    assert len(sets.open(str(other), lambda done, size: None, lambda: True)) == 2
    mine.close()
