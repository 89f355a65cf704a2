"""Commands that find and explain: keys, codes, readers, the schema."""

from __future__ import annotations

import math
import re
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from refexplorer.core.errors import SourceError
from refexplorer.core.text import counted
from refexplorer.hosts.cli import output
from refexplorer.hosts.cli.program import (
    NOT_CHECKED,
    AsJson,
    NaturalOrNone,
    TextOrNone,
    Texts,
    app,
    asked_options,
    command_for,
    open_set,
    read_argument,
    status_of,
)
from refexplorer.hosts.cli.verbs.looking import naming_missing, print_shard
from refexplorer.io.decode.sizes import region
from refexplorer.spec.codes import schema as schema_of
from refexplorer.spec.derivation import TraceStep
from refexplorer.spec.references import Kind
from refexplorer.verbs.codes import explain_code as code_explained
from refexplorer.verbs.opening import dialects as dialects_of
from refexplorer.verbs.referenceset import ReferenceSet

_ACCESS = re.compile(r"(.*)\[([^\[\]]*)\]", re.DOTALL)


@app.command()
def advise(
    source: str, access: Texts = None, place: str = "object-store", as_json: AsJson = False
) -> int:
    """Estimate what opening and reading cost, and what would help.

    No file is read. Requests and bytes are exact; times are estimated for the given connection.
    """
    refs = open_set(source)
    with naming_missing(refs):
        advice = refs.advise([*map(_part, access or ())], place=place)
    output.write_answer(advice, advice.to_dict(), as_json)
    return status_of(refs)


def _part(text: str) -> tuple[str, str]:
    """Return an array and a selection of it; ``"sst[0,10:20]"``."""
    match = _ACCESS.fullmatch(text)
    if match is None:
        raise typer.BadParameter(f"{text!r} is not a part of an array such as 'sst[0,10:20]'.")
    return match[1], match[2]


_WHOLE = " as a whole; a * before and after it also finds it inside keys"


@app.command()
def find(
    source: str,
    pattern: str,
    mode: str = "glob",
    kind: list[Kind] | None = None,
    limit: NaturalOrNone = None,
    as_json: AsJson = False,
) -> int:
    """List the keys that match."""
    refs = open_set(source)
    keys = output.at_most(refs.find(pattern, mode=mode, kind=kind), limit)
    if as_json:
        output.write_json({"source": refs.source.name, "pattern": pattern}, "keys", keys)
    else:
        number = 0
        for number, key in enumerate(keys, 1):  # noqa: B007  used after the loop
            output.write_line(key)
        if not number and limit != 0:
            hint = _WHOLE if mode == "glob" and "*" not in pattern else ""
            output.say(f"No key matches {pattern!r}{hint}.")
    return status_of(refs)


@app.command()
def explain(
    source: str, key: str, shard: bool = False, allow: Texts = None, as_json: AsJson = False
) -> int:
    """Explain where a key comes from, step by step."""
    refs = open_set(source)
    if shard:
        return print_shard(refs, key, allow or [], as_json)
    with naming_missing(refs, key):
        trace = refs.explain(key)
    if as_json:
        fields = {"key": key, "origin": trace.origin, "v0": refs[key].to_v0()}
        output.write_json(fields, "steps", map(_derivation, trace.seen().steps))
    else:
        output.write_text(trace)
    return status_of(refs)


def _derivation(step: TraceStep) -> dict[str, object]:
    """Return the fields of one derivation step in the document."""
    names = ("name", "pointer", "source", "result", "variables")
    parts = [asdict(each) for each in step.substitutions]
    return {name: getattr(step, name) for name in names} | {"substitutions": parts}


@app.command()
def explain_code(code: str, as_json: AsJson = False) -> int:
    """Explain a diagnostic code and what to do."""
    explanation = code_explained(code)
    output.write_answer(explanation, explanation.fields(), as_json)
    return 0


@app.command()
def dialects(source: str, reader: Texts = None, as_json: AsJson = False) -> int:
    """Compare how readers read the set.

    Exit status 1 if a reader that was run loses or changes keys, 2 if none was run. fsspec,
    VirtualiZarr and icechunk are run if they are installed. A reader that rejects the set counts as
    a failure only if all readers reject it.
    """
    verdicts = dialects_of(read_argument(source), readers=reader, storage_options=asked_options())
    if as_json:
        output.write_json({"source": source}, "readers", (asdict(verdict) for verdict in verdicts))
    else:
        output.write_text(verdicts)
    return 2 if verdicts.has_losses is None else int(verdicts.has_losses)


@app.command()
def schema(v0: bool = False, report: bool = False, as_json: AsJson = False) -> int:
    """Write the JSON Schema of reference sets, or of reports. The output is always JSON.

    Reports are the documents that `check`, `audit` and `verify` print with --json.
    """
    if report:
        from refexplorer.checks.ci_formats import report_schema

        output.write_object(report_schema().items())
    else:
        output.write_object(schema_of(0 if v0 else 1).items())
    return 0


@app.command(context_settings={"ignore_unknown_options": True})  # -1 is an index
def why(
    source: str,
    array: TextOrNone = None,
    index: Annotated[list[str] | None, typer.Argument()] = None,
    allow: Texts = None,
    as_json: AsJson = False,
) -> int:
    """Explain a value: its chunk, reference, bytes and codecs. Reads its chunk.

    Exit status 2 if the value cannot be read.
    """
    if array is None:
        raise _unnamed(open_set(source))
    text = ",".join(index or ())
    if not text and (written := _ACCESS.fullmatch(array)):
        array, text = written.groups()
    try:
        place = [int(part) for part in re.split(r"[,\s]+", text) if part]
    except ValueError:
        if option := next((part for part in index or () if part.startswith("--")), None):
            raise typer.BadParameter(f"No such option: {option}.") from None
        raise typer.BadParameter(f"{text!r} is not a list of integers such as 0,10,20.") from None
    refs = open_set(source)
    if array in refs and (owner := refs.array_of(array)) is not None:
        raise _key_of_chunk(refs, array, *owner)
    with naming_missing(refs):
        shape = refs.array(array).shape
        inside = (-n <= at < n for at, n in zip(place, shape, strict=False))
        if len(place) != len(shape) or not all(inside):
            last = ",".join(str(size - 1) for size in shape)
            wrong = f"and no element [{text}]" if text else "and an element needs an index for each"
            raise SourceError(
                f"{array!r} has {counted(len(shape), 'dimension')}, shape {list(shape)}, {wrong}; "
                f"its last element is {command_for('why', array, last)}."
            )
        trace = refs.allowing(*allow or ()).why(array, place)
    if as_json:
        reference = trace.reference
        names = ("array", "index", "cause", "sentence", "key", "chunk")
        fields = {name: getattr(trace, name) for name in names}
        fields |= {name: getattr(reference, name, None) for name in ("url", "offset", "length")}
        fields |= {"raw": _plain(trace.raw), "shown": _plain(trace.shown)}
        steps = ({"name": step.name, "text": step.text} for step in trace.seen().steps)
        output.write_json(fields, "steps", steps)
    else:
        output.write_text(trace)
    return status_of(refs) or (NOT_CHECKED if trace.cause == "failed" else 0)


def _unnamed(refs: ReferenceSet) -> SourceError:
    """Return an error that names an element of the largest array."""
    shapes = {path: refs.array(path).shape for path in refs.arrays()}
    if not shapes:
        return SourceError(f"{refs.source.name} has no arrays, so there is no value to explain.")
    largest = max(shapes, key=lambda path: math.prod(shapes[path]))
    last = ",".join(str(max(0, size - 1)) for size in shapes[largest])
    return SourceError(f"Name an array and an element: {command_for('why', largest, last)}.")


def _key_of_chunk(refs: ReferenceSet, key: str, path: str, chunk: tuple[int, ...]) -> SourceError:
    """Return an error that names the first element of a chunk."""
    first = ",".join(str(part.start) for part in region(refs.array(path), chunk))
    return SourceError(
        f"{key!r} is the key of a chunk of {path!r}; its first element is "
        f"{command_for('why', path, first)}."
    )


def _plain(value: Any) -> object:
    """Return an array value as JSON; times, bytes and NaN as strings."""
    plain = getattr(value, "item", lambda: value)()
    is_json = isinstance(plain, bool | int | str) or (
        isinstance(plain, float) and math.isfinite(plain)
    )
    return plain if is_json or plain is None else str(value)


@app.command()
def grade(
    files: list[Path], exercises: Path | None = None, details: bool = False, as_json: AsJson = False
) -> int:
    """Grade answer files: print a table with one line per file.

    `rx.Exercises()` saves answers.json next to the notebook; on the page, choose Export, Save
    answers. Each answer is checked again. Exit status 2 if a file cannot be read.
    """
    from msgspec.structs import asdict as asdict_of

    from refexplorer.views.exercises.exercise_checks import AnswerState
    from refexplorer.views.exercises.exercise_checks import grade as graded

    grades = graded(files, exercises)
    status = 2 if any(each.error for each in grades) else 0
    if as_json:
        items = [
            {
                "name": each.name,
                "counts": {str(state): each.count(state) for state in AnswerState},
                "answers": [asdict_of(answer) for answer in each.answers],
                "unknown": each.unknown,
                "error": each.error or None,
            }
            for each in grades
        ]
        output.write_json({"schema": 1, "status": status}, "grades", items)
        return status
    rows = [
        (each.name, *map(each.count, AnswerState), len(each.answers))
        for each in grades
        if not each.error
    ]
    output.write_rows(["name", *map(str, AnswerState), "of"], rows, always=True)
    for each in grades:
        if each.error:
            output.say(each.error)
        if each.unknown:
            output.say(f"{each.name}: not among these exercises: {', '.join(each.unknown)}.")
        for answer in each.answers if details else ():
            if answer.sentence:
                output.write_line(f"{each.name}: {answer.exercise}: {answer.sentence}")
    return status
