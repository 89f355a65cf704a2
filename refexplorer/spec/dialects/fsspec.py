"""fsspec's `ReferenceFileSystem`, in both of its modes: the rules of version 2026.9.

Since 2026.6 ``simple_templates=True`` reads no ``gen`` at all, and says nothing of it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence

from refexplorer.spec.dialects.fsspec_text import check_names, format_text, render_text
from refexplorer.spec.dialects.judging import (
    ExplicitEntry,
    NotComputed,
    ReaderRules,
    Refusal,
    Theirs,
    VerdictTally,
    compare_items,
    drop_gen,
    unknown,
)
from refexplorer.spec.dialects.survey import Shape, Survey, WrittenItem
from refexplorer.spec.dialects.verdicts import Basis

KEYS_A_SECOND = 400
"""How many keys of ``gen`` fsspec renders, measured."""
MANY_KEYS = 60 * KEYS_A_SECOND
_OTHER_RENDERING = "Templates are rendered differently from the specification."
_NOT_RENDERED = "Without `templates` nothing is rendered, and values are taken as they are written."


class _Fsspec(ReaderRules):
    """The rules that both modes share."""

    basis = Basis("fsspec 2026.9", "2026-11-21", "run")

    def open(self, survey: Survey, tally: VerdictTally) -> None:
        """Refuse sections that cannot be gone through."""
        if not survey.document.version:
            return
        for name in ("templates", "refs"):
            if not isinstance(survey.written.get(name, {}), Mapping):
                raise Refusal(f"`{name}` is not an object (AttributeError).")
        for name, value in survey.templates.items():
            if not isinstance(value, str | list | Mapping):
                raise Refusal(f"The template `{name}` is not a string (TypeError).")

    def read(self, entry: ExplicitEntry, survey: Survey, tally: VerdictTally) -> Theirs:
        """Take V0 as it is written; of V1 decode base64 and render URLs."""
        shape = entry.form.shape
        if shape is Shape.OBJECT:
            return Theirs(entry.ours)
        if not survey.document.version:
            return Theirs(entry.value)
        if shape is Shape.BROKEN_BASE64:
            raise Refusal(f"`{entry.key}` is base64 of a wrong length (binascii.Error).")
        if isinstance(entry.value, str):
            return Theirs(entry.value)
        if not survey.templates:
            return Theirs(entry.value, _NOT_RENDERED)
        return self._read_list(entry, survey)

    def _read_list(self, entry: ExplicitEntry, survey: Survey) -> Theirs:
        value = entry.value
        if not isinstance(value, list | tuple) or not value:
            raise Refusal(f"`{entry.key}` is no list that starts with a URL, and is taken for one.")
        if value[0] is None or isinstance(value[0], int | float):
            raise Refusal(f"`{entry.key}` has no text as its URL, and is rendered (TypeError).")
        if len(value) == 2:
            raise Refusal(f"`{entry.key}` has two elements and needs three (IndexError).")
        try:
            url = self._url(value[0], survey)
        except NotComputed:
            return unknown(_OTHER_RENDERING)
        return Theirs([url, *value[1:3]] if len(value) > 1 else [url], _OTHER_RENDERING)

    def _url(self, url: object, survey: Survey) -> object:
        return self.render(url, survey) if isinstance(url, str) and "{{" in url else url

    @abstractmethod
    def render(self, url: str, survey: Survey) -> str:
        """Return a URL as the mode renders it; raises `Refusal` and `NotComputed`."""


class FsspecDefault(_Fsspec):
    """``simple_templates=True``: names are replaced, and ``gen`` is not read."""

    name = "fsspec (default)"

    def render(self, url: str, survey: Survey) -> str:
        """Replace names."""
        return format_text(url, survey.templates)

    def generate(self, survey: Survey, tally: VerdictTally) -> None:
        """Drop ``gen``."""
        drop_gen(
            survey,
            tally,
            "since 2026.6 no `gen` is read without `simple_templates=False`, silently.",
        )


class FsspecJinja(_Fsspec):
    """``simple_templates=False``: jinja2's sandbox, and every key of ``gen`` written out."""

    name = "fsspec (simple_templates=False)"

    def render(self, url: str, survey: Survey) -> str:
        """Run jinja2."""
        check_names(survey.templates)
        return render_text(url, {}, survey)

    def generate(self, survey: Survey, tally: VerdictTally) -> None:
        """Write out ``gen``."""
        section = survey.written.get("gen", []) if survey.document.version else []
        if not isinstance(section, list | tuple) and section not in ("", {}):
            raise Refusal("`gen` is no list of objects (TypeError).")
        compare_items(self, survey, tally)

    def axes(self, item: Mapping[str, object]) -> dict[str, Sequence[object]]:
        """Return lists as they are, ranges as Python's `range`."""
        dimensions = item.get("dimensions")
        if not isinstance(dimensions, Mapping):
            raise Refusal("A gen item has no object `dimensions` (KeyError or AttributeError).")
        return {name: _axis(name, value) for name, value in dimensions.items()}

    def check(
        self, item: WrittenItem, combinations: int, survey: Survey, tally: VerdictTally
    ) -> None:
        """Refuse what takes forever, and what Python cannot call."""
        assert isinstance(item.written, Mapping)
        if combinations > survey.document.limits.expanded_keys:
            raise Refusal(
                f"gen[{item.number}] makes {combinations:,} keys; all are rendered one by one when "
                "the set is opened, which neither time nor memory allows."
            )
        if combinations > MANY_KEYS:
            minutes = combinations // MANY_KEYS
            tally.note(f"Opening renders {combinations:,} keys one by one: about {minutes} min.")
        check_names({**survey.templates, **_dimensions(item.written)})
        for name in survey.templates.keys() & _dimensions(item.written).keys():
            raise Refusal(f"`{name}` is the name of a dimension and of a template (TypeError).")
        _check_fields(item.written, item.number)

    def make(
        self, item: Mapping[str, object], values: Mapping[str, object], survey: Survey
    ) -> tuple[str, Theirs]:
        """Render the fields."""
        fields = [str(item[name]) for name in ("key", "url", "offset", "length") if name in item]
        try:
            key, url, *numbers = (render_text(text, values, survey) for text in fields)
        except NotComputed:
            return str(item["key"]), unknown(_OTHER_RENDERING)
        return key, Theirs([url, *map(_int, numbers)], _OTHER_RENDERING)


def _dimensions(item: Mapping[str, object]) -> Mapping[str, object]:
    dimensions = item["dimensions"]
    assert isinstance(dimensions, Mapping)
    return dimensions


def _axis(name: str, value: object) -> Sequence[object]:
    if isinstance(value, list | tuple):
        return value
    if not isinstance(value, Mapping) or "stop" not in value:
        raise Refusal(f"The dimension `{name}` has no `stop` (KeyError or AttributeError).")
    bounds = (value.get("start", 0), value["stop"], value.get("step", 1))
    if not all(isinstance(bound, int) for bound in bounds):
        raise Refusal(f"The dimension `{name}` has a bound that is no whole number (TypeError).")
    if bounds[2] == 0:
        raise Refusal(f"The dimension `{name}` has a step of 0 (ValueError).")
    return range(*bounds)


def _check_fields(item: Mapping[str, object], number: int) -> None:
    for name in ("key", "url"):
        if name not in item:
            raise Refusal(f"gen[{number}] has no `{name}` (KeyError).")
    if ("offset" in item) != ("length" in item):
        raise Refusal(f"gen[{number}] has only one of `offset` and `length` (ValueError).")
    for name in ("key", "url", "offset", "length"):
        if not isinstance(item.get(name, ""), str):
            raise Refusal(f"`{name}` of gen[{number}] is no text (TypeError).")


def _int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise Refusal(f"{text[:60]!r} is no whole number (ValueError).") from None
