"""The lint rules of the specification, asked of columns: only odd rows reach Python."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from refexplorer.formats.buffers.arrow import flags_of, numbers_of, text_column
from refexplorer.refset.columns.table import Table
from refexplorer.refset.lint.absent_rules import lint_absent
from refexplorer.refset.lint.chunk_rules import lint_chunks
from refexplorer.refset.lint.gen_rules import lint_generated
from refexplorer.refset.lint.grid_rules import lint_arrays
from refexplorer.refset.lint.group_rules import lint_groups
from refexplorer.refset.lint.metadata_rules import lint_metadata
from refexplorer.refset.lint.neighbour_rules import lint_neighbours
from refexplorer.refset.lint.range_rules import lint_ranges
from refexplorer.refset.lint.url_rules import lint_urls
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.spec.core.diagnostics import Findings, pointer
from refexplorer.spec.core.portability import LONGEST_SEGMENT
from refexplorer.spec.document.expansion import note_all
from refexplorer.spec.document.lint_rules import ALIKE, ODD_KEY, remarks_on_key


def lint(opened: OpenedSet, version: int, base: str, findings: Findings) -> None:
    """Note what is odd about a set as a whole.

    Parameters
    ----------
    version
        0 or 1; templates mean nothing in V0.
    base
        What the pointer of a key starts with.
    """
    _lint_keys(opened.table, version, base, findings)
    _lint_folders(opened, base, findings)
    lint_metadata(opened, base, findings)
    lint_urls(opened, version, base, findings)
    lint_neighbours(opened, base, findings)
    lint_groups(opened, base, findings)
    lint_absent(opened, base, findings)
    lint_arrays(opened, base, findings)
    lint_generated(opened, findings)
    lint_chunks(opened, base, findings)
    lint_ranges(opened, base, findings)


def _odd_keys(table: Table) -> list[int]:
    odd = flags_of(pc.match_substring_regex(table.keys, ODD_KEY))
    long = numbers_of(pc.binary_length(table.keys)) > LONGEST_SEGMENT
    rows: list[int] = np.flatnonzero(odd | long).tolist()
    return rows


def _lint_keys(table: Table, version: int, base: str, findings: Findings) -> None:
    for row in _odd_keys(table):
        key = table.key_at(row)
        for remark in remarks_on_key(key, version):
            alike = remark.code in ALIKE
            note_all([remark], findings, base + pointer(key), key, together=alike)


def _lint_folders(opened: OpenedSet, base: str, findings: Findings) -> None:
    paths = [folder.path for folder in opened.tree.folders[1:]]
    rows = opened.table.index.find_many(text_column(paths))
    for path in (paths[position] for position in np.flatnonzero(rows >= 0).tolist()):
        findings.add(
            "key-is-also-directory",
            base + pointer(path),
            f"`{path}` is both a key and the parent folder of other keys.",
            key=path,
        )
