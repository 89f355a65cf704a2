"""Objects of VirtualiZarr that hold references; nothing is imported for others.

A package is only asked where an object of it was passed, so that it is there already.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from refexplorer.errors import SourceError
from refexplorer.formats.forms.form import OpeningTerms, SourceForm
from refexplorer.formats.source import Source


class VirtualiZarrForm(SourceForm):
    """Virtual datasets and trees, and what VirtualiZarr's parsers give."""

    name = "VirtualiZarr"
    guarded = True

    def of_object(self, given: object, terms: OpeningTerms) -> Source | None:
        """Take the references of an object as VirtualiZarr writes them for kerchunk.

        Of a ``ManifestStore`` or ``ManifestGroup`` no variable is loaded. Groups in groups become
        folders.
        """
        kind = type(given)
        package = kind.__module__.partition(".")[0]
        if package == "virtualizarr" and kind.__name__ in ("ManifestStore", "ManifestGroup"):
            return Source(kind.__name__, self.name, value=_in_folders(_groups_of(given)))
        if package != "xarray" or kind.__name__ not in ("Dataset", "DataTree"):
            return None
        datasets = _nodes_of(given) if kind.__name__ == "DataTree" else {"": given}
        if not any(_is_virtual(dataset) for dataset in datasets.values()):
            raise SourceError(
                f"This {kind.__name__} holds values, not references; pass one that "
                f"VirtualiZarr's `open_virtual_{kind.__name__.lower()}` returned."
            )
        return Source(f"virtual {kind.__name__.lower()}", self.name, value=_in_folders(datasets))


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
    """Return the references of datasets by key, each in the folder of its path."""
    return {
        f"{path}/{key}" if path else key: value
        for path, dataset in datasets.items()
        for key, value in _written(dataset)["refs"].items()
    }


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
