"""The maps show what the last audit of the set found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.io.access import AccessPolicy
from refexplorer.io.fetch.targets import Targets
from refexplorer.views.maps.chunk_map import ChunkMap
from refexplorer.views.maps.target_map import TargetMapView
from refexplorer.views.wire.context import Comparison, FailureLog, ViewContext
from refexplorer.views.wire.jobs import unheard
from tests.helpers.audits import audit_in_parts


@pytest.fixture
def refs(demo: Path) -> rx.ReferenceSet:
    return rx.open_references(demo / "broken.json")


def targets_of(refs: rx.ReferenceSet) -> Targets:
    return Targets(AccessPolicy(), None, refs.limits)


def counts(chunk_map: ChunkMap) -> dict[str, int]:
    grid, buffers = chunk_map.show(unheard, "sst")
    assert grid is not None
    cells = np.frombuffer(buffers[0]).reshape(len(grid.states), -1)
    assert cells.sum(axis=1).tolist() == list(grid.counts)
    return {name: n for name, n in zip(grid.states, grid.counts, strict=True) if n}


def test_chunks_in_which_an_audit_found_faults_are_failed(refs: rx.ReferenceSet) -> None:
    failure_log = FailureLog()
    chunk_map = ChunkMap(ViewContext(refs, targets_of(refs), Comparison(refs), failure_log))
    assert counts(chunk_map) == {"absent": 1, "range": 13, "failed": 4}
    refs.audit(decode="all")
    assert counts(chunk_map) == {"absent": 1, "range": 10, "failed": 7}
    failure_log.note("sst", (1, 0, 0), "it was read, too", is_read=False)
    assert counts(chunk_map) == {"absent": 1, "range": 10, "failed": 7}
    refs.audit(decode="none")
    assert counts(chunk_map) == {"absent": 1, "range": 11, "failed": 6}


def test_targets_have_the_states_of_an_audit(refs: rx.ReferenceSet) -> None:
    target_map = TargetMapView(ViewContext(refs, targets_of(refs), Comparison(refs)))
    audit = audit_in_parts(refs, decode="all")  # a target has several parts
    rows = target_map.rows(unheard, 0, 10).rows
    assert {row.url: row.state for row in rows} == {
        "sst_2025-07.nc": "damaged", "sst_2025-08.nc": "good", "sst_2025-09.nc": "good",
        "sst_2025-10.nc": "unreachable", "land.bin": "good",
    }  # fmt: skip
    table = {row["target"]: row for row in audit.files().to_pylist()}
    assert {url: row["references"] for url, row in table.items()} == {
        row.url: row.ranges + row.whole for row in rows
    }
    assert table["land.bin"]["size"] == 18_432


def test_a_set_without_targets_has_none_in_its_audit() -> None:
    assert rx.open_references({".zgroup": "{}"}).audit().files().num_rows == 0
