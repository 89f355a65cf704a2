"""What the rules say of VirtualiZarr is what VirtualiZarr does."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

import pytest
from packaging.version import Version

import refexplorer as rx
from refexplorer.spec.dialects.verdicts import Outcome
from tests.helpers.dialects import ARRAY, BASE, DROPPED, OBSERVED, REFUSED, SAME

translators = pytest.importorskip("virtualizarr.parsers.kerchunk.translator")

LATER: list[tuple[str, dict[str, Any], Outcome]] = [
    ("2.7", {"x/0.0": "data"}, SAME),
    ("2.7", {"x/0.0": "base64:!!BQAAAAYAAAA="}, SAME),
    ("2.8", {"x/.zarray": json.dumps({**ARRAY, "compressor": {"id": "zlib"}})}, SAME),
    ("2.8", {"x/0.0": ["s3://b/f", 0, 0]}, REFUSED),
]
"""From which version on something is read otherwise than the rules tell, which say so."""
STRUCTURED = [["a", "<i2"], ["b", "<i2"]]


def outcome(document: dict[str, Any]) -> Outcome:
    """Judge the arrays and byte ranges that it keeps by the specification's own expansion."""
    v0 = rx.expand(document).v0
    try:
        arrays = translators.manifestgroup_from_kerchunk_refs(document).arrays
    except Exception:  # each refusal is of another kind
        return Outcome.REFUSED
    kept = {
        f"{name}/{index}": (entry["path"].removeprefix("file://"), entry["offset"], entry["length"])
        for name, array in arrays.items()
        for index, entry in array.manifest.dict().items()
    }
    ranges = {key: tuple(value) for key, value in v0.items() if isinstance(value, list)}
    named = {key.removesuffix("/.zarray") for key in v0 if key.endswith("/.zarray")}
    if any(key in kept and kept[key] != value for key, value in ranges.items()):
        return Outcome.DIFFERENT
    return Outcome.SAME if ranges.keys() <= kept.keys() and named <= arrays.keys() else DROPPED


@pytest.mark.parametrize(("refs", "sections", "expected"), [case[:3] for case in OBSERVED])
def test_the_rule_is_what_it_does(
    refs: dict[str, Any], sections: dict[str, Any], expected: Outcome
) -> None:
    installed = Version(version("virtualizarr"))
    for since, changed, now in LATER:
        if changed == refs and installed >= Version(since):
            expected = now
    assert outcome({"version": 1, **sections, "refs": BASE | refs}) is expected


@pytest.mark.parametrize(
    ("dtype", "refused"),
    [
        ("<i2", False),
        ("|S3", False),
        ("<M8[ns]", False),
        ("<i2,<i4", False),
        (STRUCTURED, True),
        ([["a", "<i2", [2]]], True),
        ([], True),
        ("|O", True),
        ("<f16", True),
        ("|S0", True),
        ("none", True),
        (5, True),
    ],
)
def test_data_types(dtype: object, refused: bool) -> None:
    zarray = json.dumps({**ARRAY, "dtype": dtype, "fill_value": None})
    document = {"version": 1, "refs": BASE | {"x/.zarray": zarray}}
    assert rx.dialects(document)["VirtualiZarr"].outcome is (REFUSED if refused else SAME)
    if dtype == STRUCTURED and Version(version("virtualizarr")) >= Version("2.7.1"):
        refused = False
    assert (outcome(document) is Outcome.REFUSED) is refused
