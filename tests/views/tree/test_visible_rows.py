from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

import refexplorer as rx
from refexplorer.views.health.health import ChunkHealth
from refexplorer.views.tree.rows import AllKeys, TroubleKeys, VisibleTree
from refexplorer.views.wire.context import FailureLog
from tests.helpers.sets import GEN


def brute(refs: rx.ReferenceSet, is_open: set[str], path: str = "") -> Iterator[str]:
    for node in refs.children(path).rows:
        yield node.path
        if node.path in is_open:
            yield from brute(refs, is_open, node.path)


@pytest.fixture(scope="module")
def refs() -> rx.ReferenceSet:
    keys = [f"{a}/{b}/{c}" for a in "abc" for b in range(7) for c in range(5)] + ["top", "a/x"]
    return rx.open_references(dict.fromkeys(keys, "text"))


def test_windows_agree_with_a_walk(refs: rx.ReferenceSet) -> None:
    chance = random.Random(7)
    folders = [*"abc", *(f"{a}/{b}" for a in "abc" for b in range(7))]
    tree, is_open = VisibleTree(AllKeys(refs)), set[str]()
    for _ in range(120):
        path, opening = chance.choice(folders), chance.random() < 0.6
        index = tree.toggle(path, opening)
        parent = path.rpartition("/")[0]
        if parent:
            is_open.add(parent)
        if opening:
            is_open.add(path)
        else:
            is_open -= {each for each in is_open if f"{each}/".startswith(f"{path}/")}
        walked = list(brute(refs, is_open))
        assert tree.total == len(walked)
        assert walked[index] == path
        start = chance.randrange(len(walked))
        rows = tree.window(start, 13)
        assert [row.path for row in rows] == walked[start : start + 13]
        for row in rows:
            assert row.depth == row.path.count("/")
            assert row.open == (row.path in is_open)
            siblings = [node.path for node in refs.children(row.path.rpartition("/")[0]).rows]
            assert (row.position, row.siblings) == (siblings.index(row.path) + 1, len(siblings))


def test_revealing_opens_what_is_above(refs: rx.ReferenceSet) -> None:
    tree = VisibleTree(AllKeys(refs))
    index = tree.reveal("b/3/4")
    assert tree.window(index, 1)[0].path == "b/3/4"
    assert tree.reveal("b/3/nothing") == -1
    assert tree.index("c/1") == -1


def test_a_trillion_children_are_arithmetic() -> None:
    tree = VisibleTree(
        AllKeys(rx.open_references({"version": 1, "gen": [GEN], "refs": {"z": "after"}}))
    )
    tree.toggle("v", True)
    assert tree.total == 10**12 + 2
    rows = tree.window(5 * 10**11 + 7, 3)
    assert [row.path for row in rows] == [f"v/500000.{j}" for j in (6, 7, 8)]
    assert tree.reveal("v/999999.999999") == 10**12
    assert tree.window(10**12 + 1, 5)[0].path == "z"


def test_what_is_not_there_and_what_cannot_open(refs: rx.ReferenceSet) -> None:
    tree = VisibleTree(AllKeys(refs))
    assert tree.toggle("nothing", True) == -1
    before = tree.total
    tree.toggle("top", True)
    assert tree.total == before
    assert tree.window(before, 10) == []
    assert VisibleTree(AllKeys(rx.open_references({}))).window(0, 10) == []


@pytest.mark.parametrize("trouble", [False, True])
def test_the_root_has_no_row(refs: rx.ReferenceSet, trouble: bool) -> None:
    tree = VisibleTree(AllKeys(refs))
    if trouble:
        tree.show(TroubleKeys(refs, ChunkHealth(refs, FailureLog())))
    before = tree.total
    assert [tree.reveal(""), tree.toggle("", True), tree.toggle("", False)] == [-1, -1, -1]
    assert tree.total == before


def test_keys_with_very_many_slashes() -> None:
    key = "/".join("a" * 500)
    tree = VisibleTree(
        AllKeys(rx.open_references({key: "deep", "a//b": "empty name", "/c": "slash first"}))
    )
    for path in (key, "a//b", "/c"):
        index = tree.reveal(path)
        assert tree.window(index, 1)[0].path == path
