"""Texts as places in a run of bytes: what is guessed of all is told of none that differs."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from refexplorer.formats.columns.texts import Spans

LARGEST = re.compile(r"[ \t\r\n]*(0|[1-9][0-9]{0,17})[ \t\r\n]*")
lists = st.lists(st.text("ab,. ", max_size=5), min_size=1, max_size=9)
numbers = st.lists(
    st.one_of(
        st.integers(0, 10**20).map(lambda number: f" {number}"),
        st.text("0129 :/\n", max_size=20),
    ),
    min_size=1,
    max_size=9,
)


def spans_of(texts: Sequence[str], between: str = "") -> Spans:
    data = between.join(texts).encode() or b" "
    sizes = np.array([len(text) for text in texts])
    ends = np.cumsum(sizes + len(between)) - len(between)
    return Spans(np.frombuffer(data, np.uint8), ends - sizes, ends)


@given(lists, st.sampled_from(["", ",", ",,", "x"]), st.integers(1, 3))
def test_marks_are_reported_by_text_where_each_has_so_many(
    texts: list[str], between: str, count: int
) -> None:
    spans = spans_of(texts, between)
    marks = np.flatnonzero(spans.data == ord(","))
    found = spans.marked(marks, count)
    if found is not None:
        inside = [
            [place for place in marks.tolist() if start <= place < end]
            for start, end in zip(spans.starts, spans.ends, strict=True)
        ]
        assert found.T.tolist() == inside
    elif between == "" and len(marks):
        assert {text.count(",") for text in texts} != {count}


@given(st.lists(st.sampled_from(["/", "a/", "/b", "a/b", "ab", "/a/b/", ""]), min_size=1))
def test_the_last_mark_of_each_text(texts: list[str]) -> None:
    spans = spans_of(texts)
    places = [
        int(start) + max(text.rfind("/"), 0)
        for start, text in zip(spans.starts, texts, strict=True)
    ]
    assert spans.last_marks(ord("/")).tolist() == places


@given(lists)
def test_a_test_is_asked_once_for_texts_that_are_alike(texts: list[str]) -> None:
    spans = spans_of(texts)
    asked = []

    def test(some: Spans) -> np.ndarray:
        asked.append(len(some.starts))
        found: np.ndarray = some.first() == ord("a")
        return found

    assert spans.tested(test).tolist() == [text.startswith("a") for text in texts]
    assert sum(asked) <= len({*texts}) or texts.count(texts[len(texts) // 2]) < len(texts)


@given(numbers)
def test_numbers_are_those_of_json(texts: list[str]) -> None:
    wanted = [LARGEST.fullmatch(text) for text in texts]
    values, good = spans_of(texts).trimmed().numbers()
    assert good.tolist() == [match is not None for match in wanted]
    assert values[good].tolist() == [int(match[1]) for match in wanted if match]


@given(st.lists(st.text("abé", max_size=40), min_size=1, max_size=9))
def test_words_hold_all_bytes_of_each_text(texts: list[str]) -> None:
    encoded = [text.encode() for text in texts]
    spans = spans_of([text.decode("latin-1") for text in encoded])
    spans = spans._replace(data=np.frombuffer(b"".join(encoded) or b" ", np.uint8))
    found = [b""] * len(texts)
    for rows, words, kept in spans.words():
        numbers = np.arange(len(texts))[rows]
        for row, word, bits in zip(numbers.tolist(), words.tolist(), kept.tolist(), strict=True):
            size = bits.bit_count() // 8
            found[row] = word.to_bytes(8, "little")[8 - size :] + found[row]
    assert found == encoded
