"""The set as displayed by xarray, from metadata only."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.text import counted
from refexplorer.views.preview.values import load_xarray
from refexplorer.views.wire.context import ExplorerPart, ViewContext
from refexplorer.views.wire.jobs import JobReport, go_on
from refexplorer.views.wire.requests import job, sentence

if TYPE_CHECKING:
    from xarray import Dataset, DataTree

    from refexplorer.verbs.referenceset import ReferenceSet

LONGEST = 300_000  # Most characters of HTML that are shown
_STANDARD = {"standard", "gregorian", "proleptic_gregorian"}  # calendars of numpy's datetimes
_ARRAYS = 500  # arrays of the table; a larger set is described by its tree


class DatasetView(Struct, frozen=True):
    """xarray's HTML from metadata only, or the sentence that explains why there is none."""

    html: str | None
    sentence: str | None


class Overview:
    """Handles the requests of the first tab of the explorer."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references

    @job("overview")
    def describe(self, report: JobReport) -> DatasetView:
        """Show the set as xarray does, or say why not; no target is read."""
        # Neither opening nor displaying it reads a target: no index is built, and no time decoded.
        refs = self._refs
        go_on(report, 0, 2, "Loading xarray")
        load_xarray()
        go_on(report, 1, 2, f"Opening the metadata of {counted(len(refs.arrays()), 'array')}")
        try:
            html = _dataset_html(refs)
        except Exception as error:
            why = "" if isinstance(error, RefexplorerError) else "xarray cannot show this set. "
            return DatasetView(None, f"{why}{sentence(error)}")
        if len(html) > LONGEST:
            return DatasetView(None, "The set has more metadata than this page can show.")
        return DatasetView(html, None)


def _dataset_html(refs: ReferenceSet) -> str:
    arrays = refs.arrays()
    if not arrays:
        raise RefexplorerError("The set has no arrays.")
    if len(arrays) > _ARRAYS:
        raise RefexplorerError(f"The {len(arrays):,} arrays of the set are too many for one page.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is odd about the set is among its notes
        options: dict[str, Any] = {"create_default_indexes": False, "decode_times": False}
        if any("/" in path for path in arrays):
            shown: DataTree | Dataset = refs.to_datatree(**options).map_over_datasets(_with_times)
        else:
            shown = _with_times(refs.to_xarray(**options))
        html: str = shown._repr_html_()
    return html


def _with_times(dataset: Dataset) -> Dataset:
    """Give times the data type that xarray decodes them to, without reading their values."""
    from xarray import Coordinates, Variable
    from xarray.core.indexing import LazilyIndexedArray  # of what is lazy no value is displayed

    times: dict[Hashable, Variable] = {}
    for name, each in dataset.variables.items():
        attributes = dict(each.attrs)
        units = attributes.pop("units", None)
        if not isinstance(units, str) or " since " not in units:
            continue
        is_standard = str(attributes.pop("calendar", "standard")).lower() in _STANDARD
        value = np.datetime64("NaT", "ns") if is_standard else np.array(None)
        data = LazilyIndexedArray(np.broadcast_to(value, each.shape))
        times[name] = Variable(each.dims, data, attributes)
    named = {name: times.pop(name) for name in [*times] if name in dataset.coords}
    return dataset.assign(times).assign_coords(Coordinates(named, indexes={}))


PART = ExplorerPart(
    "overview", "Dataset", "Dataset", (Overview,), look=False, alone=False, recorded=("overview",)
)
