"""Whatever JSON it is given, the engine reads it or refuses it in one sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import refexplorer as rx
from tests.helpers.expanding import expanded

SECTIONS = ["version", "refs", "templates", "gen", "key", "url", "offset", "length", "dimensions"]
NAMES = ["i", "u", "stop", "start", "step", "x/0", ".zarray", "x/.zarray", "shape", "chunks"]
TEXTS = ["base64:", "base64:aGk=", "{{u}}", "{{", "http://h", "1", "{{i}}", "x/{{i}}", "f", ""]

names = st.sampled_from([*SECTIONS, *NAMES]) | st.text(max_size=3)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(0, 5)
    | st.floats()
    | st.sampled_from(TEXTS)
    | st.text(max_size=4)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=20,
)
items = st.fixed_dictionaries(
    {
        "key": st.sampled_from(["x/{{i}}", "x", "{{u}}{{i}}"]) | values,
        "url": st.sampled_from(["http://{{u}}/{{i}}", "{{u(c=i)}}"]) | values,
        "dimensions": st.dictionaries(names, values | st.lists(st.integers(0, 4)), max_size=2),
    },
    optional={"offset": values, "length": values},
)

documents = st.one_of(
    values,
    st.fixed_dictionaries(
        {"version": st.sampled_from([1, 1, 1, 2, "1"])},
        optional={
            "refs": st.dictionaries(names, values, max_size=4) | values,
            "templates": st.dictionaries(names, scalars, max_size=2) | values,
            "gen": st.lists(items | values, max_size=2) | values,
        },
    ),
)


def read(document: Any) -> rx.RefexplorerError | None:
    """Read a document in every way; return the refusal."""
    try:
        assert rx.expand(document).v0 is not None
        refs = rx.open_references(document)
    except rx.RefexplorerError as refusal:
        return refusal
    if isinstance(document, list):  # several sets, each a group
        v0 = refs.to_v0()
    else:
        v0 = expanded(document if isinstance(document, Mapping) else json.loads(document))
    assert refs.to_v0() == v0
    assert {key: refs[key].to_v0() for key in v0} == v0
    assert len(refs) == len(v0)
    assert str(refs)
    assert refs._repr_html_()
    assert all(refs.explain(key).reference == refs[key] for key in v0)
    assert all(str(found) for found in refs.diagnostics)
    return None


@given(documents)
def test_any_json_value_is_read_or_refused_in_one_sentence(document: Any) -> None:
    refusal = read(document)
    as_text = read(json.dumps(document))
    for found in (refusal, as_text):
        assert found is None or (str(found) and "\n" not in str(found))


@given(st.text(max_size=20) | st.binary(max_size=20))
def test_any_text_or_bytes_are_read_or_refused_in_one_sentence(source: str | bytes) -> None:
    try:
        rx.expand(source)
    except rx.RefexplorerError as refusal:
        said = str(refusal)
    else:
        said = "read"
    assert said
    assert "\n" not in said
