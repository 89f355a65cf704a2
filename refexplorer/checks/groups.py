"""Findings put together by cause and array, and why other references are not known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from refexplorer.checks.records import NAMED_KEYS, FileDifference
from refexplorer.core.text import array_text, counted, escape, file_text
from refexplorer.spec.codes import CODES
from refexplorer.spec.findings import Finding, pointer
from refexplorer.spec.zarr_metadata import ArrayMeta

# groups that keep their own values; later ones are counted under their cause alone
KEPT_FINDINGS = 10_000
KEPT_REASONS = 1_000
"""Beyond it they are counted together."""
NAMED_FILES = 20
"""Files that a finding names."""
_SHOWN_FILES = 5
_CHARS = 400  # characters of what a file says: it may hold any text
_SINGULAR = {"have": "has", "are": "is", "cannot": "cannot", "may": "may"}
_PHRASES = {
    "range-past-end": ("reaches past the end of", "reach past the end of"),
    "overlapping-ranges": ("partly overlaps another one of", "partly overlap others of"),
}
"""What ranges do with their files, one of them and several."""
_OF_ZARRAY = {
    "dtype", "byte-order", "rank", "shape", "ragged", "chunk-shape", "order", "filters",
    "fill_value", "lacking-object",
}  # fmt: skip
"""What stands in ``.zarray``; the rest in ``.zattrs``."""


class CauseKey(NamedTuple):
    """What findings that are put together have in common."""

    code: str
    path: str | None  # The array; None: keys outside arrays
    # ours, theirs: What the set and the file say
    ours: str | None
    theirs: str | None
    number: int | None  # The file, where each has a finding of its own


@dataclass
class FindingGroup:
    """What is known of one cause."""

    message: str | None = None
    references: int = 0
    keys: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    file_count: int = 0
    last: int | None = None


class FindingGroups:
    """The findings of a run by their causes."""

    def __init__(self, arrays: Mapping[str, ArrayMeta], base: str) -> None:
        self._arrays, self._base = arrays, base
        self._groups: dict[CauseKey, FindingGroup] = {}

    def note(
        self,
        path: str | None,
        number: int,
        url: str | None,
        found: FileDifference,
        is_apart: bool = False,
    ) -> FindingGroup:
        """Take in what was found of one array and file; apart from others if so asked."""
        of = number if is_apart else None
        key = CauseKey(found.cause, path, found.ours, found.theirs, of)
        if key not in self._groups and len(self._groups) >= KEPT_FINDINGS:
            key = CauseKey(found.cause, path, None, None, None)
        group = self._groups.setdefault(key, FindingGroup(found.message))
        group.references += found.count
        group.keys += found.keys[: NAMED_KEYS - len(group.keys)]
        if group.last != number:
            group.last = number
            group.file_count += 1
            if len(group.files) < NAMED_FILES and url:
                group.files.append(url)
        return group

    def has(self, code: str, path: str) -> bool:
        """Say whether there is a finding of a code and an array."""
        return any(key[:2] == (code, path) for key in self._groups)

    def findings(self, n_files: Callable[[str], int]) -> Iterator[Finding]:
        """Yield them; `n_files` tells with how many files an array was compared."""
        for key, group in self._groups.items():
            path = key.path or ""
            is_range = key.code in _PHRASES
            of = group.file_count if key.path is None else max(n_files(path), group.file_count)
            message = _range_text(key, group) if is_range else _text(key, group, of)
            first = group.keys[0] if group.keys else self._metadata_key(path, key.code)
            yield Finding(
                key.code, CODES[key.code].severity, self._base + pointer(first or ""), message,
                key=first, array=path, keys=tuple(group.keys),
                reference_count=group.references or None, files=tuple(group.files),
                file_count=group.file_count, ours=key.ours, theirs=key.theirs,
            )  # fmt: skip

    def _metadata_key(self, path: str, code: str) -> str | None:
        if path not in self._arrays:
            return None
        meta = self._arrays[path]
        is_attribute = meta.zarr_format == 2 and code not in _OF_ZARRAY
        return meta.folder + ".zattrs" if is_attribute else meta.metadata_key


def _range_text(key: CauseKey, group: FindingGroup) -> str:
    """Return the sentence on ranges that are wrong within their files."""
    one, many = _PHRASES[key.code]
    ranges = counted(group.references, f"range {one}", f"ranges {many}")
    files = file_text(group.files[0]) if len(group.files) == group.file_count == 1 else (
        counted(group.file_count, "file"))  # fmt: skip
    size = f", {group.message}" if group.message and key.number is not None else ""
    such = "" if group.references == 1 else "such as "
    key_text = escape(group.keys[0], _CHARS)
    where = "" if key.path is None else f"{array_text(key.path)}: "
    return f"{where}{ranges} {files}{size} ({such}{key_text})"


def _text(key: CauseKey, group: FindingGroup, of: int) -> str:
    """Return the sentence on what files say."""
    said, files, count = group.message, group.files, group.file_count
    if key.theirs is not None:
        said = f"{key.code.replace('-', ' ')} {key.theirs}, the set says {key.ours}"
    if group.keys and not any(name in (said or "") for name in group.keys):
        first = f"such as {group.keys[0]}"
        said = f"{said.rstrip('.')}, {first}" if said else first
    verb, _, rest = CODES[key.code].predicate.partition(" ")
    which = counted(count, "file") if of <= 1 else f"{count:,} of {counted(of, 'file')}"
    verb = _SINGULAR.get(verb, verb + "s") if count == 1 else verb
    inside = f" ({escape(said, _CHARS)})" if said else ""
    names = ", ".join(map(file_text, files[:_SHOWN_FILES]))
    more = ", …" if count > min(len(files), _SHOWN_FILES) else ""
    where = "Keys of no array" if key.path is None else array_text(key.path)
    found = f"{where}: {which} {verb} {rest}{inside}"
    return f"{found}: {names}{more}" if names else found


class Reasons:
    """Why references were not looked at, by array; and why files could not be read."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str | None, str]] = Counter()
        self.failures: dict[str, str] = {}
        self.grants: dict[str, None] = {}

    def add(self, path: str | None, reason: str, count: int) -> None:
        """Count references with a reason."""
        if len(self.counts) >= KEPT_REASONS and (path, reason) not in self.counts:
            reason = "Other reasons."
        self.counts[path, reason] += count

    def forbid(self, path: str | None, grant: str | None, message: str, count: int) -> None:
        """Count references to a file that may not be read; keep what would allow it."""
        if grant and len(self.grants) < NAMED_FILES:
            self.grants[grant] = None
        self.add(path, "The file may not be read yet." if grant else message, count)

    def fail(self, url: str | None, message: str) -> None:
        """Keep why a file cannot be read."""
        if url is not None and len(self.failures) < KEPT_REASONS:
            self.failures.setdefault(url, message)

    @property
    def ordered(self) -> tuple[tuple[str | None, str, int], ...]:
        """Array, reason and number of references, what is of most references first."""
        counts = sorted(self.counts.items(), key=lambda item: -item[1])
        return tuple((path, why, n) for (path, why), n in counts)
