"""Runs the installed readers on a set, and compares their keys with those of the set.

They run in `child`, a child process under limits of memory and time, on a sample of the keys: of
a large set one from its first key to its last, of a large `gen` some combinations.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.limits import Limits
from refexplorer.core.processes import OWN_MEMORY, Children, LateError, LostError, has_processes
from refexplorer.core.text import counted
from refexplorer.formats.documents import read_long, read_whole
from refexplorer.formats.json.blocks import DocumentEntries
from refexplorer.formats.source import Source
from refexplorer.readers.child import installed
from refexplorer.readers.features import FSSPEC, ICECHUNK, JINJA, VIRTUALIZARR, Use
from refexplorer.readers.verdicts import Basis, KeyDifference, Outcome, Verdict, VerdictReason
from refexplorer.refset.opened_set import Contents
from refexplorer.spec.document import Document, read_document
from refexplorer.spec.findings import Findings
from refexplorer.spec.gen.item import runs
from refexplorer.spec.references import V0Value
from refexplorer.spec.zarr_metadata import is_metadata

RUN = {
    "V0": (FSSPEC, JINJA, VIRTUALIZARR), "V1": (FSSPEC, JINJA, VIRTUALIZARR),
    "parquet": (FSSPEC, JINJA), "DMR++": (VIRTUALIZARR,), "data file": (VIRTUALIZARR,),
    "Icechunk": (ICECHUNK,),
}  # fmt: skip
"""Readers that can be run, by the form of the source."""
KEYS = 20_000  # Explicit references of a sample; fsspec and VirtualiZarr read them in half a second
MADE_KEYS = 400  # Generated keys of a sample: fsspec renders them slowly
SECONDS = 20  # time for one reader; then its child is stopped
_MEMORY = 2 * OWN_MEMORY
_EXAMPLES = 5  # differing keys that are shown
_LONGEST_EXAMPLE = 10_000  # characters of the value of such a key
_children = Children("refexplorer.readers.child", 2)


@dataclass(frozen=True)
class KeysSample:
    """Keys of a set on which readers are run."""

    # form, place, snapshot: Of the source; the folder or file that readers open themselves, and its
    # version
    form: str
    given: Any  # What they are given instead: a document, or the keys to look up
    expected: Mapping[str, V0Value]  # Each key with its value by the specification
    total: int  # The number of keys of the whole set
    templates: Mapping[str, str]  # What replaces templates of the document
    place: str | None = None
    snapshot: str | None = None

    @property
    def is_part(self) -> bool:
        return len(self.expected) < self.total


class NotRunError(Exception):
    """The reader cannot be run here: one sentence."""


def sample_of(
    source: Source,
    contents: Contents,
    templates: Mapping[str, str],
    limits: Limits,
    uses: Sequence[Use] = (),
) -> KeysSample:
    """Return the sample for readers: it contains the first key of each feature."""
    total = contents.opened.count
    if source.form in ("V0", "V1"):
        written, document = _part_of_document(source, templates, limits, uses)
        expected = _expected(document)
        return KeysSample(source.form, written, expected, max(total, len(expected)), templates)
    found = {}
    for part, low, high in contents.opened.intervals():
        wanted = max(1, KEYS // 10 * (high - low) // max(total, 1))
        for row in _sample_indices(high - low, wanted):
            reference = part.reference_at(low + row)
            if reference is not None:
                found[part.key_at(low + row)] = reference.to_v0()
    place, snapshot = _place(source)
    return KeysSample(source.form, [*found], found, total, {}, place, snapshot)


def _place(source: Source) -> tuple[str | None, str | None]:
    """Return the local path of a source for a reader, and its version."""
    if source.repository is not None:
        place, snapshot = source.repository.place, source.repository.snapshot
    elif source.store is not None:
        protocols, path = np.atleast_1d(source.store[0].protocol).tolist(), source.store[1]
        if source.zip_url is not None and Path(source.place or "").exists():
            return source.zip_url, None
        place, snapshot = (path if "file" in protocols else None), None
    else:
        place, snapshot = source.place, None
        if place is None and source.location is not None:
            place = f"{source.location}/{source.name}"
    is_here = place is not None and "://" not in place and Path(place).exists()
    return (place if is_here else None), snapshot


def _part_of_document(
    source: Source, templates: Mapping[str, str], limits: Limits, uses: Sequence[Use]
) -> tuple[dict[str, Any], Document]:
    """Return a part of a document, as written and as interpreted."""
    wanted = [use.key for use in uses if use.key is not None]
    long = read_long(source, templates, limits, Findings(), None)
    if long is not None and isinstance(long[1], DocumentEntries):
        entries = long[1]
        values = np.fromiter(entries.values, np.int64, len(entries.values))
        marked = pc.index_in(pa.array(wanted, pa.large_string()), value_set=entries.keys)
        rows = _chosen(len(entries.keys), values, marked.drop_null().to_numpy())
        refs, written = entries.as_v0(rows), dict(entries.outer)
        is_v1 = entries.is_v1
    else:
        whole, document = read_whole(source, templates, limits, Findings())
        written, refs, is_v1 = dict(whole), dict(document.refs), bool(document.version)
        if len(refs) > KEYS:
            keys = list(refs)
            first = np.flatnonzero([is_metadata(str(key)) for key in keys])
            marked = np.array([n for n, key in enumerate(keys) if key in {*wanted}], np.int64)
            refs = {keys[n]: refs[keys[n]] for n in _chosen(len(keys), first, marked).tolist()}
    if not is_v1:
        return dict(refs), read_document(refs, templates, limits, Findings())
    if "refs" in written and (refs or isinstance(written["refs"], Mapping)):
        written["refs"] = dict(refs)
    if isinstance(written.get("gen"), list):
        written["gen"] = _part_of_gen(written["gen"])
    return written, read_document(written, templates, limits, Findings())


def _chosen(n: int, first: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return rows to compare, ascending: the wanted ones, some of `first`, and a spread."""
    if n <= KEYS:
        return np.arange(n)
    return np.unique(np.concatenate([first[: KEYS // 2], wanted, _sample_indices(n, KEYS // 2)]))


def _sample_indices(n: int, wanted: int) -> list[int]:
    """Return numbers below n, from the first to the last; n may be arbitrarily large."""
    wanted = min(n, wanted)
    return sorted({(n - 1) * step // max(wanted - 1, 1) for step in range(wanted)})


def _part_of_gen(gen: list[Any]) -> list[Any]:
    """Return gen items with few keys: one item for each sampled combination."""
    axes_of = list(map(_axes, gen))
    sizes = [prod(_length(values) for values, _ in (axes or {}).values()) for axes in axes_of]
    if sum(sizes) <= MADE_KEYS:
        return gen
    share, found = max(MADE_KEYS // len(gen), 4), []
    for number in _sample_indices(len(gen), MADE_KEYS // 4):
        item, axes = gen[number], axes_of[number]
        if axes is None or sizes[number] <= share:
            found.append(item)
            continue
        for at in _sample_indices(sizes[number], share):
            chosen: dict[str, Any] = {}
            for name, (values, given) in reversed(axes.items()):
                at, position = divmod(at, _length(values))
                value = values[position]
                is_list = isinstance(given, list)
                chosen[name] = [value] if is_list else {"start": value, "stop": value + 1}
            found.append({**item, "dimensions": dict(reversed(chosen.items()))})
    return found


def _axes(item: Any) -> dict[str, tuple[Sequence[Any], Any]] | None:
    """Return the values of each dimension, and their notation; None if invalid."""
    dimensions = item.get("dimensions") if isinstance(item, Mapping) else None
    if not isinstance(dimensions, Mapping):
        return None
    found: dict[str, tuple[Sequence[Any], Any]] = {}
    for name, given in dimensions.items():
        if isinstance(given, list):
            found[name] = given, given
            continue
        if not isinstance(given, Mapping):
            return None
        start, stop, step = given.get("start", 0), given.get("stop"), given.get("step", 1)
        if not all(type(bound) is int for bound in (start, stop, step)) or not step:
            return None
        found[name] = range(start, stop, step), given  # type: ignore[arg-type]
    return found


def _length(values: Sequence[Any]) -> int:
    """Return the length; exact also where `len` would overflow."""
    if not isinstance(values, range):
        return len(values)
    return max(0, -(-(values.stop - values.start) // values.step))


def _expected(document: Document) -> dict[str, V0Value]:
    found = {key: reference.to_v0() for key, reference in document.entries()}
    for item in document.gen:
        for made in runs(item):
            found.update(made.v0())
    return found


def read_by(reader: str, sample: KeysSample) -> dict[str, Any]:
    """Return a reader's keys for a sample."""
    if installed(reader) is None:
        raise NotRunError("It is not installed.")
    if not has_processes() or os.name != "posix":
        raise NotRunError("Readers cannot be run here: processes cannot be started or limited.")
    if sample.form not in ("V0", "V1") and sample.place is None:
        raise NotRunError("Readers can be run only on files on this machine.")
    given = sample.given
    if reader == VIRTUALIZARR and (whole := _whole_files(sample)):
        given = given | {"refs": {k: v for k, v in given["refs"].items() if k not in whole}}
    head = {
        "reader": reader, "form": sample.form, "place": sample.place,
        "snapshot": sample.snapshot, "templates": dict(sample.templates),
    }  # fmt: skip
    try:
        with _children.lend(str(_MEMORY)) as child:
            reply, data = child.ask(head, json.dumps(given, default=str).encode(), SECONDS)
    except LateError:
        raise NotRunError(f"It took longer than {SECONDS} s and was stopped.") from None
    except LostError as error:
        raise NotRunError(f"It {error.ending_text()}, and was stopped.") from None
    except (OSError, RuntimeError) as error:
        raise NotRunError(f"A process could not be started: {error}.") from None
    if reply["error"] is not None:
        raise RefexplorerError(reply["error"])
    found: dict[str, Any] = json.loads(data)
    if reader in (VIRTUALIZARR, ICECHUNK):
        return _with_expected(found, sample)
    return found


def _whole_files(sample: KeysSample) -> set[str]:
    """Return the keys of [url]: VirtualiZarr requests the target's size for each on opening."""
    refs = sample.given.get("refs") if isinstance(sample.given, Mapping) else None
    pairs = refs.items() if isinstance(refs, Mapping) else ()
    return {key for key, value in pairs if isinstance(value, list) and len(value) == 1}


def _with_expected(found: Mapping[str, Any], sample: KeysSample) -> dict[str, Any]:
    """Return a reader's values; if it only reports a key as present, the expected value."""
    read: dict[str, Any] = {}
    whole = _whole_files(sample)
    for key, value in sample.expected.items():
        array = key.rpartition("/")[0]
        if sample.form == "Icechunk":
            is_read = key in found
        else:
            is_read = not array or (f"{array}/.zarray" in found and isinstance(value, str))
            is_read |= key in whole and f"{array}/.zarray" in found
        if is_read:
            read[key] = value
        elif isinstance(actual := found.get(key), list):
            read[key] = value if _is_same_range(actual, value, sample.form) else actual
    return read


def _is_same_range(actual: list[Any], expected: object, form: str) -> bool:
    """Compare byte ranges; for DMR++ without the URL, which readers derive from its location."""
    if not isinstance(expected, list) or actual[1:] != expected[1:]:
        return False
    same = str(actual[0]).removeprefix("file://") == str(expected[0]).removeprefix("file://")
    return same or form == "DMR++"


@dataclass(frozen=True)
class KeysRead:
    """Single keys as read by a reader."""

    # The keys that it was run on, with their values by the specification
    expected: Mapping[str, V0Value]
    values: Mapping[str, Any]  # What it has of these
    refusal: str = ""  # Why it has none of them, if it refuses the set; empty if it does not

    @classmethod
    def by(cls, reader: str, sample: KeysSample) -> KeysRead:
        """Run a reader; one that cannot be run yields no keys."""
        try:
            return cls(sample.expected, read_by(reader, sample))
        except NotRunError:
            return cls({}, {})
        except RefexplorerError as refusal:
            return cls(sample.expected, {}, str(refusal))

    def is_same(self, key: str) -> bool:
        """Whether its value of a key agrees with the specification."""
        return key in self.values and _parsed(self.values[key]) == _parsed(self.expected[key])


def verdict_of(reader: str, sample: KeysSample) -> Verdict:
    """Run a reader and compare its keys with those of the set."""
    basis = Basis(f"{reader.partition(' ')[0]} {installed(reader)}", "", "run")
    notes = _notes(reader, sample)
    try:
        actual = read_by(reader, sample)
    except RefexplorerError as refusal:
        why = VerdictReason(str(refusal))
        return Verdict(reader, Outcome.REFUSED, (why,), notes, basis=basis)
    differing = [*differences(sample.expected, actual)]
    dropped = sum(each.is_absent for each in differing)
    unknown = sum(each.ours is None for each in differing)
    different = len(differing) - dropped - unknown
    counts = {
        "The reader does not have the key.": dropped,
        "The reader has a different value.": different,
        "The specification rejects the key, and the reader has it.": unknown,
    }
    reasons = tuple(VerdictReason(text, count) for text, count in counts.items() if count)
    outcome = Outcome.DROPPED if dropped else Outcome.SAME
    outcome = Outcome.DIFFERENT if different or unknown else outcome
    shown = tuple(map(_shortened, differing[:_EXAMPLES]))
    return Verdict(reader, outcome, reasons, notes, different + unknown, dropped, shown, basis)


def _notes(reader: str, sample: KeysSample) -> tuple[str, ...]:
    notes = []
    if sample.is_part:
        notes.append(f"It was run on {len(sample.expected):,} of {counted(sample.total, 'key')}.")
    if reader == VIRTUALIZARR and _whole_files(sample):
        notes.append("References to whole files were not compared: it asks each file for its size.")
    return tuple(notes)


def differences(expected: Mapping[str, V0Value], actual: Mapping[str, Any]) -> list[KeyDifference]:
    """Return the keys for which two mappings differ."""
    found = []
    for key in [*expected, *(key for key in actual if key not in expected)]:
        if key not in actual:
            found.append(KeyDifference(key, expected[key], None, is_absent=True))
        elif key not in expected or _parsed(expected[key]) != _parsed(actual[key]):
            found.append(KeyDifference(key, expected.get(key), actual[key]))
    return found


def _shortened(difference: KeyDifference) -> KeyDifference:
    text = json.dumps(difference.theirs)
    if len(text) <= _LONGEST_EXAMPLE:
        return difference
    return KeyDifference(difference.key, difference.ours, text[:_LONGEST_EXAMPLE])


def _parsed(value: object) -> object:
    """Return text that contains a JSON object as that object, since readers rewrite it."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            return json.loads(value, parse_constant=str)
        except (ValueError, RecursionError):
            return value
    return value
