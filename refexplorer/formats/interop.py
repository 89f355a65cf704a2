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

    Datasets are written as kerchunk would write them; of a ``ManifestStore`` or ``ManifestGroup``
    no variable is loaded. Groups in groups become folders.

    Raises
    ------
    SourceError
        If it is a dataset without references, or VirtualiZarr cannot write it.
    """
    kind = type(source)
    package = kind.__module__.partition(".")[0]
    if package == "virtualizarr" and kind.__name__ in ("ManifestStore", "ManifestGroup"):
        return kind.__name__, _in_folders(_groups_of(source))
    if package == "xarray" and kind.__name__ in ("Dataset", "DataTree"):
        datasets = _nodes_of(source) if kind.__name__ == "DataTree" else {"": source}
        if not any(_is_virtual(dataset) for dataset in datasets.values()):
            raise SourceError(
                f"This {kind.__name__} holds values, not references; pass one that VirtualiZarr's "
                f"`open_virtual_{kind.__name__.lower()}` gave."
            )
        return f"virtual {kind.__name__.lower()}", _in_folders(datasets)
    return None


def _is_virtual(dataset: Any) -> bool:
    held = (type(variable._data) for variable in dataset.variables.values())
    return any(kind.__module__.startswith("virtualizarr.") for kind in held)


def _groups_of(source: Any) -> Mapping[str, Any]:
    """Return the groups of a store or of a group as datasets by path, all of them references."""
    group = getattr(source, "_group", source)  # a store has no other way to groups in groups
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        datasets: Mapping[str, Any] = group.to_virtual_datasets()
    return datasets


def _nodes_of(tree: Any) -> Mapping[str, Any]:
    """Return the nodes of a tree as datasets by path, each with its own variables alone."""
    start = len(tree.path.rstrip("/")) + 1
    return {node.path[start:]: node.to_dataset(inherit=False) for node in tree.subtree}


def _in_folders(datasets: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return one document of datasets, each in the folder of its path."""
    refs = {
        f"{path}/{key}" if path else key: value
        for path, dataset in datasets.items()
        for key, value in _written(dataset)["refs"].items()
    }
    return {"version": 1, "refs": refs}


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
