"""The Python that opens a set, or one key of it, with fsspec, Zarr and xarray alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from refexplorer.data.access.storage_options import Options
from refexplorer.data.access.urls import parse, resolve
from refexplorer.data.decode.codecs import names_v2, registering, registration
from refexplorer.data.open.code_text import RawCode, Recipe, call_text, whole_code
from refexplorer.data.open.fsspec_options import (
    BeyondFsspec,
    CodeContext,
    fsspec_recipe,
    opening_call,
    place_of,
)
from refexplorer.data.open.icechunk_code import opening_lines
from refexplorer.errors import RefexplorerError
from refexplorer.formats.parquet.store import why_lost
from refexplorer.masking import MASK, masked_text
from refexplorer.refset.queries.internals import SetLike

if TYPE_CHECKING:
    from refexplorer.spec.core.zarr_metadata import ArrayMeta

_FILL_IN = f"# fill in each {MASK}: code has no passwords, tokens and signatures"


def code(refs: SetLike, key: str | None, known: CodeContext, allow: Collection[str] = ()) -> str:
    """Return Python that opens a set, a group, an array, or the bytes of a key.

    Parameters
    ----------
    refs
        The opened set.
    key
        A key, or the path of an array or a folder; None is the whole set.
    known
        Of the set.
    allow
        What reading it needs, where fsspec cannot read the set and refexplorer has to.
    """
    text = masked_text(_code(refs, key or "", known, allow))
    return f"{_FILL_IN}\n{text}" if MASK in text else text


def _code(refs: SetLike, path: str, known: CodeContext, allow: Collection[str]) -> str:
    is_bytes = bool(path) and path in refs and path not in refs.arrays()
    if _is_missing_chunk(refs, path) or refs.left_out(path) is not None:
        return _by_refexplorer(refs, path, is_bytes, allow)
    if not is_bytes and (opened := _by_icechunk(refs, path, known)) is not None:
        return opened
    try:
        _require_root(refs, path, is_bytes)
        _require_found(refs, path)
        recipe = fsspec_recipe(refs, known, asynchronous=not is_bytes)
    except (BeyondFsspec, RefexplorerError):
        return _by_refexplorer(refs, path, is_bytes, allow)
    if is_bytes:
        call = call_text("fsspec.filesystem", ["reference"], recipe.options)
        return whole_code(recipe, ["fsspec"], [f"fs = {call}", f"data = fs.cat({path!r})"])
    _add_codecs(refs, path, recipe)
    return whole_code(recipe, *_opening(refs, path, recipe.options))


def _by_icechunk(refs: SetLike, path: str, known: CodeContext) -> str | None:
    """Return what opens a repository without refexplorer; None if the set is of none."""
    facts = refs.source.repository
    if facts is None:
        return None
    place, options = parse(resolve(facts.place or "", None)), Options(known.storage_options, None)
    lines = opening_lines(facts, options.of(place)[1])
    if lines is None:
        return None
    given: dict[str, Any] = {"mode": "r"}
    if path in refs.arrays():
        given = {"path": path, **given} if path else given
        last = call_text("zarr.open_array", [RawCode("session.store")], given)
        return whole_code(Recipe(lines=lines), ["icechunk", "zarr"], [f"array = {last}"])
    given = {"group": path} if path else {}
    if _is_dataset(refs, path):
        given = {**given, "consolidated": False}
        last = call_text("xarray.open_zarr", [RawCode("session.store")], given)
        return whole_code(Recipe(lines=lines), ["icechunk", "xarray"], [f"dataset = {last}"])
    given = {"path": path, "mode": "r"} if path else {"mode": "r"}
    last = call_text("zarr.open_group", [RawCode("session.store")], given)
    return whole_code(Recipe(lines=lines), ["icechunk", "zarr"], [f"group = {last}"])


def _require_root(refs: SetLike, path: str, is_bytes: bool) -> None:
    """Refuse groups inside groups, which Zarr cannot list through fsspec's references."""
    arrays = refs.arrays()
    if not is_bytes and path not in arrays and (path or not _members(refs, "")):
        raise BeyondFsspec


def _require_found(refs: SetLike, path: str) -> None:
    """Refuse arrays whose chunks fsspec does not find in a parquet store."""
    if refs.source.store is None:
        return
    if any(why_lost(array) is not None for array in _asked_for(refs, path)):
        raise BeyondFsspec


def _asked_for(refs: SetLike, path: str) -> Iterator[ArrayMeta]:
    """Yield the array that a path is, or is inside of."""
    for array in map(refs.array, refs.arrays()):
        if path in ("", array.path) or path.startswith(array.folder):
            yield array


def _add_codecs(refs: SetLike, path: str, recipe: Recipe) -> None:
    """Register the codecs that numcodecs does not find by itself."""
    used = (name for array in _asked_for(refs, path) for name in names_v2(array.metadata))
    for module in sorted({found for name in used if (found := registering(name)) is not None}):
        recipe.imports.append(module)
        recipe.lines.append(registration(module))


def _members(refs: SetLike, group: str) -> list[str]:
    """Return the arrays right below a group."""
    return [path for path in refs.arrays() if path and path.rpartition("/")[0] == group]


def _opening(refs: SetLike, path: str, options: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the imports and the lines that open an array or a group."""
    given: dict[str, Any] = {"storage_options": options}
    if path in refs.arrays():
        form = refs.array(path).zarr_format
        where = {"path": path} if path else {}
        given = {"mode": "r", "zarr_format": form, **where, **given}
        return ["zarr"], [f"array = {call_text('zarr.open_array', ['reference://'], given)}"]
    if _is_dataset(refs, path):
        given = {"engine": "zarr", "consolidated": False, **given}
        return ["xarray"], [
            f"dataset = {call_text('xarray.open_dataset', ['reference://'], given)}"
        ]
    given = {"mode": "r", **given}
    return ["zarr"], [f"group = {call_text('zarr.open_group', ['reference://'], given)}"]


def _is_dataset(refs: SetLike, group: str) -> bool:
    """Say whether all arrays of a group have the dimension names that xarray needs."""
    members = _members(refs, group)
    return bool(members) and all(refs.array(path).dimensions is not None for path in members)


def _by_refexplorer(refs: SetLike, path: str, is_bytes: bool, allow: Collection[str]) -> str:
    place = place_of(refs.source)
    opened = [] if place is None else [f"refs = {opening_call(refs.source, place)}"]
    named = refs_text(sorted(allow))
    if refs.left_out(path) is not None:
        last = f"diagnostic = refs.left_out({path!r})"
    elif _is_missing_chunk(refs, path) and (chunk := refs.array_of(path)) is not None:
        last = f"chunk = {named}.chunk({', '.join(map(repr, chunk))})"
    elif is_bytes:
        last = f"data = {named}.filesystem().cat({path!r})"
    elif path and path in refs.arrays():
        last = f"array = {named}.to_zarr()[{path!r}]"
    elif _is_dataset(refs, path):
        group = f"group={path!r}" if path else ""
        last = f"dataset = {named}.to_xarray({group})"
    else:
        last = f"group = {named}.to_zarr()" + (f"[{path!r}]" if path else "")
    head = ["import refexplorer", ""] if opened else []
    return "\n".join([*head, *opened, last]) + "\n"


def refs_text(allow: Sequence[str]) -> str:
    """Return the set in code, with what has to be allowed to read its targets."""
    return f"refs.allowing({', '.join(map(repr, allow))})" if allow else "refs"


def _is_missing_chunk(refs: SetLike, path: str) -> bool:
    return path not in refs and path not in refs.arrays() and refs.array_of(path) is not None
