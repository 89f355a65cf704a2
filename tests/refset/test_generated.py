"""Columns of very many generated keys are what the keys are one by one."""

from __future__ import annotations

import pytest

import refexplorer as rx
from refexplorer.refset.generated import generated_tables
from refexplorer.refset.segments import Generated


@pytest.mark.parametrize("start", [-3, 7, 998, 123_456])
@pytest.mark.parametrize("pattern", ["%d", "%02d", "%04d", "%5d"])
@pytest.mark.parametrize("offset", ["{{i * i}}", "{{(i - MIDDLE) * (i - MIDDLE) - 9}}"])
def test_columns_of_one_long_dimension(pattern: str, start: int, offset: str) -> None:
    item = {
        "key": f"é/{{{{'{pattern}' % i}}}}.0", "url": "s3://b/f_{{i // 2}}.nc",
        "length": "{{i * i}}", "offset": offset.replace("MIDDLE", str(start + 2500)),
        "dimensions": {"i": {"start": start, "stop": start + 5000}},
    }  # fmt: skip
    (part,) = rx.open_references({"version": 1, "gen": [item]}).opened.segments
    assert isinstance(part, Generated)
    one_by_one = [(part.key_at(row), part.reference_at(row)) for row in range(5000)]
    expected = [(key, reference) for key, reference in one_by_one if reference is not None]
    found = [entry for table in generated_tables(part) for entry in table.iterate()]
    assert found == expected
    assert [key for run in part.runs() for key in run.keys] == [key for key, _ in expected]
