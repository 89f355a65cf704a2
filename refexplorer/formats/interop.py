"""Objects of other packages that hold references, as documents; nothing is imported for others.

A package is only asked where an object of it was passed, so that it is there already.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from refexplorer.errors import SourceError


def document_of(source: object) -> tuple[str, Mapping[str, Any]] | None:
    """Return a name and a document for a VirtualiZarr object; None for any other object.

    A dataset is written as kerchunk would write it; of a ``ManifestStore`` no variable is loaded.

    Raises
    ------
    SourceError
        If it is a dataset without references, or VirtualiZarr cannot write it.
    """
    kind = type(source)
    package = kind.__module__.partition(".")[0]
    if package == "virtualizarr" and kind.__name__ == "ManifestStore":
        return "ManifestStore", _written(_dataset_of(source))
    if package == "xarray" and kind.__name__ == "Dataset":
        if not _is_virtual(source):
            raise SourceError(
                "This dataset holds values, not references; pass one that VirtualiZarr's "
                "`open_virtual_dataset` gave."
            )
        return "virtual dataset", _written(source)
    return None


def _is_virtual(dataset: Any) -> bool:
    held = (type(variable._data) for variable in dataset.variables.values())
    return any(kind.__module__.startswith("virtualizarr.") for kind in held)


def _dataset_of(store: Any) -> Any:
    """Return the root group of a store, with references for all of its variables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return store.to_virtual_dataset(loadable_variables=[], decode_times=False)


def _written(dataset: Any) -> Mapping[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of codecs that kerchunk has no say in
            document: Mapping[str, Any] = dataset.vz.to_kerchunk(format="dict")
    except Exception as error:  # whatever its writer cannot say
        raise SourceError(
            f"VirtualiZarr cannot write this dataset as references: {error}."
        ) from None
    return document
