"""What Python and the front end both write, by the table that ``formats.test.ts`` reads, too."""

from __future__ import annotations

import json

import numpy as np
import pytest

from refexplorer.core.text import counted, escape, moment_text, number_text, size_text
from refexplorer.spec.derivation import TraceStep
from refexplorer.spec.findings import parts_of, pointer
from refexplorer.verbs.display import heatmap
from refexplorer.views.preview.values import value_text
from tests.cases import FOLDER

CASES = json.loads((FOLDER / "formats.json").read_text())


@pytest.mark.parametrize(("size", "text"), CASES["sizes"])
def test_sizes(size: int | str, text: str) -> None:
    assert size_text(int(size)) == text


@pytest.mark.parametrize(("number", "noun", "text"), CASES["counts"])
def test_counts(number: int | str, noun: str, text: str) -> None:
    assert counted(int(number), noun) == text


@pytest.mark.parametrize(("seconds", "text"), CASES["milliseconds"])
def test_durations(seconds: float, text: str) -> None:
    assert f"  {text}  " in str(TraceStep("gzip", "x/0", size=1, seconds=seconds))


@pytest.mark.parametrize(("number", "text"), CASES["numbers"])
def test_numbers(number: float, text: str) -> None:
    assert number_text(number) == text


@pytest.mark.parametrize(("milliseconds", "text"), CASES["moments"])
def test_moments(milliseconds: float, text: str) -> None:
    assert moment_text(milliseconds) == text


@pytest.mark.parametrize(("number", "kind", "integer", "text"), CASES["exact"])
def test_exact_values(number: float, kind: str, integer: str | None, text: str) -> None:
    dtype = np.dtype(kind)
    if dtype.kind != "M":
        assert value_text(dtype.type(number if integer is None else int(integer))) == text
        return
    ticks = np.datetime64(int(number), "ms") if integer is None else np.int64(integer).view(dtype)
    assert value_text(ticks.astype(dtype)) == text


def test_what_is_no_number() -> None:
    found = np.nan, np.inf, -np.inf
    assert [number_text(each) for each in found] == ["NaN", "inf", "-inf"]
    assert [moment_text(each) for each in found] == ["NaT", "NaT", "NaT"]


@pytest.mark.parametrize(("text", "escaped"), CASES["escapes"], ids=ascii)
def test_escapes(text: str, escaped: str) -> None:
    assert escape(text) == escaped


@pytest.mark.parametrize(("parts", "text"), CASES["pointers"])
def test_pointers(parts: list[str], text: str) -> None:
    assert pointer(*parts) == text
    assert parts_of(text) == parts


def test_colours() -> None:
    found = CASES["viridis"]
    steps = np.arange(float(len(found)))
    picture = heatmap(steps[None], 0, steps[-1], upward=False).convert("RGB")
    cell = picture.width // len(found)
    pixels = [picture.getpixel((place * cell, 0)) for place in range(len(found))]
    assert [_hex(pixel) for pixel in pixels if isinstance(pixel, tuple)] == found


def _hex(colour: tuple[int, ...]) -> str:
    return "#" + bytes(colour).hex()
