"""A check of the keys of a gen item while it is read, as far as that costs little."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from refexplorer.spec.core.diagnostics import Findings, pointer
from refexplorer.spec.gen.blocks import as_column
from refexplorer.spec.gen.extents import cannot_fail, extents_of
from refexplorer.spec.gen.item import FIELDS, LISTED_KEYS, GenItem, said_of_values
from refexplorer.spec.gen.runs import failing, fails
from refexplorer.spec.templates.template import Template
from refexplorer.spec.templates.vectors import most_steps

TRIED_KEYS = 100_000
"""Keys of an item that are all tried, unless it is plain that no template can fail."""
TRIED_STEPS = 4_000_000
"""Steps of evaluation that this may take in a document."""
LISTED_BY_COLUMNS = 1_000_000
"""Keys of a document that are written out to look for equal ones, of items with very many."""
_TRUSTED_STEPS = 20


@dataclass(slots=True)
class Effort:
    """The effort left for checking the items of a document.

    Attributes
    ----------
    steps
        Of evaluation, for trying keys.
    listed
        Keys to be written out.
    """

    steps: float = field(default_factory=lambda: TRIED_STEPS)
    listed: int = LISTED_BY_COLUMNS


def look_at_keys(item: GenItem, effort: Effort, at: str, findings: Findings) -> GenItem | None:
    """Look whether keys fail, which are noted.

    Parameters
    ----------
    item
        Has one combination at least.
    effort
        What this may cost; it becomes less.
    at
        JSON pointer to the item.

    Returns
    -------
    item
        With what is known of its keys; None if one of a sample fails, which refuses the item.
    """
    item = _listed(item, effort)
    return item if cannot_fail(item) else _tried(item, effort, at, findings)


def _listed(item: GenItem, effort: Effort) -> GenItem:
    """Let more keys be written out where this is done by the column."""
    count = item.varying.count
    if not LISTED_KEYS < count <= effort.listed or item.inverter is not None:
        return item
    if not extents_of(item).makes_texts(item.key):
        return item
    effort.listed -= count
    return replace(item, most_listed=count)


def _tried(item: GenItem, effort: Effort, at: str, findings: Findings) -> GenItem | None:
    """Try the keys of an item: all if they are not too many, else a sample."""
    sample = item.sample()
    if fails(item, as_column(sample)):
        any(_note_failing(item, values, at, findings) for values in map(item.varied, sample))
        return None
    steps = sum(_steps(getattr(item, name), item.templates) for name in FIELDS) * item.count
    if item.count > TRIED_KEYS or steps > effort.steps:
        if item.certain:  # else it is noted that there are too many
            findings.add(
                "gen-not-checked",
                at,
                f"gen[{item.number}] generates {item.count:,} keys, too many to try the "
                "templates of each; keys that fail are rejected when they are read.",
            )
        return replace(item, is_tried=False)
    effort.steps -= steps
    failed = tuple(failing(item, 0, item.count))
    if not failed:
        return item
    _note_failing(item, item.values(failed[0]), at, findings, len(failed))
    return replace(item, failing=failed)


def _note_failing(
    item: GenItem, values: Mapping[str, int], at: str, findings: Findings, count: int = 1
) -> bool:
    """Note why a template fails for these values, and for how many keys; False if none does."""
    bad = item.failure(values)
    if bad is not None:
        message = f"For {said_of_values(values)}: {bad}"
        findings.add(bad.code, at + pointer(bad.field), message, bad.hint, count=count)
    return bad is not None


def _steps(template: Template | None, templates: Mapping[str, Template]) -> float:
    steps = 0 if template is None else most_steps(template, templates)
    return steps if math.isfinite(steps) else _TRUSTED_STEPS
