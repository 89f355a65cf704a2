"""The verdicts of all readers on a set: installed ones are run, a table covers the others.

The source format decides first: no reader of reference sets reads DMR++ or an HDF5 file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.files import GZIP, ZSTD
from refexplorer.core.limits import Limits
from refexplorer.core.text import counted
from refexplorer.formats.source import DOCUMENTS, Source
from refexplorer.readers.features import (
    ALWAYS,
    BASES,
    FSSPEC,
    ICECHUNK,
    ICECHUNK_BASES,
    JINJA,
    NEVER,
    VIRTUALIZARR,
    WHOLE,
    Use,
    effects_on,
    features_of,
)
from refexplorer.readers.verdicts import Basis, Dialects, Outcome, Verdict, VerdictReason
from refexplorer.refset.opened_set import Contents
from refexplorer.spec.codes import Severity
from refexplorer.spec.findings import Finding, Findings, pointer

SPECIFICATION = "the specification"
READERS = (*BASES, *ICECHUNK_BASES)
_WORST = (Outcome.REFUSED, Outcome.DIFFERENT, Outcome.DROPPED)


def dialects_of(
    source: Source,
    contents: Contents,
    templates: Mapping[str, str],
    limits: Limits,
    readers: Collection[str] | None = None,
) -> Dialects:
    """Return the verdicts of the specification and of readers on an opened set."""
    from refexplorer.readers.running import RUN, NotRunError, sample_of, verdict_of

    known = [*BASES, *(ICECHUNK_BASES if source.repository is not None else ())]
    for name in readers or ():
        if name not in READERS:
            raise RefexplorerError(
                f"No reader is called {name!r}; use one of {', '.join(READERS)}."
            )
    uses = features_of(source, contents)
    table, sample = effects_on(uses), None
    verdicts = [_specification(source, contents)]
    for reader in known if readers is None else [name for name in known if name in readers]:
        refusal = _refusal_of_form(reader, source)
        if refusal is not None:
            reason = VerdictReason(refusal)
            verdicts.append(Verdict(reader, Outcome.REFUSED, (reason,), basis=_basis(reader)))
            continue
        why = ""
        if reader in RUN.get(source.form, ()):
            sample = sample or sample_of(source, contents, templates, limits, uses)
            try:
                verdicts.append(_with_facts(verdict_of(reader, sample), table, source))
                continue
            except NotRunError as error:
                why = str(error)
        verdicts.append(_by_table(reader, table.get(reader, []), why))
    return Dialects(tuple(verdicts))


def _basis(reader: str) -> Basis:
    return BASES.get(reader) or ICECHUNK_BASES[reader]


def _specification(source: Source, contents: Contents) -> Verdict:
    count = contents.opened.count
    reasons = [VerdictReason(f"The set has {counted(count, 'key')}.")]
    if source.form not in (*DOCUMENTS, "parquet"):
        text = f"The specification does not describe {_plural(source.form)}."
        reasons.append(VerdictReason(text))
    errors = sum(f.count for f in contents.findings if f.severity is Severity.ERROR)
    if errors:
        reasons.append(VerdictReason(f"It breaks rules in {counted(errors, 'place')}."))
    return Verdict(SPECIFICATION, Outcome.SAME, tuple(reasons))


def _refusal_of_form(reader: str, source: Source) -> str | None:
    """Return why a reader cannot read a source format; None if it may be able to."""
    if reader in ICECHUNK_BASES or source.form in (*DOCUMENTS, "parquet"):
        return None
    if reader == VIRTUALIZARR and source.form in ("DMR++", "VirtualiZarr", "data file", "Zarr"):
        return None
    form = _plural(source.form)
    return f"It reads references as JSON or parquet, not {form}; `convert` writes both."


def _plural(form: str) -> str:
    return {"data file": "data files", "STAC": "STAC items"}.get(form, form)


def _by_table(reader: str, effects: list[tuple[Use, Outcome, str]], why: str) -> Verdict:
    """Return the table's verdict: the features that a set uses and the reader lacks."""
    outcome = next((one for one in _WORST if any(one is e[1] for e in effects)), Outcome.NOT_RUN)
    reasons = [
        VerdictReason(f"{title[:1].upper()}{title[1:]}: {text}", use.n_keys if use.key else 0)
        for use, effect, text in effects
        if effect is outcome and (title := use.feature.title)
    ]
    notes = [text for _, effect, text in effects if effect is Outcome.SAME]
    if outcome is Outcome.NOT_RUN:
        text = "It is not known to lack any feature that the set uses."
        reasons = [VerdictReason(f"{why} {text}".strip())]
    elif why:
        notes.append(why)
    return Verdict(reader, outcome, tuple(reasons), tuple(notes), basis=_basis(reader))


def _with_facts(
    verdict: Verdict, table: Mapping[str, list[tuple[Use, Outcome, str]]], source: Source
) -> Verdict:
    """Add the facts from the table to the result of a run, and why keys differ."""
    effects = table.get(verdict.reader, [])
    reasons = list(verdict.reasons)
    if verdict.outcome not in (Outcome.SAME, Outcome.REFUSED):
        reasons += [VerdictReason(text) for _, effect, text in effects if effect in _WORST[1:]]
    facts = [text for _, effect, text in effects if effect is Outcome.SAME]
    if verdict.reader in (FSSPEC, JINJA) and (name := _compression(source)):
        facts.append(f"It needs `target_options={{'compression': {name!r}}}`.")
    if source.zip_url is not None and verdict.outcome is not Outcome.REFUSED:
        facts.append(f"It opens the store in the zip file only by the URL `{source.zip_url}`.")
    if verdict.reader == ICECHUNK and source.repository and source.repository.access:
        facts.append(source.repository.access)
    return replace(verdict, reasons=tuple(reasons), notes=(*verdict.notes, *facts))


def _compression(source: Source) -> str | None:
    """Return the compression of a document's file; None if uncompressed or not a file."""
    try:
        with Path(source.place or "").open("rb") as file:
            start = file.read(len(ZSTD))
    except OSError:
        return None
    return "gzip" if start.startswith(GZIP) else "zstd" if start == ZSTD else None


def note_readers(
    source: Source, contents: Contents, noted: Collection[Finding], uses: Sequence[Use]
) -> Findings:
    """Note features that a reader ignores silently, or for which a reader refuses the set."""
    # Also if a reader of the whole specification rejects a set; other readers report it themselves.
    findings = Findings()
    if source.form not in (*DOCUMENTS, "parquet"):
        return findings
    base = "/metadata" if source.form == "parquet" else source.key_base
    errors = (found.pointer for found in noted if found.severity is Severity.ERROR)
    places = {above for error in errors for above in _above(error)}
    table = effects_on(uses)
    refusing = {
        reader for reader, effects in table.items() if any(e[1] is Outcome.REFUSED for e in effects)
    }
    is_file = source.form == "V0" and source.location is not None
    if not contents.opened.count and (not places or is_file):
        text = "The document has no references: readers give an empty set, or an error."
        if places:
            text = "Nothing in the document is a reference: it may be JSON of another kind."
        findings.add("no-references", base, text)
    named: set[str] = set()
    for use in uses:
        at = use.place if use.key is None else base + pointer(use.key)
        if use.feature.noting == NEVER or at in places:
            continue
        texts_of_readers: dict[str, list[str]] = {}
        for reader, outcome, text in use.feature.effects:
            is_silent = outcome in _WORST[1:] and reader not in refusing
            is_refused = outcome is Outcome.REFUSED and reader in WHOLE
            if use.feature.noting == ALWAYS or (reader not in named and (is_silent or is_refused)):
                texts_of_readers.setdefault(text, []).append(reader)
        if not texts_of_readers:
            continue
        if use.feature.noting != ALWAYS:
            places.add(at)
        named |= {reader for readers in texts_of_readers.values() for reader in readers}
        texts = (
            text if len(readers) == len(BASES) else f"{', '.join(readers)}: {text}"
            for text, readers in texts_of_readers.items()
        )
        findings.add(
            "readers-differ",
            at,
            f"Readers differ on {use.feature.title}. {' '.join(texts)}",
            "`refexplorer dialects` compares what readers make of the set.",
            key=use.key,
            count=use.n_keys,
            together=True,
        )
    return findings


def _above(place: str) -> list[str]:
    """Return a pointer and its ancestors, except for the whole document unless given."""
    parts = place.split("/")
    return ["/".join(parts[:end]) for end in range(2, len(parts) + 1)] or [place]


def fsspec_options(source: Source, contents: Contents) -> dict[str, bool] | None:
    """Return fsspec's options for a set's templates; None if fsspec generates other keys."""
    if source.form != "V1":
        return {}
    for found in contents.findings:
        # fsspec renders overridden items, too, which are not among the features
        if found.severity is Severity.ERROR or found.code == "bad-dimension-name":
            return None
    table = effects_on(features_of(source, contents))
    for reader, options in ((FSSPEC, {}), (JINJA, {"simple_templates": False})):
        if all(effect is Outcome.SAME for _, effect, _ in table[reader]):
            return options
    return None
