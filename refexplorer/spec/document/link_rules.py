"""Lint rules for what LINDI says in attributes: arrays and groups that lie somewhere else.

Source: LINDI, "Special Zarr annotations". Its documents are V1, which every reader of kerchunk's
references opens, but only LINDI follows its links.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from refexplorer.spec.document.lint_rules import Remark

EXTERNAL = "_EXTERNAL_ARRAY_LINK"
SOFT = "_SOFT_LINK"


def remarks_on_links(path: str, attributes: Mapping[str, object]) -> Iterator[Remark]:
    """Say where an array lies, if its attributes say that it lies in another file."""
    external = attributes.get(EXTERNAL)
    if external is None:
        return
    at = f"{_of(external, 'name')} of {_of(external, 'url')}"
    yield Remark(
        "array-elsewhere",
        f"The values of `{path or '/'}` lie in the dataset {at}, and the set has no references "
        "to its chunks; only LINDI follows the link, and for all other readers they are fill "
        "values.",
        "Open that file itself (`refexplorer[virtual]` makes references to its chunks), or "
        "write the set with a higher `num_dataset_chunks_threshold`.",
    )


def path_of_link(attributes: object) -> str | None:
    """Return where a soft link leads, as it is written; None of what is none."""
    soft = attributes.get(SOFT) if isinstance(attributes, Mapping) else None
    path = soft.get("path") if isinstance(soft, Mapping) else None
    return path if isinstance(path, str) else None


def _of(link: object, name: str) -> str:
    value = link.get(name) if isinstance(link, Mapping) else None
    return repr(value) if isinstance(value, str) else "an unknown place"
