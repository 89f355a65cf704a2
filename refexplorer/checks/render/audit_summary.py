"""The summary of an audit: counts, and a sentence for each problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from refexplorer.checks.look.audit_states import SHORT_WORDS, STATE_WORDS, TARGET_WORDS, TargetState
from refexplorer.checks.references import LostFiles
from refexplorer.checks.render.audit_html import SHOWN, summary_html
from refexplorer.core.masking import masks_repr
from refexplorer.core.text import counted, escape, size_text

_CHARS = 200  # characters of a name: a file may hold any text


@dataclass(frozen=True, slots=True)
class ArrayAudit:
    """One array."""

    path: str | None  # Where it is; None stands for keys outside arrays
    chunks: int | None  # Chunks of its grid; None for keys outside arrays
    states: Mapping[str, int]  # References by state

    @property
    def references(self) -> int:
        """References that were audited."""
        return sum(self.states.values())

    @property
    def name(self) -> str:
        """The name to call it by."""
        return "(other keys)" if self.path is None else self.path or "(the root array)"

    @property
    def states_text(self) -> str:
        """How many references are in each state."""
        return ", ".join(f"{n:,} {SHORT_WORDS.get(s, s)}" for s, n in self.states.items())


@masks_repr
@dataclass(frozen=True, slots=True)
class AuditProblem:
    """References to one target with the same problem."""

    # The URL; None for what the set itself holds, and for the target that the reader names
    target: str | None
    state: str  # What became of them
    references: int  # How many there are
    key: str  # The first of them
    message: str  # The cause, in a sentence

    @property
    def what(self) -> str:
        """How many references, in which state, and one of them."""
        such = "" if self.references == 1 else "such as "
        key = escape(self.key, _CHARS)
        return f"{counted(self.references, 'reference')} {self.state} ({such}{key})"

    def __str__(self) -> str:
        where = f"{escape(self.target, _CHARS)}: " if self.target else ""
        return f"{where}{self.what}: {escape(self.message, 2 * _CHARS)}"


@masks_repr
@dataclass(frozen=True)
class AuditSummary:
    """The counts of an audit.

    Attributes
    ----------
    source
        The name of the set.
    references, audited
        How many the set has (chunks, and other keys with a target), and how many were audited.
    left_out
        Rejected keys: an error keeps the reference of each out of the set.
    bytes
        Bytes of the audited byte ranges; what several share counts for each. None if a length does
        not fit into 64 bits.
    targets
        Targets that were asked, by state.
    states
        Audited references by state.
    arrays
        The same for each array.
    compared, uncompared
        Byte ranges that were compared with the size of their target, and those that were not,
        since the target was reached but does not say how large it is.
    same, partly
        Ranges that other keys have as well, and ranges that share some bytes with others.
    decoded_bytes
        Bytes of all decoded values.
    problems, problem_count
        The first problems, and how many there are.
    grants
        What `allow` needs for what was not asked.
    unfinished
        A sentence for each part that was given up.
    lost
        Record files of a parquet store that are missing or cannot be read.
    versions
        Targets whose version was compared with the one that Icechunk recorded with a reference.
    not_compared
        Targets with a recorded version whose store did not tell theirs, or that were not reached.
    outdated
        The first targets that changed since references to them were written, each in a sentence.
    outdated_count
        How many there are.
    """

    source: str
    references: int
    audited: int
    left_out: int
    bytes: int | None
    targets: Mapping[str, int]
    states: Mapping[str, int]
    arrays: tuple[ArrayAudit, ...]
    compared: int
    uncompared: int
    same: int
    partly: int
    decoded_bytes: int
    problems: tuple[AuditProblem, ...]
    problem_count: int
    grants: tuple[str, ...]
    unfinished: tuple[str, ...]
    lost: LostFiles
    versions: int = 0
    not_compared: int = 0
    outdated: tuple[str, ...] = ()
    outdated_count: int = 0

    @property
    def good(self) -> bool:
        """Whether all references were audited and nothing wrong was found in what was checked.

        Targets are asked, ranges are compared with their sizes, and the chosen chunks are decoded;
        values and metadata are not compared with the files. `not_checked` says what else was not.
        A record file that is missing is not wrong by itself: writers make none for chunks that all
        have no reference.
        """
        wrong = self.problem_count + self.partly + self.left_out + self.lost.unreadable
        wrong += self.outdated_count
        return self.audited == self.references and not wrong

    @property
    def has_errors(self) -> bool:
        """Whether something is wrong; what may not be read yet, or was not finished, is not."""
        forbidden = self.targets.get(TargetState.FORBIDDEN, 0)
        wrong = self.problem_count - forbidden + self.partly + self.left_out
        return wrong + self.lost.unreadable + self.outdated_count > 0

    @property
    def verdict(self) -> str:
        """The result, and the checks that led to it."""
        if self.has_errors:
            return "not as it should be"
        if not self.good:
            return "not all of it was checked"
        return (
            f"{self._checked}, but record files are missing" if self.lost.missing else self._checked
        )

    @property
    def _checked(self) -> str:
        """The checks that found nothing wrong."""
        parts = []
        if self.compared:
            ranges = "ranges that could be compared" if self.uncompared else "ranges"
            parts.append(f"{ranges} lie inside their files")
        elif self.targets:
            parts.append("all targets answered")
        if decoded := self.states.get("decoded", 0):
            chunks = counted(decoded, "sampled chunk" if self.states.get("good") else "chunk")
            parts.append(f"all {chunks} decode" if decoded > 1 else f"{chunks} decodes")
        return " and ".join(parts) or (
            "nothing wrong found" if self.audited else "nothing to check"
        )

    @property
    def not_checked(self) -> tuple[str, ...]:
        """The checks that were not made, each in some words."""
        found = []
        if left := self.references - self.audited:
            found.append(counted(left, "reference"))
        if self.uncompared:
            found.append(f"{counted(self.uncompared, 'range')} of targets of unknown size")
        if self.not_compared:
            found.append(f"{counted(self.not_compared, 'recorded version')} of targets")
        if undecoded := self.states.get("good", 0):
            found.append(f"whether {counted(undecoded, 'reference')} can be decoded")
        return (*found, "whether values and metadata equal those of the files")

    def sentences(self) -> Iterator[str]:
        """Yield the counts as sentences."""
        asked = f"{counted(sum(self.targets.values()), 'target')}: "
        found = ((TargetState(state), n) for state, n in self.targets.items())
        parts = [f"{n:,} {TARGET_WORDS[state]}" for state, n in found if n]
        yield f"{asked}{', '.join(parts) or 'nothing to ask'}."
        parts = [f"{n:,} {STATE_WORDS[state]}" for state, n in self.states.items() if n]
        yield f"{counted(self.audited, 'reference')}: {', '.join(parts) or 'nothing audited'}."
        if self.versions:
            yield (
                f"{counted(self.versions, 'target')} compared with the version that Icechunk "
                f"recorded: {self.outdated_count:,} changed since references were written."
            )
        if self.left_out:
            yield f"{counted(self.left_out, 'key')} rejected by errors: diagnostics say which."
        yield from self.lost.sentences()
        size = "An unknown number of bytes" if self.bytes is None else size_text(self.bytes)
        yield f"{size} referenced, {size_text(self.decoded_bytes)} of values decoded."
        if self.same:
            yield f"{counted(self.same, 'range')} identical to those of other keys."
        if self.partly:
            yield f"{counted(self.partly, 'range')} partly overlap others."
        yield f"Not checked: {'; '.join(self.not_checked)}."

    def advice(self) -> Iterator[str]:
        """Yield the parts that were given up, and ways to have more audited."""
        yield from self.unfinished[:SHOWN]
        if self.grants:
            names = ", ".join(f'"{escape(name, _CHARS)}"' for name in self.grants[:SHOWN])
            yield f"Use refs.allowing({names}) to audit the rest."

    def notes(self) -> Iterator[str]:
        """Yield the first outdated targets, lost record files and problems as sentences."""
        yield from self.outdated
        if self.outdated_count > len(self.outdated):
            yield f"… {self.outdated_count - len(self.outdated):,} more targets that changed."
        yield from map(str, self.lost.files[:SHOWN])
        if self.lost.count > SHOWN:
            yield f"… {self.lost.count - SHOWN:,} more record files."
        yield from map(str, self.problems[:SHOWN])
        if self.problem_count > SHOWN:
            yield f"… {self.problem_count - SHOWN:,} more problems."

    def __str__(self) -> str:
        lines = [f"{escape(self.source, _CHARS)}: {self.verdict}"]
        lines += [f"  {sentence}" for sentence in self.sentences()]
        for array in self.arrays:
            of = "" if array.chunks is None else f" of {array.chunks:,}"
            share = f"{array.references:,}{of}"
            lines.append(f"  {escape(array.name, 40):<24}  {share:<20}  {array.states_text}")
        lines += [f"  {note}" for note in (*self.notes(), *self.advice())]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return summary_html(self)
