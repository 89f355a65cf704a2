"""The models of the two maps, as CONTRIBUTING.md lists them; numbers travel beside as buffers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MapTarget:
    """A target in a map of chunks, with the number that its colour goes by."""

    url: str | None
    number: int


@dataclass(frozen=True, slots=True)
class Grid:
    """A picture of the chunks of an array, or of a part of them."""

    array: str
    arrays: tuple[str, ...]
    grid: tuple[int, ...]
    dimensions: tuple[str, ...]
    key_start: str
    separator: str
    axes: tuple[int, ...]
    window: tuple[tuple[int, int], ...]
    steps: tuple[int, ...]
    rows: int
    columns: int
    states: tuple[str, ...]
    counts: tuple[int, ...]
    targets: tuple[MapTarget, ...]
    target_count: int
    outside: int
    sampled: bool


@dataclass(frozen=True, slots=True)
class TargetRow:
    """A target in the table of targets; size and state are known after it was checked."""

    url: str | None
    ranges: int
    whole: int
    bytes: int
    end: int
    arrays: tuple[str | None, ...]
    array_count: int
    size: int | None
    state: str
    message: str | None


@dataclass(frozen=True, slots=True)
class MapArray:
    """An array in a map of a target, with the number that its colour goes by; None: other keys."""

    path: str | None
    number: int


@dataclass(frozen=True, slots=True)
class MapRange:
    """A byte range of a target; `array` is a place in `Layout.arrays`."""

    key: str
    array: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Layout:
    """A target and a window of it; `shown` is None where there are too many ranges to list."""

    url: str | None
    start: int
    stop: int
    end: int
    ranges: int
    whole: int
    whole_keys: tuple[str, ...]
    bytes: int
    gaps: int
    gap_bytes: int
    shared: int
    shared_bytes: int
    arrays: tuple[MapArray, ...]
    shown: tuple[MapRange, ...] | None
    unlisted: int
