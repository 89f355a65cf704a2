"""Forms under their own names, and the columns that they give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import refexplorer as rx
from refexplorer.core.limits import Limits
from refexplorer.formats.columns.table import Entries, EntriesBuilder
from refexplorer.formats.documents import read_long, read_whole
from refexplorer.formats.forms import FORMS, LAST
from refexplorer.formats.source import Source
from refexplorer.spec.findings import Findings
from refexplorer.verbs.opening import set_of


def test_forms_have_names_of_their_own() -> None:
    names = [form.name for form in (*FORMS, LAST)]
    assert len(set(names)) == len(names)
    assert {"VirtualiZarr", "Icechunk", "parquet"} < set(names)
    assert names[-1] == "JSON"


def entries_of(builder: EntriesBuilder) -> rx.ReferenceSet:
    source = Source("made", "made", entries=builder.finish())
    return set_of(source, Limits())


def test_references_in_columns_are_checked_as_those_of_json() -> None:
    builder = EntriesBuilder()
    builder.add_ranges(["x/0", "x/1"], ["s3://b/f", "s3://b/f"], [2**63, 5], [4, 2**64 - 1])
    builder.add_values({"bad": ["s3://b/f", 1], "t": "{{u}}", "none": [None, 0, 5]})
    urls = pa.array(["s3://b/g", "s3://b/{{u}}"])
    columns = np.array([7, 8]), np.array([9, 10])
    builder.add_ranges(["x/1", "k" * 70_000], urls, *columns, {})
    builder.add_ranges(["y/0", "y/1"], ["", "s3://b/h"], [0, 1], [0, 2], {0: "base64:aGk="})
    refs = entries_of(builder)
    assert refs.to_v0() == {
        "x/1": ["s3://b/g", 7, 9],
        "t": "{{u}}",
        "none": [None, 0, 5],
        "y/0": "base64:aGk=",
        "y/1": ["s3://b/h", 1, 2],
    }
    codes = {found.code for found in refs.diagnostics}
    assert {"bad-ref-shape", "duplicate-key", "key-too-long"} <= codes
    assert refs.source.form == "made"
    assert refs.source.entries is None


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ((["a"], ["u", "v"], [1], [2]), "must have the same length"),
        ((["a"], ["u"], [-1], [2]), "offsets contain a negative number"),
        ((["a"], ["u"], [1], [-(2**70)]), "lengths contain a negative number"),
        ((["a"], ["u"], np.array([-1]), [2]), "offsets contain a negative number"),
        ((["a"], ["u"], np.array([1.0]), [2]), "offsets are not whole numbers"),
        ((["a"], ["u"], [1.5], [2]), "offsets are not whole numbers"),
        ((["a"], ["u"], [2**64], [2]), "offsets are not whole numbers"),
        ((["a"], ["u"], [[1]], [2]), "offsets are not whole numbers"),
        ((["a"], pa.array([None], pa.string()), [1], [2]), "urls contain a null"),
        ((["\ud800"], ["u"], [1], [2]), "surrogates"),
    ],
)
def test_columns_that_no_reference_has_are_refused(columns: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        EntriesBuilder().add_ranges(*columns)


def test_columns_read_whole_are_the_same_document() -> None:
    builder = EntriesBuilder()
    builder.add_ranges(["x/0", "x/1"], ["u", "v"], [0, 2**61], [1, 1])
    builder.add_values({".zgroup": "{}"})
    source = Source("made", "made", entries=builder.finish())
    written, document = read_whole(source, None, Limits(), Findings())
    assert written == {"x/0": ["u", 0, 1], "x/1": ["v", 2**61, 1], ".zgroup": "{}"}
    assert dict(document.entries()).keys() == written.keys()
    long = read_long(source, None, Limits(), Findings(), None)
    assert long is not None
    assert isinstance(long[1], Entries)


def test_no_columns_are_an_empty_set() -> None:
    assert len(entries_of(EntriesBuilder())) == 0
