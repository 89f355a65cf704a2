"""Verdicts of other readers about a set, by rule and with the reason; none of them is run.

The rules are those of the readers' sources, named in each module. Text of a file is never
rendered by the readers' own means: formats are parsed, templates go through the whitelist of
`refexplorer.spec.templates`, and what that does not know is told as unknown.

A reader has a module (`fsspec`, `gdal`, `duckdb`, `javascript`, `julia`, `virtualizarr`), and its
rules tell what they rest on; `survey` is the document as they meet it, `judging` adds up their
verdicts. Begin with `judging`.
"""

from __future__ import annotations

from collections.abc import Mapping

from refexplorer.markup import counted
from refexplorer.spec.dialects.duckdb import DuckdbZarr
from refexplorer.spec.dialects.fsspec import FsspecDefault, FsspecJinja
from refexplorer.spec.dialects.gdal import Gdal
from refexplorer.spec.dialects.javascript import JavaScript
from refexplorer.spec.dialects.judging import ReaderRules
from refexplorer.spec.dialects.julia import KerchunkJl
from refexplorer.spec.dialects.rendition import Rendition
from refexplorer.spec.dialects.survey import Survey
from refexplorer.spec.dialects.verdicts import (
    Basis,
    Dialects,
    KeyDifference,
    Outcome,
    State,
    Verdict,
    VerdictReason,
)
from refexplorer.spec.dialects.virtualizarr import VirtualiZarr
from refexplorer.spec.document.model import Document

__all__ = [
    "Basis",
    "Dialects",
    "KeyDifference",
    "Outcome",
    "Rendition",
    "State",
    "Verdict",
    "VerdictReason",
    "dialects_of",
    "renditions_of",
]

SPECIFICATION = "the specification"
# zarr-java is none of them: it has no store for references (0.2.0, fcd9649; read 2026-11-23)
READERS: tuple[ReaderRules, ...] = (
    FsspecDefault(),
    FsspecJinja(),
    VirtualiZarr(),
    JavaScript(),
    KerchunkJl(),
    Gdal(),
    DuckdbZarr(),
)


def dialects_of(document: Document, written: Mapping[str, object]) -> Dialects:
    """Return the verdicts of the specification and of each reader on a document.

    Parameters
    ----------
    document
        As `read_document` read it; ``gen`` is not written out, and entries that are written
        alike are judged once.
    written
        The JSON object that it was read from: readers also read what the specification refuses.
    """
    survey = Survey(document, written)
    verdicts = (reader.judge(survey) for reader in READERS)
    return Dialects((_specification(survey), *verdicts))


def renditions_of(document: Document, written: Mapping[str, object]) -> dict[str, Rendition]:
    """Return single keys as each reader has them, by its name; parameters as `dialects_of`."""
    survey = Survey(document, written)
    return {reader.name: Rendition(reader, survey) for reader in READERS}


def _specification(survey: Survey) -> Verdict:
    refused = [g for g in survey.groups if survey.ours(g, g.samples[0][1]) is None]
    reasons = [VerdictReason(f"The set has {counted(survey.count, 'key')}.")]
    if refused:
        count = sum(group.count for group in refused)
        reasons.append(VerdictReason("Entries that break a rule are rejected.", count))
    missing = sum(item.read is None for item in survey.items)
    if missing:
        reasons.append(
            VerdictReason(f"{missing:,} of {len(survey.items):,} gen items are rejected.")
        )
    return Verdict(SPECIFICATION, Outcome.SAME, tuple(reasons))
