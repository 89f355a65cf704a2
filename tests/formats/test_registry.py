"""Forms: ours under their own names, and those of other packages, which cannot stop ours."""

from __future__ import annotations

import json
import pickle
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import refexplorer as rx
from refexplorer.core.errors import FormWarning
from refexplorer.core.limits import Limits
from refexplorer.formats.columns.table import Entries, EntriesBuilder
from refexplorer.formats.documents import read_long, read_whole
from refexplorer.formats.forms import FORMS, LAST, installed_forms
from refexplorer.formats.source import Source
from refexplorer.io.access import AccessPolicy
from refexplorer.spec.findings import Findings
from refexplorer.verbs.opening import open_guarded, set_of
from tests.helpers.commands import run

PAIRS = '''
    """A text of lines: key, URL, offset, length; the first line is PAIRS."""
    from refexplorer.core.errors import SourceError
    from refexplorer.formats.columns.table import EntriesBuilder
    from refexplorer.formats.source import SourceForm
    from refexplorer.formats.source import Source

    class PairsForm(SourceForm):
        name = "pairs"
        guarded = {guarded}

        def of_file(self, file, terms):
            if not file.head.startswith(b"PAIRS\\n"):
                return None
            with file.content() as stream:
                rows = [line.split() for line in stream.read().decode().splitlines()]
            if terms.progress:
                terms.progress(1, 2)
            if not all(rows):
                raise SourceError(f"{{file.name}} has a line without a key.")
            good = [row for row in rows[1:] if len(row) == 4]
            keys, urls, offsets, lengths = zip(*good)
            builder = EntriesBuilder()
            builder.add_ranges(keys, urls, list(map(int, offsets)), list(map(int, lengths)))
            for number, row in enumerate(rows[1:], 2):
                if len(row) != 4:
                    message = f"The row has {{len(row)}} cells instead of 4."
                    builder.add_rejected(row[0], message, number)
            builder.add_values({{".zgroup": '{{"zarr_format": 2}}'}})
            return Source(file.name, self.name, file.location, entries=builder.finish())
'''
BROKEN = {
    "cannot be imported": "import nothing_of_this_name",
    "is no form": "PairsForm = dict",
    "is a function that fails": "def PairsForm():\n    raise OSError('no licence')",
    "has a name of ours": """
        from refexplorer.formats.source import SourceForm
        class PairsForm(SourceForm):
            name = "V0"
    """,
    "fails when asked": """
        from refexplorer.formats.source import SourceForm
        class PairsForm(SourceForm):
            name = "pairs"
            def of_object(self, given, terms):
                raise RuntimeError("boom")
            of_folder = of_file = of_object
    """,
    "gives no source": """
        from refexplorer.formats.source import SourceForm
        class PairsForm(SourceForm):
            name = "pairs"
            def of_object(self, given, terms):
                return {}
            of_folder = of_file = of_object
    """,
    "gives a source of nothing": """
        from refexplorer.formats.source import SourceForm
        from refexplorer.formats.source import Source
        class PairsForm(SourceForm):
            name = "pairs"
            def of_object(self, given, terms):
                return Source("empty", "pairs")
            of_folder = of_file = of_object
    """,
}


def install(folder: Path, text: str, guarded: bool = True) -> None:
    """Lay a package with a form into a folder, as an installer does."""
    module = dedent(text).replace("{guarded}", str(guarded)).replace("{{", "{").replace("}}", "}")
    (folder / "pairs_form.py").write_text(module)
    about = folder / "pairs_form-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: pairs-form\nVersion: 1.0\n")
    points = "[refexplorer.sources]\npairs = pairs_form:PairsForm\n"
    (about / "entry_points.txt").write_text(points)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    lines = ["PAIRS", *(f"x/{n} s3://b/f{n} {n * 10} 10" for n in range(3))]
    (tmp_path / "set.pairs").write_text("\n".join(lines))
    (tmp_path / "plain.json").write_text('{"a": "x"}')
    (tmp_path / "bad.pairs").write_text("\n".join([*lines, "x/3 s3://b/f3 30", "y/0 s3://b/f 0 1"]))
    (tmp_path / "no.pairs").write_text("PAIRS\n\n")
    return tmp_path


@pytest.fixture
def installing(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose packages are installed for this process, as long as the test runs."""
    monkeypatch.chdir(place)
    monkeypatch.syspath_prepend(place)
    installed_forms.cache_clear()
    yield place
    installed_forms.cache_clear()
    sys.modules.pop("pairs_form", None)


def test_a_form_of_another_package_opens_as_columns(installing: Path) -> None:
    install(installing, PAIRS)
    refs = rx.open_references("set.pairs")
    again = pickle.loads(pickle.dumps(refs))
    plain = rx.open_references("plain.json")
    assert [each.source.form for each in (refs, again, plain)] == ["pairs", "pairs", "V0"]
    ranges = {f"x/{n}": [f"s3://b/f{n}", n * 10, 10] for n in range(3)}
    assert refs.to_v0() == {**ranges, ".zgroup": '{"zarr_format": 2}'}
    assert again.to_v0() == refs.to_v0()
    assert rx.open_references(rx.infer(refs).document).to_v0() == refs.to_v0()
    assert [step.name for step in refs.explain("x/1").steps] == ["reference"]
    assert refs.error_count == 0
    assert f"refexplorer.open_references({str(installing / 'set.pairs')!r})" in refs.code()
    assert len(rx.dialects("set.pairs").verdicts) > 1
    with pytest.raises(rx.errors.SourceError, match=r"^no\.pairs has a line without a key\.$"):
        rx.open_references("no.pairs")


def test_a_bad_row_is_rejected_and_the_others_are_read(installing: Path) -> None:
    install(installing, PAIRS)
    refs = rx.open_references("bad.pairs")
    assert [key for key in refs if key != ".zgroup"] == ["x/0", "x/1", "x/2", "y/0"]
    again = pickle.loads(pickle.dumps(refs))
    for each in (refs, again):
        (found,) = [each for each in each.diagnostics if each.code == "bad-row"]
        assert str(found) == ("error bad-row at line 5, /x~13: The row has 3 cells instead of 4.")
        assert each.rejection("x/3") == found
    with pytest.warns(rx.errors.LeftOutWarning, match=r"^bad\.pairs has 1 error\. "):
        files = refs.filesystem()
    with pytest.raises(rx.errors.FetchError, match=r"x/3 cannot be used: .*line 5"):
        files.cat("x/3")
    ran = run("info", "bad.pairs")
    assert (ran.status, ran.err) == (
        1, "bad.pairs has 1 error; `refexplorer check` lists them.\n"
    )  # fmt: skip
    assert "line 5, /x~13: The row has 3 cells" in run("check", "bad.pairs").out
    assert len(rx.dialects("bad.pairs").verdicts) > 1


def test_a_row_is_rejected_with_a_code_of_the_catalogue() -> None:
    builder = EntriesBuilder()
    builder.add_ranges(["a"], ["u"], [0], [1])
    builder.add_rejected("a", "The offset is missing.", code="bad-offset")
    refs = entries_of(builder)
    assert list(refs) == []  # of equal keys the last one counts
    assert {found.code for found in refs.diagnostics} >= {"bad-offset", "duplicate-key"}
    with pytest.raises(ValueError, match="no code 'odd-row'"):
        builder.add_rejected("b", "It is odd.", code="odd-row")


def test_an_exception_of_progress_comes_out_of_a_form(installing: Path) -> None:
    install(installing, PAIRS)

    def progress(done: int, size: int) -> None:
        raise InterruptedError("enough")

    with pytest.raises(InterruptedError, match=r"^enough$"):
        rx.open_references("set.pairs", progress=progress)


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_form_that_is_broken_is_named_and_stops_no_other(
    text: str, installing: Path, demo: Path
) -> None:
    install(installing, text)
    sources = [demo / name for name in ("sst.v0.json", "sst.v1.json", "sst.parq")]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        forms = [rx.open_references(source).source.form for source in (*sources, {"a": "x"})]
        with pytest.raises(rx.errors.SourceError, match=r"set\.pairs"):
            rx.open_references("set.pairs")
    assert forms == ["V0", "V1", "parquet", "V0"]
    assert {each.category for each in caught} == {FormWarning}
    for each in caught:
        sentence = str(each.message)
        assert sentence.startswith("The form pairs ")
        assert sentence.endswith(".")
        assert "\n" not in sentence


def test_the_command_line_tells_of_it_in_one_line(installing: Path) -> None:
    install(installing, BROKEN["cannot be imported"])
    ran = run("ls", "plain.json")
    assert ran.out.startswith("a\t")
    assert ran.err == (
        "The form pairs (pairs_form:PairsForm) cannot be used: ModuleNotFoundError: No module "
        "named 'nothing_of_this_name'.\n"
    )


@pytest.mark.parametrize("guarded", [False, True])
def test_what_a_visitor_chose_is_shown_to_forms_that_keep_to_its_files(
    guarded: bool, installing: Path
) -> None:
    install(installing, PAIRS, guarded)
    policy = AccessPolicy(None, ["."])
    if guarded:
        assert open_guarded("set.pairs", policy, rx.Limits()).source.form == "pairs"
    else:
        with pytest.raises(rx.errors.SpecError):
            open_guarded("set.pairs", policy, rx.Limits())


def test_no_file_chooses_code(installing: Path) -> None:
    """A module that lies beside a set and that the set names, as an entry point or not."""
    (installing / "pairs_form.py").write_text(dedent(PAIRS))
    named = {"form": "pairs_form:PairsForm", "refexplorer.sources": "pairs = pairs_form:PairsForm"}
    (installing / "named.json").write_text(json.dumps(named))
    (installing / "entry_points.txt").write_text(
        "[refexplorer.sources]\npairs = pairs_form:PairsForm\n"
    )
    assert rx.open_references("named.json").count == 2
    assert "pairs_form" not in sys.modules


def test_forms_have_names_of_their_own() -> None:
    names = [form.name for form in (*FORMS, LAST)]
    assert len(set(names)) == len(names)
    assert {"VirtualiZarr", "Icechunk", "parquet"} < set(names)
    assert names[-1] == "JSON"
    assert [form.name for form in (*FORMS, LAST) if not form.guarded] == []


def entries_of(builder: EntriesBuilder) -> rx.ReferenceSet:
    source = Source("made", "made", entries=builder.finish())
    return set_of(source, Limits())


def test_references_in_columns_are_checked_as_those_of_json() -> None:
    builder = EntriesBuilder()
    builder.add_ranges(["x/0", "x/1"], ["s3://b/f", "s3://b/f"], [2**63, 5], [4, 2**64 - 1])
    builder.add_values({"bad": ["s3://b/f", 1], "t": "{{u}}", "none": [None, 0, 5]})
    urls = pa.array(["s3://b/g", "s3://b/{{u}}"])
    columns = np.array([7, 8]), np.array([9, 10])
    builder.add_ranges(["x/1", "k" * 70_000], urls, *columns, {})
    builder.add_ranges(["y/0", "y/1"], ["", "s3://b/h"], [0, 1], [0, 2], {0: "base64:aGk="})
    refs = entries_of(builder)
    assert refs.to_v0() == {
        "x/1": ["s3://b/g", 7, 9],
        "t": "{{u}}",
        "none": [None, 0, 5],
        "y/0": "base64:aGk=",
        "y/1": ["s3://b/h", 1, 2],
    }
    codes = {found.code for found in refs.diagnostics}
    assert {"bad-ref-shape", "duplicate-key", "key-too-long"} <= codes
    assert refs.source.form == "made"
    assert refs.source.entries is None


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ((["a"], ["u", "v"], [1], [2]), "not of one length"),
        ((["a"], ["u"], [-1], [2]), "offsets hold a number below 0"),
        ((["a"], ["u"], [1], [-(2**70)]), "lengths hold a number below 0"),
        ((["a"], ["u"], np.array([-1]), [2]), "offsets hold a number below 0"),
        ((["a"], ["u"], np.array([1.0]), [2]), "offsets are not whole numbers"),
        ((["a"], ["u"], [1.5], [2]), "offsets are not whole numbers"),
        ((["a"], ["u"], [2**64], [2]), "offsets are not whole numbers"),
        ((["a"], ["u"], [[1]], [2]), "offsets are not whole numbers"),
        ((["a"], pa.array([None], pa.string()), [1], [2]), "urls hold a null"),
        ((["\ud800"], ["u"], [1], [2]), "surrogates"),
    ],
)
def test_columns_that_no_reference_has_are_refused(columns: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        EntriesBuilder().add_ranges(*columns)


def test_columns_read_whole_are_the_same_document() -> None:
    builder = EntriesBuilder()
    builder.add_ranges(["x/0", "x/1"], ["u", "v"], [0, 2**61], [1, 1])
    builder.add_values({".zgroup": "{}"})
    source = Source("made", "made", entries=builder.finish())
    written, document = read_whole(source, None, Limits(), Findings())
    assert written == {"x/0": ["u", 0, 1], "x/1": ["v", 2**61, 1], ".zgroup": "{}"}
    assert dict(document.entries()).keys() == written.keys()
    long = read_long(source, None, Limits(), Findings(), None)
    assert long is not None
    assert isinstance(long[1], Entries)


def test_no_columns_are_an_empty_set() -> None:
    assert len(entries_of(EntriesBuilder())) == 0
