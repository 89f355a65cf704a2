"""Questions to an opened set: pages, lookups, searches, summaries."""

from __future__ import annotations

import random
from itertools import islice
from pathlib import Path
from typing import Any

from tests.benchmarks.measuring import Case, Watch

MILLION = 10**6
SHOWN = 100_000
"""Matches that the explorer asks for."""
LOOKUPS = 1_000
PAGES = 20


def summary(watch: Watch, path: Path) -> object:
    """Count everything for the first time; the first level was shown before."""
    refs = _opened(path)
    with watch.running():
        found = refs.summary()
    return [found.keys, found.targets, found.missing]


def pages(watch: Watch, path: Path) -> object:
    """Pages of 50 anywhere in a level that was shown before."""
    refs = _opened(path)
    total = refs.children("t2m", 0, 50).total
    starts = [random.Random(0).randrange(total) for _ in range(PAGES)]
    refs.summary()
    with watch.running(PAGES):
        for start in starts:
            refs.children("t2m", start, start + 50)
    return total


def lookups(watch: Watch, path: Path) -> object:
    """References of keys anywhere; one was looked up before."""
    refs = _opened(path)
    total = refs.children("t2m", 0, 50).total
    numbers = random.Random(0).choices(range(total), k=LOOKUPS)
    keys = [refs.children("t2m", number, number + 1).rows[0].path for number in numbers]
    refs.summary()
    refs[keys[0]]
    with watch.running(LOOKUPS):
        found = [refs[key] for key in keys]
    return len(found)


def search_substring(watch: Watch, path: Path) -> object:
    """Keys with a text in them."""
    return _searched(watch, path, "99.1.2", "substring")


def search_glob(watch: Watch, path: Path) -> object:
    """Keys of one array with the same end."""
    return _searched(watch, path, "t2m/*.1.2", "glob")


def search_regex(watch: Watch, path: Path) -> object:
    """Keys of all arrays with an end."""
    return _searched(watch, path, r"5\.1\.2$", "regex")


def search_regex_in_vain(watch: Watch, path: Path) -> object:
    """A pattern without a fixed text, which no key matches."""
    return _searched(watch, path, r"\d{7}", "regex")


def search_kind(watch: Watch, path: Path) -> object:
    """Keys of a rare kind."""
    return _searched(watch, path, "", "substring", "inline")


def _searched(watch: Watch, path: Path, text: str, mode: str, kind: str | None = None) -> object:
    """Search as the explorer does, in a set that was searched and counted before."""
    refs = _opened(path)
    refs.summary()
    list(refs.find("no such key", mode="substring"))
    with watch.running():
        return sum(1 for _ in islice(refs.find(text, mode=mode, kind=kind), SHOWN))


def _opened(path: Path) -> Any:
    from refexplorer import open_references

    refs = open_references(path)
    refs.children("", 0, 50)
    return refs


def _cases(kind: str, keys: int, seconds: str) -> tuple[Case, ...]:
    asked = (
        ("page of 50", "≤ 5 ms", pages),
        ("key lookup", "≤ 50 µs", lookups),
        ("search: substring", seconds, search_substring),
        ("search: glob", seconds, search_glob),
        ("search: regex", seconds, search_regex),
        ("search: regex in vain", seconds, search_regex_in_vain),
        ("search: kind", seconds, search_kind),
    )
    return tuple(Case(f"{kind}: {work}", goal, ours, (), kind, keys) for work, goal, ours in asked)


CASES = (
    Case("v0: summary", "≤ 50 ms", summary, (), "v0", MILLION),
    *_cases("v0", MILLION, "≤ 100 ms"),
    *_cases("parquet", MILLION, "≤ 100 ms"),
)
LARGE = (
    *_cases("v0", 10 * MILLION, "≤ 150 ms"),
    *_cases("parquet", 10 * MILLION, "≤ 150 ms"),
)
