"""V0 written out key by key, without the columns and arithmetic of an opened set."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from refexplorer.spec.document import read_document
from refexplorer.spec.gen.item import BadField
from refexplorer.spec.references import V0Value


def expanded(source: Any, templates: Mapping[str, str] | None = None) -> dict[str, V0Value]:
    """Return the V0 of a parsed document, each template rendered separately for each key."""
    document = read_document(source, templates)
    v0 = {key: reference.to_v0() for key, reference in document.entries()}
    for item in document.gen:
        for values in map(item.grid.at, range(item.grid.count)):
            with suppress(BadField):
                v0[item.rendered("key", values)] = item.reference(values).to_v0()
    return v0
