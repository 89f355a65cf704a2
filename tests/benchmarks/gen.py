"""Generated keys: written out, as columns, shown while they are typed, looked up."""

from __future__ import annotations

import json
import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.benchmarks.measuring import Case, Watch, checksum
from tests.benchmarks.peers import imported_fsspec

SAMPLED_ITEMS = 4
"""Gen items of which fsspec expands the first file: 1,920 keys, each of which costs it the same."""
MILLION = 10**6
EDITS = 20


def v0_ours(watch: Watch, path: Path) -> object:
    """Write all keys out as V0."""
    from refexplorer import open_references

    refs = open_references(path)
    with watch.running():
        v0 = refs.to_v0()
    return checksum(f"{key} {v0[key]}" for key in _sample(path))


def columns_ours(watch: Watch, path: Path) -> object:
    """Make columns of all generated keys."""
    from refexplorer import open_references
    from refexplorer.refset.generated import Generated, generated_tables
    from refexplorer.refset.opened_set import internals

    opened = internals(open_references(path)).opened
    parts = [part for part in opened.parts if isinstance(part, Generated)]
    wanted = _sample(path)
    with watch.running():
        made = [list(generated_tables(part)) for part in parts]
    rows = [entry for tables in made for entry in tables[0].iterate(0, len(wanted))]
    return checksum(f"{key} {found.to_v0()}" for key, found in rows if key in wanted)


def json_ours(watch: Watch, path: Path) -> object:
    """Write all keys to a file as V0 JSON."""
    from refexplorer import open_references

    refs = open_references(path)
    with TemporaryDirectory() as folder, watch.running():
        refs.to_json(Path(folder) / "refs.json")
    return None


def parquet_ours(watch: Watch, path: Path) -> object:
    """Write all keys to a parquet store."""
    from refexplorer import open_references

    refs = open_references(path)
    with TemporaryDirectory() as folder, watch.running():
        refs.to_parquet(Path(folder) / "refs.parquet")
    return None


def columns_of_one_dimension(watch: Watch, path: Path) -> object:
    """Make columns of a million keys with a URL for each, as in the specification's example."""
    from refexplorer import open_references
    from refexplorer.refset.generated import Generated, generated_tables
    from refexplorer.refset.opened_set import internals

    (part,) = internals(open_references(_one_dimension(MILLION))).opened.segments
    assert isinstance(part, Generated)
    with watch.running():
        list(generated_tables(part))
    return None


def one_dimension_fsspec(watch: Watch, path: Path) -> object:
    """Expand the first thousand of them; the time is that of a million."""
    _fsspec(watch, _one_dimension(1000))
    watch.scale(MILLION / 1000)
    return None


def expand_fsspec(watch: Watch, path: Path) -> object:
    """Expand a sample with jinja2; the time is that of all generated keys."""
    document = json.loads(path.read_bytes())
    references = _fsspec(watch, _cut(document))
    watch.scale(_count(document) / len(references))
    return checksum(f"{key} {value}" for key, value in references.items())


def preview_ours(watch: Watch, path: Path) -> object:
    """Follow a keystroke and show 50 rows."""
    from refexplorer.views.editor.editor_controller import EditorController

    document = _one_item(path)
    texts = []
    for edit in range(EDITS + 1):
        document["gen"][0]["url"] = f"{{{{u}}}}/edited_{edit}_{{{{f}}}}.nc"
        texts.append(json.dumps(document))
    controller = EditorController(texts.pop())
    rows = {"id": "a:2", "op": "rows", "start": 0, "n": 50}
    controller.handle(rows)
    with watch.running(EDITS) as turns:
        for turn in turns:
            controller.handle({"id": "a:1", "op": "edit", "document": texts[turn]})
            controller.handle(rows)
    return None


def render_fsspec(watch: Watch, path: Path) -> object:
    """Render one key, as an average of a sample."""
    references = _fsspec(watch, _cut(json.loads(path.read_bytes())))
    watch.scale(1 / len(references))
    return None


def find_ours(watch: Watch, path: Path) -> object:
    """Find where a key is made."""
    from refexplorer import open_references

    refs = open_references(_one_item(path))
    chosen = random.Random(0).choices(range(refs.count), k=1000)
    keys = [refs.keys_at(number, number + 1)[0] for number in chosen]
    with watch.running(len(keys)) as turns:
        found = [refs.number(keys[turn]) for turn in turns]
    assert found == chosen
    return None


def _sample(path: Path) -> set[str]:
    from refexplorer import expand

    return set(expand(_cut(json.loads(path.read_bytes()))).v0)


def _cut(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with the first file of some items only."""
    items = document["gen"][:SAMPLED_ITEMS]
    cut = [{**item, "dimensions": {**item["dimensions"], "f": {"stop": 1}}} for item in items]
    return {**document, "refs": {}, "gen": cut}


def _one_item(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_bytes())
    return {**document, "gen": document["gen"][:1], "refs": {}}


def _one_dimension(stop: int) -> dict[str, Any]:
    item = {
        "key": "x/{{i}}", "url": "{{u}}/f_{{i}}.nc", "offset": "{{(i + 1) * 1000}}",
        "length": "1000", "dimensions": {"i": {"stop": stop}},
    }  # fmt: skip
    return {"version": 1, "templates": {"u": "s3://bucket"}, "refs": {}, "gen": [item]}


def _count(document: dict[str, Any]) -> int:
    total = 0
    for item in document["gen"]:
        made = 1
        for values in item["dimensions"].values():
            made *= len(values) if isinstance(values, list) else values["stop"]
        total += made
    return total


def _fsspec(watch: Watch, document: dict[str, Any]) -> dict[str, Any]:
    reference_filesystem = imported_fsspec()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "refs.json"
        path.write_text(json.dumps(document))
        with watch.running():
            filesystem = reference_filesystem(str(path), simple_templates=False)
    references: dict[str, Any] = filesystem.references
    return references


CASES = (
    Case("gen to V0", "≥ 1,000 times", v0_ours, (expand_fsspec,), "gen", MILLION),
    Case(
        "gen to V0, formats", "≥ 1,000 times", v0_ours, (expand_fsspec,), "gen-formatted", MILLION
    ),
    Case("gen to columns", "≥ 5,000 times", columns_ours, (expand_fsspec,), "gen", MILLION),
    Case(
        "gen to columns, formats",
        "≥ 5,000 times",
        columns_ours,
        (expand_fsspec,),
        "gen-formatted",
        MILLION,
    ),
    Case(
        "gen to columns, one dimension",
        "≥ 5,000 times",
        columns_of_one_dimension,
        (one_dimension_fsspec,),
        "gen",
        MILLION,
    ),
    Case("gen to a JSON file", "≤ 1 s", json_ours, (), "gen", MILLION),
    Case("gen to a parquet store", "≤ 1 s", parquet_ours, (), "gen", MILLION),
    Case(
        "keystroke and 50 rows", "≥ 1 key of fsspec", preview_ours, (render_fsspec,), "gen", 10**5
    ),
    Case(
        "keystroke and 50 rows", "≥ 1 key of fsspec", preview_ours, (render_fsspec,), "gen", 10**13
    ),
    Case("where a key of gen is made", "≤ 50 µs", find_ours, (), "gen", 10**13),
)
