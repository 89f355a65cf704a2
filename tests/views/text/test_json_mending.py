"""Ways to mend a text that is no JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import refexplorer as rx
from refexplorer.core.errors import SpecError
from refexplorer.views.editor.editor_controller import EditorController
from refexplorer.views.text.fixes import TextEdit, _applied, mend_json

WRITTEN = [
    "//",
    "/*",
    "#",
    "'",
    '"',
    "0x1",
    "1_0",
    "\u201c",
    "(",
    "True",
    ",",
    "}",
    "]",
    "\t",
    "\\",
    "=",
    "b'",
    "...",
]
"""What slips into a text."""
DOCUMENTS = st.recursive(
    st.integers() | st.text(max_size=4) | st.none(), lambda one: st.lists(one, max_size=3)
).map(lambda value: json.dumps({"a": value}))


@pytest.mark.parametrize(
    ("text", "label", "mended"),
    [
        ('{"a": "b', 'Close with "}', {"a": "b"}),
        ('{"gen": [{"key": "x/{{i}}\n', 'Close with "}]}', {"gen": [{"key": "x/{{i}}"}]}),
        ('{"a": "b}', 'Close the text with "', {"a": "b"}),
        ('{"a": "b"', "Close with }", {"a": "b"}),
    ],
)
def test_an_unclosed_text_is_closed_with_what_is_open_around_it(
    text: str, label: str, mended: object
) -> None:
    with pytest.raises(json.JSONDecodeError) as failed:
        json.loads(text)
    offered = dict(mend_json(text, failed.value.pos))
    assert json.loads(_applied(text, offered[label])) == mended


def test_an_unclosed_text_is_reported_in_a_whole_sentence() -> None:
    with pytest.raises(SpecError, match='the text that begins here is not closed by "'):
        rx.open_references(b'{"a": "b')


SLIPS = [
    ('{\n // note\n "a": "x"}', "2:2: JSON has no comments", {"a": "x"}),
    ('{"a": "x", /* two\nlines */ "b": "y"}', "1:12: JSON has no comments", {"a": "x", "b": "y"}),
    ('{"a": "x" # note\n}', "1:11: JSON has no comments", {"a": "x"}),
    ('{"a": "x"} // end', "1:12: JSON has no comments", {"a": "x"}),
    ('// by kerchunk\n{"a": "x"}', "1:1: JSON has no comments", {"a": "x"}),
    ('{"a": "x",}', "1:10: remove the comma, since } follows", {"a": "x"}),
    ('{"a": ["f", 0, 5, ]}', "1:17: remove the comma, since ] follows", {"a": ["f", 0, 5]}),
    ('{"a": "x",, "b": "y"}', "1:11: add a value", {"a": "x", "b": "y"}),
    ('{"a": "x"\n "b": "y"}', "2:2: a comma is missing before this", {"a": "x", "b": "y"}),
    ('{"a" "x"}', "1:6: a colon is missing", {"a": "x"}),
    ('{"a" = "x"}', "1:6: use : between a name and its value, not =", {"a": "x"}),
    ('{"a": "x"; "b": "y"}', "1:10: use , between values, not ;", {"a": "x", "b": "y"}),
    (
        '{"a": ["f", 0x10, 5]}',
        "1:13: JSON has no hexadecimal numbers; write 16",
        {"a": ["f", 16, 5]},
    ),
    ('{"a": ["f", 0o17, 5]}', "1:13: JSON has no octal numbers; write 15", {"a": ["f", 15, 5]}),
    ('{"a": ["f", 010, 5]}', "1:13: a number does not begin with 0", None),
    ('{"a": ["f", +10, 5]}', "1:13: a number has no +", {"a": ["f", 10, 5]}),
    (
        '{"a": ["f", 1_000, 5]}',
        "1:13: digits of a number are not divided by _",
        {"a": ["f", 1000, 5]},
    ),
    ('{"a": {"b": -.5}}', "1:13: a number has a digit before its point", {"a": {"b": -0.5}}),
    ('{"a": {"b": 5.}}', "1:13: a number has a digit after its point", {"a": {"b": 5.0}}),
    ("{\u201ca\u201d: \u201cx\u201d}", '1:2: use the straight ", not \u201c', {"a": "x"}),
    ("{'a': 'x'}", "1:2: use \", not '", {"a": "x"}),
    ('{a: "x", b_2: "y"}', '1:2: put the name in quotes: "a"', {"a": "x", "b_2": "y"}),
    ('{"a": x}', '1:7: put the text in quotes: "x"', None),
    ('{"a": "x"}\n{"b": "y"}', "2:1: a second document begins here", None),
    ('{"a": ("f", 0, 5)}', "1:7: JSON has no tuples; write a list", {"a": ["f", 0, 5]}),
    ('{"a": {"b": True}}', "1:13: use true, not True", {"a": {"b": True}}),
    ('{"a": {"b": None}}', "1:13: use null, not None", {"a": {"b": None}}),
    ('{"a": {"b": undefined}}', "1:13: JSON has no undefined", {"a": {"b": None}}),
    ("{\"a\": b'x'}", "1:7: a text has no b before its quotes", {"a": "x"}),
    ('{"a": b"x"}', "1:7: a text has no b before its quotes", {"a": "x"}),
    ('{"a": """x\ny"""}', '1:7: a text has one " on either side, not three', {"a": "x\ny"}),
    ('{"a": "x\ny"}', "1:9: a text ends on its line; a line break in it is written \\n", None),
    ('{"a": "x\ty"}', "1:9: a tab in a text is written \\t", {"a": "x\ty"}),
    ('{"a": "C:\\d\\x"}', "1:10: a backslash in a text is written \\\\", None),
    ('{"a": "\\d"}', "1:8: a backslash in a text is written \\\\", {"a": "\\d"}),
    ('{"a": "x"', "1:10: the text ends before the { is closed", {"a": "x"}),
    ('{"a": "x"}}', "1:11: remove this }: the document ended", {"a": "x"}),
    ('{"a": ["f", 0, 5}', "1:17: } does not close the [ that is open", {"a": ["f", 0, 5]}),
    ('refs = {"a": "x"}', "1:1: leave out refs =, since a document begins with {", {"a": "x"}),
    ('{\u00a0"a": "x"}', "1:2: use an ordinary space", {"a": "x"}),
    ('```json\n{"a": "x"}\n```', "1:1: ``` marks code in Markdown", {"a": "x"}),
    ('>>> {"a": "x"}', "1:1: the prompt >>>", {"a": "x"}),
    ('{"a": "x", ...}', "1:12: ... is a placeholder for something omitted", None),
    ("a: x", "1:1: a reference set in JSON begins with {", None),
    ('{"a", "b"}', "1:5: the name before this has no value", None),
]


@pytest.mark.parametrize(("text", "says", "mended"), SLIPS, ids=[says for _, says, _ in SLIPS])
def test_a_common_slip_is_named_at_its_place_and_mended(
    text: str, says: str, mended: object
) -> None:
    note = first_note(text)
    assert note["message"].startswith(f"The document is not JSON at line {says}")
    # offsets count what lies before the place, in the line of the message as well
    place = note["message"].removeprefix("The document is not JSON at line ")
    line, column = (int(part) for part in place.split(":")[:2])
    before = text.split("\n")[: line - 1]
    offset = sum(len(one) + 1 for one in before) + column - 1
    assert note["from"] == min(offset, len(text) - 1)
    applied = [_applied(text, _edits(fix)) for fix in note["fixes"]]
    assert [json.loads(one) for one in applied if _is_json(one)][:1] == (
        [] if mended is None else [mended]
    )


def first_note(text: str) -> dict[str, Any]:
    ((reply, _),) = EditorController(text).handle({"id": "t:1", "op": "notes"})
    found: dict[str, Any] = reply["notes"][0]
    return found


def _edits(fix: dict[str, Any]) -> list[TextEdit]:
    return [(change["from"], change["to"], change["insert"]) for change in fix["changes"]]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ('\ufeff{"a": "x"}', {"a": "x"}),
        ('{"a": {"fill_value": NaN}}', {"a": {"fill_value": "NaN"}}),
        ('{"a": {"fill_value": -Infinity}}', {"a": {"fill_value": "-Infinity"}}),
    ],
)
def test_what_is_read_but_is_no_json_is_mended_too(text: str, mended: object) -> None:
    note = first_note(text)
    (fix,) = note["fixes"]
    assert json.loads(_applied(text, _edits(fix))) == mended


@given(text=DOCUMENTS, cut=st.integers(0, 60), slip=st.sampled_from(WRITTEN))
def test_whatever_slips_into_json_has_its_note(text: str, cut: int, slip: str) -> None:
    """No text makes the naming of slips itself fail."""
    cut = min(cut, len(text))
    spoiled = text[:cut] + slip + text[cut:]
    ((reply, _),) = EditorController(spoiled).handle({"id": "t:1", "op": "notes"})
    assert "error" not in reply
