"""Hypothesis strategies for reference sets."""

from __future__ import annotations

from hypothesis import strategies as st

texts = st.text(alphabet="ab0129/._-{}% \n\r'\"\\é\u202e", max_size=8)
values = st.one_of(
    texts,
    st.sampled_from(["{{u}}", "base64:aGk=", '{"a": "{{i}}"}']),
    st.tuples(texts).map(list),
    st.tuples(texts, st.integers(0, 2**66), st.integers(0, 2**66)).map(list),
)
