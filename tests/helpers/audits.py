"""Sets with many chunks, tables of audits, and a cluster."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

import refexplorer as rx
from refexplorer.checks.engine import Manner, run
from refexplorer.checks.sorting import PlanSizes
from refexplorer.checks.targets_look import TargetsLook
from refexplorer.checks.terms import CheckTerms, ReadTerms
from refexplorer.refset.opened_set import internals
from tests.helpers.servers import RangeServer

ARRAY = {
    "zarr_format": 2, "shape": [40], "chunks": [4], "dtype": "|u1", "compressor": None,
    "filters": None, "order": "C", "fill_value": 0,
}  # fmt: skip
ROOT = {".zgroup": '{"zarr_format": 2}'}


def table(audit: rx.types.Report) -> pa.Table:
    found = pa.concat_tables(audit.tables(), promote_options="permissive")
    return found.replace_schema_metadata(None)


def rows(audit: rx.types.Report) -> dict[str, dict[str, Any]]:
    return {row["key"]: row for row in table(audit).to_pylist()}


def states(audit: rx.types.Report) -> dict[str, int]:
    """Count the references in each state."""
    return dict(Counter(table(audit)["state"].to_pylist()))


def files(report: rx.types.Report) -> dict[str, dict[str, Any]]:
    """Return the rows of files by the last part of their URLs."""
    rows = report.files().to_pylist()
    return {(row["target"] or "").rpartition("/")[2]: row for row in rows}


def many(server: RangeServer, count: int) -> rx.ReferenceSet:
    server.files = {f"/{n}": bytes(4) for n in range(count)}
    chunks = {f"x/{n}": [f"{server.url}/{n}", 0, 4] for n in range(count)}
    metadata = ARRAY | {"shape": [4 * count]}
    return rx.open_references(ROOT | {"x/.zarray": json.dumps(metadata)} | chunks)


SMALL = PlanSizes(part_cost=400, sorted_rows=7, batch_rows=2, interval_batches=2)
"""Has small sets take as many parts, runs and intervals as large ones do."""


def audit_in_parts(
    refs: rx.ReferenceSet,
    *,
    allow: Collection[str] = (),
    sizes: PlanSizes = SMALL,
    decode: int | str = "sample",
    **manner: Any,
) -> rx.types.Report:
    """`ReferenceSet.audit`, of parts that are small."""
    source, inside = refs.source, internals(refs)
    reading = ReadTerms(source.location, allow, refs.limits, refs.storage_options).of(source)
    look, how = TargetsLook(reading, decode), Manner(**manner, sizes=sizes)
    terms = CheckTerms.of_verb("audit")
    found = run(source.name, inside.opened, inside.findings, reading, terms, look, how)
    refs.audited = found
    return found


@contextmanager
def cluster_of(workers: int) -> Iterator[Any]:
    """Start worker processes; those that end are started again.

    They are forks of a process that has imported Dask, which takes a second in each otherwise.
    """
    import dask

    distributed: Any = pytest.importorskip("distributed")

    forked = {"distributed.worker.multiprocessing-method": "forkserver"}
    with warnings.catch_warnings(), dask.config.set(forked):
        warnings.simplefilter("ignore")  # what Dask does on its own account
        with distributed.LocalCluster(
            n_workers=workers,
            processes=True,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            silence_logs="CRITICAL",
        ) as cluster:
            yield cluster
