"""Whatever references a set holds, what is written of it reads back to the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import refexplorer as rx
from tests.helpers.strategies import texts, values

sets = st.dictionaries(texts, values, max_size=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("written")


@given(sets)
def test_json(folder: Path, references: dict[str, Any]) -> None:
    refs = rx.open_references(references)
    refs.to_json(folder / "set.json")
    assert dict(rx.open_references(folder / "set.json")) == dict(refs)


@given(sets, st.sampled_from(["V0", "V1"]), st.booleans())
def test_converted(folder: Path, references: dict[str, Any], form: str, objects: bool) -> None:
    refs = rx.open_references(references)
    how = rx.Conversion(form=form, objects=objects, overwrite=True)
    assert rx.convert(refs, folder / "set.json.zst", how) == refs.count
    again = rx.open_references(folder / "set.json.zst")
    assert again.source.form == form
    assert not rx.diff(refs, again)


@given(sets, sets)
def test_differences(before: dict[str, Any], after: dict[str, Any]) -> None:
    sides = [rx.open_references(side) for side in (before, after)]
    found = rx.diff(*sides)
    forward = {row.key for row in found.rows()}
    assert {row.key for row in rx.diff(*reversed(sides)).rows()} == forward
    assert forward == {
        key
        for key in sides[0].keys() | sides[1].keys()
        if _meaning(sides[0].get(key)) != _meaning(sides[1].get(key))
    }


def _meaning(reference: rx.types.Reference | None) -> object:
    return reference.data if isinstance(reference, rx.types.Inline | rx.types.Base64) else reference
