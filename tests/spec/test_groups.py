"""Many findings of one kind are shown as one, with their first places."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

import refexplorer as rx
from refexplorer.hosts.cli import load_app
from refexplorer.spec.findings import TOGETHER, grouped

ARRAY = json.dumps(
    {
        "zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i4", "compressor": None,
        "filters": None, "order": "C", "fill_value": None,
    }
)  # fmt: skip
NAMES = '{"_ARRAY_DIMENSIONS": ["x"]}'


def document(arrays: int) -> dict[str, str]:
    """Arrays of which no chunk has a reference."""
    names = [f"v{number}" for number in range(arrays)]
    return {f"{name}/{key}": text for name in names
            for key, text in ((".zarray", ARRAY), (".zattrs", NAMES))}  # fmt: skip


def test_groups_count_all_findings_of_a_diagnostic() -> None:
    (group,) = grouped(rx.open_references(document(54)).diagnostics)
    assert (group.code, group.count, group.is_long) == ("array-without-references", 54, True)
    (few,) = grouped(rx.open_references(document(TOGETHER - 1)).diagnostics)
    assert not few.is_long


def test_the_command_line_lists_the_first_of_many(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    path.write_text(json.dumps(document(10)))
    short = CliRunner().invoke(load_app(), ["check", str(path)]).stdout.splitlines()
    (first,) = (at for at, line in enumerate(short) if "array-without-references, 10 times" in line)
    assert '"v0/.zarray": ' in short[first + 1]
    assert "line 1:" not in short[first + 3]
    shown = [line for line in short if '.zarray": ' in line]
    assert short[first + 1 + len(shown)].strip() == f"… {10 - len(shown)} more"
    every = CliRunner().invoke(load_app(), ["check", "--all", str(path)]).stdout.splitlines()
    assert sum("warning array-without-references at" in line for line in every) == 10


def test_a_notebook_folds_many_into_one() -> None:
    html = rx.open_references(document(10))._repr_html_()
    assert html.count("array-without-references, 10 times") == 1
