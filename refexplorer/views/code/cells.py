"""Notebook cells that reproduce the picture of an array: imports, open, select, plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from refexplorer.core.errors import RefexplorerError
from refexplorer.io.reading.cf import decoding_attributes
from refexplorer.io.reading.code import refs_text
from refexplorer.refset.opened_set import internals
from refexplorer.spec.references import Kind

if TYPE_CHECKING:
    from refexplorer.spec.zarr_metadata import ArrayMeta
    from refexplorer.verbs.referenceset import ReferenceSet

CellLibrary = Literal["xarray", "zarr"]
_SCHEMES = {
    "greys": "Greys", "rdbu": "RdBu", "puor": "PuOr", "brbg": "BrBG", "sinebow": "hsv",
}  # fmt: skip
"""Names of Matplotlib where they are not those of the explorer."""


@dataclass(frozen=True)
class PictureLook:
    """How a selection of an array is displayed."""

    # For each dimension an index, or start, stop and step
    parts: tuple[int | tuple[int, int, int], ...]
    # ``heatmap``, ``channel``, ``line``, ``lines``, ``table`` or ``statistics``
    mode: str = "heatmap"
    scheme: str = "viridis"  # The colours
    # Of the colours; None for those of the values
    limits: tuple[float | None, float | None] = (None, None)
    # scale, times: What of the CF conventions is applied
    scale: bool = True
    times: bool = True
    bar: str = "linear"  # Of the colours: ``linear``, ``log`` or ``symlog``
    # Whether the first row is at the bottom; xarray knows that of its coordinates
    upward: bool = False

    @property
    def drawn(self) -> tuple[int, ...]:
        """The dimensions that remain after indexing."""
        return tuple(axis for axis, part in enumerate(self.parts) if not isinstance(part, int))


def cell(refs: ReferenceSet, array: ArrayMeta, look: PictureLook, library: CellLibrary) -> str:
    """Return a cell that reads a selection of an array with one library and draws it."""
    return {"xarray": _with_xarray, "zarr": _with_zarr}[library](refs, array, look)


def _with_xarray(refs: ReferenceSet, array: ArrayMeta, look: PictureLook) -> str:
    group, _, name = array.path.rpartition("/")
    names = array.dimensions
    opened = refs.code(group)
    if names is None or "dataset = " not in opened or not name:
        raise RefexplorerError(
            f"xarray needs the names of all dimensions in {group or 'the root'!r}, but the "
            f"metadata have none: copy the cell for Zarr instead."
        )
    opened = _with_options(opened, look)
    chosen = ", ".join(
        f"{_keyword(names, axis)}{_isel(part)}"
        for axis, part in enumerate(look.parts)
        if not _is_whole(part, array.shape[axis])
    )
    keywords = f"{{{chosen}}}" if ": " in chosen and "=" not in chosen else chosen
    selected = f"values = dataset[{name!r}]" + (f".isel({keywords})" if chosen else "")
    last = {0: ["values.item()"], 1: ["values.plot()"], 2: [_pair_drawn(look, names)]}.get(
        len(look.drawn), ["values"]
    )
    if look.mode == "statistics":
        last = ["values.to_series().describe()"]
    elif look.mode == "table" and len(look.drawn) in (1, 2):
        last = ["values.to_pandas()"]
    head = ["import matplotlib.colors"] if "matplotlib.colors" in last[0] else []
    return "\n".join([*head, opened.rstrip(), selected, *last]) + "\n"


def _keyword(names: Sequence[str], axis: int) -> str:
    """Format the name of a dimension so that any name works."""
    plain = all(name.isidentifier() for name in names)
    return f"{names[axis]}=" if plain else f"{names[axis]!r}: "


def _pair_drawn(look: PictureLook, names: Sequence[str]) -> str:
    if look.mode == "lines":
        return f"values.plot.line(x={names[look.drawn[1]]!r})"
    return f"values.plot({_colours(look)})"


def _with_options(opened: str, look: PictureLook) -> str:
    """Add the CF decoding that is disabled to the opening code."""
    off = ([] if look.scale else ["mask_and_scale=False"]) + (
        [] if look.times else ["decode_times=False"]
    )
    if not off:
        return opened
    added = ", ".join(off)
    for mark in ("engine='zarr'", "consolidated=False"):
        if mark in opened:
            return opened.replace(mark, f"{mark}, {added}", 1)
    head, call, rest = opened.rpartition("to_xarray(")
    return head + call + added + ("" if rest.startswith(")") else ", ") + rest


def _with_zarr(refs: ReferenceSet, array: ArrayMeta, look: PictureLook) -> str:
    opened = refs.code(array.path)
    lines = opened.rstrip().splitlines()
    chosen = ", ".join(map(_index, look.parts)) or "()"
    lines.append(f"values = array[{chosen}]")
    lines += _decoding(array, look)
    return _plotted(lines, look, array)


def _decoding(array: ArrayMeta, look: PictureLook) -> list[str]:
    """Return the decoding of missing values, scale and offset from the attributes, in numpy."""
    dtype = np.dtype(array.dtype) if _is_number(array) else None
    if dtype is None or not look.scale:
        return []
    attributes = decoding_attributes(array, dtype, array.fill_value)
    lines = []
    if str(attributes.get("_Unsigned", "")).lower() == "true" and dtype.kind == "i":
        lines.append(f"values = values.view({f'u{dtype.itemsize}'!r})")
        dtype = np.dtype(f"u{dtype.itemsize}")
    missing = _numbers(attributes.get("_FillValue")) + _numbers(attributes.get("missing_value"))
    for value in dict.fromkeys(missing):
        if np.isnan(value):
            continue
        shown = value % 2 ** (8 * dtype.itemsize) if dtype.kind == "u" else value
        lines.append(f"values = numpy.where(values == {shown!r}, numpy.nan, values)")
    if factors := _numbers(attributes.get("scale_factor")):
        lines.append(f"values = values * {factors[0]!r}")
    if offsets := _numbers(attributes.get("add_offset")):
        lines.append(f"values = values + {offsets[0]!r}")
    return lines


def _is_number(array: ArrayMeta) -> bool:
    try:
        return np.dtype(array.dtype).kind in "iuf"
    except TypeError:
        return False


def _numbers(value: Any) -> list[float | int]:
    """Return a numeric attribute, or a list, as Python's own types."""
    try:
        found = np.atleast_1d(np.asarray(value))
    except ValueError:
        return []
    return found.tolist() if found.dtype.kind in "iuf" and found.ndim == 1 else []


def _plotted(lines: list[str], look: PictureLook, array: ArrayMeta) -> str:
    """Add the picture, and its imports."""
    names = {"numpy": "numpy.", "numcodecs": "numcodecs."}
    draw: list[str] = []
    origin = "origin='lower', " if look.upward else ""
    if look.mode == "table" or not look.drawn:
        draw = ["values"]
    elif look.mode == "statistics":
        draw = [
            "{name: getattr(numpy, f'nan{name}')(values) for name in ('min', 'max', 'mean', 'std')}"
        ]
    elif len(look.drawn) == 1:
        draw = ["matplotlib.pyplot.plot(values)"]
    elif len(look.drawn) == 2 and look.mode == "lines":
        draw = ["matplotlib.pyplot.plot(values.T)"]
    elif len(look.drawn) == 2:
        draw = [
            f"matplotlib.pyplot.imshow(values, aspect='auto', {origin}{_colours(look)})",
            "matplotlib.pyplot.colorbar()",
        ]
    else:
        draw = ["values.shape"]
    text = "\n".join([*lines, *draw])
    needed = [module for module, mark in names.items() if mark in text]
    if "matplotlib" in text:
        needed.append("matplotlib.pyplot")
    if "matplotlib.colors" in text:
        needed.append("matplotlib.colors")
    head = [f"import {module}" for module in needed if f"import {module}\n" not in text + "\n"]
    return "\n".join([*head, text]) + "\n"


def _colours(look: PictureLook) -> str:
    low, high = look.limits
    cmap = f"cmap={_SCHEMES.get(look.scheme, look.scheme)!r}"
    if look.bar == "log":
        return f"{cmap}, norm=matplotlib.colors.LogNorm({low!r}, {high!r})"
    if look.bar == "symlog":
        # what is drawn as a line around zero, as the explorer has it
        linear = max(abs(low or 0), abs(high or 0)) * 1e-3 or 1.0
        return f"{cmap}, norm=matplotlib.colors.SymLogNorm({linear!r}, vmin={low!r}, vmax={high!r})"
    limits = {"vmin": low, "vmax": high}
    return ", ".join(
        [cmap, *(f"{name}={value!r}" for name, value in limits.items() if value is not None)]
    )


def _is_whole(part: int | tuple[int, int, int], size: int) -> bool:
    return not isinstance(part, int) and part[0] == 0 and part[1] >= size and part[2] == 1


def _index(part: int | tuple[int, int, int]) -> str:
    """Format a selection as Python indexing."""
    if isinstance(part, int):
        return str(part)
    start, stop, step = part
    return f"{start or ''}:{stop}" + (f":{step}" if step > 1 else "")


def _isel(part: int | tuple[int, int, int]) -> str:
    """Format a selection as arguments of `isel`."""
    if isinstance(part, int):
        return str(part)
    start, stop, step = part
    return f"slice({start}, {stop})" if step == 1 else f"slice({start}, {stop}, {step})"


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
    """Return Python for a key that is not in the set: why, or its fill value."""
    owner = refs.array_of(key)
    if owner is None or refs.rejection(key) is not None:
        return f"refs.rejection({key!r})"
    return f"{refs_text(granted)}.chunk({owner[0]!r}, {owner[1]!r})"


def code_of_search(pattern: str, mode: str, kinds: Sequence[Kind], targets: bool) -> str:
    """Return code that searches a pattern in the set ``refs``."""
    kind = f", kind={[str(each) for each in kinds]!r}" if kinds else ""
    kind += ", targets=True" if targets else ""
    return f"list(refs.find({pattern!r}, mode={mode!r}{kind}))"


def code_of_slices(
    refs: ReferenceSet, path: str, slices: Sequence[str], granted: Sequence[str] = ()
) -> str:
    """Return code that reads a selection of an array, as written by `views.preview.regions`."""
    return f"{code(refs, path, granted)}[{', '.join(slices) or '()'}]"


def code_of_check(granted: Sequence[str]) -> str:
    """Return code that checks all targets against the references."""
    return f"{refs_text(granted)}.check_targets()"


def code_of_verify(values: bool, granted: Sequence[str]) -> str:
    """Return code that compares the set with the metadata of its files."""
    options = 'values="sample"' if values else ""
    return f"{refs_text(granted)}.verify({options})"
