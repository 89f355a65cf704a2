"""The house grows no larger than it is: what comes in makes room for itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

from tests.helpers.sources import PACKAGE, modules
from tests.house import front_texts, logic_count, view_files, walks

MODULES, LINES, TYPESCRIPT = 295, 77_300, 23_600
"""The figures when this was written and 1 %; to be lowered with each that goes."""
CHUNK, ROW = 15, 20
"""Modules that a chunk passes from its reference to its values, and the first row from opening."""
VIEW_FILES = 4
"""Files that name one view: its controller, component, store and style."""
NAMED = re.compile(r"(?<![\w/.:-])((?:[\w.-]+/)*[\w-]+\.(?:pyi?|tsx?|css|mjs|toml|jsonc))\b")
ALL_LINES = re.MULTILINE | re.DOTALL
MADE = {"node_modules", "generated"}


def test_there_are_no_more_modules_and_lines() -> None:
    texts = modules().values()
    assert len(texts) <= MODULES, "put it into a module that is there, or join two"
    assert sum(text.count("\n") for text in texts) <= LINES
    assert sum(text.count("\n") for text in front_texts("ts", "tsx")) <= TYPESCRIPT


def test_a_chunk_and_the_first_row_pass_few_modules() -> None:
    chunk, row = walks().values()
    assert chunk <= CHUNK
    assert row <= ROW


def test_a_view_is_named_in_its_own_files_alone() -> None:
    assert len([*view_files()]) <= VIEW_FILES


def test_what_counts_as_logic() -> None:
    text = '''
        """A module."""

        import os

        LIMIT = 3
        """Why three."""

        class Box:  # counts
            """A class."""

            size: int

            @property
            def whole(
                self,
            ) -> int:
                """A method."""
                # no comment counts
                return (
                    self.size + LIMIT
                )
    '''
    assert logic_count(dedent(text)) == 6


def test_files_that_comments_and_docstrings_name_are_there() -> None:
    """By the end of their path; a file that moved is found in none of them."""
    root = PACKAGE.parent
    folders = [PACKAGE, *(root / name for name in ("tests", "docs"))]
    paths = [path for path in root.iterdir() if path.is_file()]
    paths += [path for each in folders for path in each.rglob("*.*") if not MADE & {*path.parts}]
    names = {f"/{path.relative_to(root).as_posix()}" for path in paths}
    ends = {name[place:] for name in names for place, sign in enumerate(name) if sign == "/"}
    # What a build makes, and what people write.
    ends |= {"/protocol.ts", "/generated/views.ts", "/refexplorer.toml"}
    lost = [
        f"{path.relative_to(root)}: {name}"
        for path in paths
        for remark in _remarks(path)
        for name in NAMED.findall(remark)
        if f"/{name}" not in ends
    ]
    assert not lost


def _remarks(path: Path) -> Iterator[str]:
    """Yield the comments of a file, and the docstrings of a module."""
    if path.suffix == ".py":
        text = path.read_text(encoding="utf-8")
        yield from re.findall(r'#[^\n]*|^ *(?:"""|\'\'\').*?(?:"""|\'\'\')', text, ALL_LINES)
    elif path.suffix in (".ts", ".tsx", ".css", ".mjs"):
        text = path.read_text(encoding="utf-8")
        yield from re.findall(r"/\*.*?\*/|(?<![:\"'`])//[^\n]*", text, ALL_LINES)
