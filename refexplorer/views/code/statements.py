"""The Python that does what a person did: choosing a key, searching, reading, checking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from refexplorer.io.reading.code import refs_text
from refexplorer.refset.contents import internals
from refexplorer.spec.references import Kind

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet


def code(refs: ReferenceSet, path: str, granted: Sequence[str] = ()) -> str:
    """Return one line of Python for a path."""
    if path in refs.arrays():
        group = f"{refs_text(granted)}.to_zarr()"
        return f"{group}[{path!r}]" if path else group
    if path and path in refs:
        return f"refs[{path!r}]"
    if path and internals(refs).opened.tree.folder(path) is None:
        return _code_of_absent(refs, path, granted)
    return f"refs.children({path!r})" if path else "refs"


def _code_of_absent(refs: ReferenceSet, key: str, granted: Sequence[str]) -> str:
    """Return Python for a key that is not in the set: why, or the fill value it reads as."""
    owner = refs.array_of(key)
    if owner is None or refs.left_out(key) is not None:
        return f"refs.left_out({key!r})"
    return f"{refs_text(granted)}.chunk({owner[0]!r}, {owner[1]!r})"


def code_of_search(pattern: str, mode: str, kinds: Sequence[Kind], targets: bool) -> str:
    """Return the search of a pattern in the set, which is called ``refs``."""
    kind = f", kind={[str(each) for each in kinds]!r}" if kinds else ""
    kind += ", targets=True" if targets else ""
    return f"list(refs.find({pattern!r}, mode={mode!r}{kind}))"


def code_of_slices(
    refs: ReferenceSet, path: str, slices: Sequence[str], granted: Sequence[str] = ()
) -> str:
    """Return the reading of a part of an array, as `views.preview.regions` writes it."""
    return f"{code(refs, path, granted)}[{', '.join(slices) or '()'}]"


def code_of_check(granted: Sequence[str]) -> str:
    """Return the question to all targets whether they are what the references say."""
    return f"{refs_text(granted)}.check_targets()"


def code_of_verify(values: bool, granted: Sequence[str]) -> str:
    """Return the comparison of the set with what its files say of themselves."""
    options = 'values="sample"' if values else ""
    return f"{refs_text(granted)}.verify({options})"


def code_of_measure(place: str, granted: Sequence[str]) -> str:
    """Return the advice with times of the place that the targets are at."""
    return f"{refs_text(granted)}.advise(measure=True, place={place!r})"
