"""The forms, in the order in which they are asked: ours, those of other packages, JSON last.

A package is asked since it is installed and names a form in the group of entry points
``refexplorer.sources``; nothing in a source can name one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from refexplorer.errors import FormWarning, RefexplorerError
from refexplorer.formats.forms.data_file_form import DataFileForm
from refexplorer.formats.forms.dmrpp_form import DmrppForm
from refexplorer.formats.forms.form import OpeningTerms, SourceForm
from refexplorer.formats.forms.icechunk_form import IcechunkForm
from refexplorer.formats.forms.json_form import JsonForm
from refexplorer.formats.forms.lindi_form import LindiForm
from refexplorer.formats.forms.parquet_form import ParquetForm
from refexplorer.formats.forms.virtualizarr_form import VirtualiZarrForm
from refexplorer.formats.forms.zarr_form import ZarrForm
from refexplorer.formats.source import DOCUMENTS, JSON, Source
from refexplorer.markup import escape

GROUP = "refexplorer.sources"
FORMS: tuple[SourceForm, ...] = (
    VirtualiZarrForm(),
    IcechunkForm(),
    LindiForm(),
    ParquetForm(),
    ZarrForm(),
    DmrppForm(),
    DataFileForm(),
)
LAST = JsonForm()
"""Takes every file for JSON, to say where it is none."""

Question = Callable[[SourceForm, OpeningTerms], "Source | None"]


def first_answer(question: Question, terms: OpeningTerms) -> Source | None:
    """Ask each form in turn; return the first source that one of them knows."""
    for form in filter(terms.may_ask, FORMS):
        if (found := question(form, terms)) is not None:
            return found
    for form in filter(terms.may_ask, installed_forms()):
        if (found := _answer_of(form, question, terms)) is not None:
            return found
    return question(LAST, terms)


@cache
def installed_forms() -> tuple[SourceForm, ...]:
    """Return the forms of other packages, by name; one that cannot be used is warned of once."""
    found: dict[str, SourceForm] = {}
    known = {*(form.name for form in FORMS), *DOCUMENTS, JSON}
    for point in sorted(entry_points(group=GROUP)):
        try:
            form = _loaded(point)
            if form.name in known | found.keys():
                raise ValueError(f"there is a form {form.name} already")
        except Exception as error:  # a package may raise anything while it is imported
            _warn(f"The form {escape(point.name)} ({escape(point.value)}) cannot be used", error)
        else:
            found[form.name] = form
    return tuple(found.values())


def _loaded(point: EntryPoint) -> SourceForm:
    form = point.load()()
    if not isinstance(form, SourceForm) or not isinstance(getattr(form, "name", None), str):
        raise TypeError(
            "it is no subclass of refexplorer.formats.forms.form.SourceForm with a name"
        )
    return form


def _answer_of(form: SourceForm, question: Question, terms: OpeningTerms) -> Source | None:
    """Ask a form of another package, whose faults are not to stop the others."""
    try:
        found = question(form, terms)
        if found is not None and not isinstance(found, Source):
            raise TypeError(f"it gave {type(found).__name__}, not a Source")
        if found is not None and [found.entries, found.value, found.store].count(None) != 2:
            raise TypeError("its source must hold one of entries, value and store")
    except RefexplorerError:
        raise
    except Exception as error:  # as above
        _warn(f"The form {escape(form.name)} failed and was passed over", error)
        return None
    return None if found is None else replace(found, form=form.name)


def _warn(what: str, error: Exception) -> None:
    said = escape(str(error)).rstrip(".") or "no reason given"
    warnings.warn(f"{what}: {type(error).__name__}: {said}.", FormWarning, stacklevel=2)
