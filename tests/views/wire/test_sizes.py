"""What the explorer is told of sizes that are not known, or that no JSON number holds."""

from __future__ import annotations

from typing import Any

import pytest

import refexplorer as rx
from refexplorer.views.explorer.explorer_controller import ExplorerController
from tests.cases.sizes import LONGEST, PAST, QUARTERS, VARYING, VAST, WHOLE
from tests.helpers.explorer import Host, later


def answers(references: dict[str, Any]) -> tuple[Any, Any, Any]:
    """The bytes of the header, of the row of ``x`` and of its array."""
    controller = ExplorerController(rx.open_references(references))
    ((hello, _),) = controller.handle({"id": "1", "op": "hello"})
    ((rows, _),) = controller.handle({"id": "2", "op": "tree.rows", "start": 0, "n": 9})
    ((key, _),) = controller.handle({"id": "3", "op": "key.show", "path": "x"})
    (row,) = (row for row in rows["rows"] if row["path"] == "x")
    return hello["facts"]["bytes"], row["size"], key["item"]["array"]["bytes"]


def test_unknown_is_null() -> None:
    assert answers(VARYING) == (None, None, None)
    known, *unknown = answers(WHOLE)
    assert (known > 100, unknown) == (True, [None, None])


@pytest.mark.parametrize(("references", "size"), [(QUARTERS, 3 * LONGEST), (VAST, 10**22)])
def test_large_numbers_travel_as_text(references: dict[str, Any], size: int) -> None:
    metadata = len(references.get("refs", references)["x/.zarray"])
    assert answers(references) == (str(size + metadata),) * 3


def test_maps_keep_every_digit() -> None:
    message, _ = later(Host(PAST), "target.show", url="f.nc", window=None)
    ranges = {found["key"]: found for found in message["layout"]["shown"]}
    assert (ranges["x/0"]["offset"], ranges["x/2"]["length"]) == (str(LONGEST), str(LONGEST))


def test_chunks_without_a_reference_are_counted_exactly() -> None:
    host = Host({**VAST["refs"], "x/0.0": ["f.nc", 0, 4]})
    message, _ = later(host, "grid.show", array="x", axes=None, window=None)
    assert message["map"]["counts"][0] == str(10**20 - 1)
