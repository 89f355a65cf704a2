"""The program with all commands: its arguments, opening of sets, and exit statuses."""

from __future__ import annotations

import inspect
import json
import shlex
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from copy import copy
from functools import wraps
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, cast, get_args, get_origin

import typer

from refexplorer.core.errors import LimitError, SourceError
from refexplorer.core.limits import DEFAULT_LIMITS
from refexplorer.core.text import counted, size_text
from refexplorer.formats.datafiles.streams import ReadAmount
from refexplorer.formats.source import NamedBytes
from refexplorer.hosts.cli import output
from refexplorer.spec.codes import Severity
from refexplorer.verbs.opening import open_references
from refexplorer.verbs.referenceset import ReferenceSet

EXAMPLES: dict[str, dict[str, str]] = {}
"""Command → example → purpose, in the order of the help; a test runs each of them."""
for _line in Path(__file__).with_name("examples.txt").read_text(encoding="utf-8").splitlines():
    _typed, _, _purpose = _line.partition("  # ")
    _command = _typed.partition("refexplorer ")[2].split()[0]
    EXAMPLES.setdefault(_command, {})[_typed] = _purpose
OPTIONS = tomllib.loads(Path(__file__).with_name("options.toml").read_text(encoding="utf-8"))
"""Command → argument or option → its help; those of `all` have the same help in all commands."""


def epilog(command: str) -> str:
    r"""Return the examples for the end of a help text; ``\b`` preserves their lines."""
    lines = [f"  {line}\n      {purpose}" for line, purpose in EXAMPLES.get(command, {}).items()]
    return "\n".join(["\b", "Examples:", *lines]) if lines else ""


usage_errors = cast("type[typer.BadParameter]", typer.BadParameter.__bases__[0])
"""The base class of all usage errors; typer has no public name for it."""
HAS_ERRORS = 1  # exit status
NOT_CHECKED = 2
"""Nothing is wrong so far, but some files are not allowed yet, or the work was not finished."""
STANDARD_INPUT = "-"
_PIECE = 2**20  # bytes that are read at a time, so that a limit stops a stream in time

Text = Annotated[str, typer.Argument()]
TextOrNone = Annotated[str | None, typer.Argument()]
Texts = list[str] | None
Natural = Annotated[int, typer.Option(min=0)]
NaturalOrNone = Annotated[int | None, typer.Option(min=0)]
Output = Annotated[Path, typer.Option("--output", "-o")]
OutputOrNone = Annotated[Path | None, typer.Option("--output", "-o")]
AsJson = Annotated[bool, typer.Option("--json")]

_source: ContextVar[str] = ContextVar("source", default="SET")  # The open set, as named by the user
_options: ContextVar[Mapping[str, Any]] = ContextVar("options", default=MappingProxyType({}))
"""The storage options of the running command."""
_WORDS = {"true": True, "false": False, "null": None, "none": None}


def command_for(verb: str, *arguments: str) -> str:
    """Return a command for the open set, to copy from a message."""
    return f"`{shlex.join(('refexplorer', verb, _source.get(), *arguments))}`"


def asked_options() -> Mapping[str, Any]:
    """Return the storage options of the running command."""
    return _options.get()


def storage_options(options: Sequence[str]) -> dict[str, Any]:
    """Parse file system options such as ``s3.anon=false`` into Python values."""
    found: dict[str, Any] = {}
    for option in options:
        name, equals, text = option.partition("=")
        place, _, key = name.rpartition(".")
        if not equals or not key:
            raise typer.BadParameter(
                f"{name!r} needs a value: write PLACE.NAME=VALUE, such as s3.anon=false or "
                "s3://bucket.profile=work."
            )
        within = found
        for part in [place] if "://" in place else filter(None, place.split(".")):
            within = within.setdefault(part, {})
            if not isinstance(within, dict):
                raise typer.BadParameter(f"{name!r} is below an option that has a value.")
        within[key] = _value_of(text)
    return found


def _value_of(text: str) -> Any:
    """Parse booleans and JSON-like values; everything else, also digits, is text."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if text.startswith(("{", "[")):
        with suppress(ValueError):
            return json.loads(text)
    return text


_StorageOption = Annotated[list[str] | None, typer.Option(metavar="PLACE.NAME=VALUE")]
_SETS = {"source", "before"}  # Arguments of which a command opens a set


def declared(command: Callable[..., int]) -> Callable[..., int]:
    """Return a command with help for its parameters, and options for the file systems of sets."""
    if hasattr(command, "__wrapped__"):
        return command
    signature = inspect.signature(command, eval_str=True)
    parameters = [*signature.parameters.values()]
    if _SETS & signature.parameters.keys():
        kind = inspect.Parameter.KEYWORD_ONLY
        own = inspect.Parameter("storage_option", kind, default=None, annotation=_StorageOption)
        parameters.append(own)
    parameters = [each.replace(annotation=_described(command, each)) for each in parameters]

    @wraps(command)
    def taking(*, storage_option: list[str] | None = None, **arguments: Any) -> int:
        _options.set(storage_options(storage_option or ()))
        return command(**arguments)

    taking.__dict__["__signature__"] = signature.replace(parameters=parameters)
    taking.__annotations__ = {each.name: each.annotation for each in parameters}
    return taking


def _described(command: Callable[..., int], parameter: inspect.Parameter) -> Any:
    """Return the annotation of a parameter with its help, and how it is written."""
    name, annotation = parameter.name, parameter.annotation
    kind, *found = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    info: Any = copy(found[0]) if found else typer.Option()
    if not found and kind is bool:
        info = typer.Option(f"--{name.replace('_', '-')}")
    elif not found and parameter.default is parameter.empty:
        info = typer.Argument()
    info.help = OPTIONS.get(command.__name__, {}).get(name) or OPTIONS["all"][name]
    return Annotated[kind, info]


app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"refexplorer {version('refexplorer')}")
        raise typer.Exit


@app.callback()
def program(
    context: typer.Context,
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """See what is inside a kerchunk, VirtualiZarr or Icechunk reference set."""
    if context.invoked_subcommand in VERBS:
        context.default_map = settings()


def open_set(
    source: str, templates: Mapping[str, str] | None = None, concat_dim: str | None = None
) -> ReferenceSet:
    """Open a set; report progress and the amount read from data files on stderr."""
    _source.set(source)
    with output.print_warnings(), output.counting(f"Opening {source}", of_bytes=True) as progress:
        refs = open_references(
            read_argument(source),
            templates=templates,
            storage_options=asked_options(),
            progress=progress,
            concat_dim=concat_dim,
        )
    if refs.source.fetched is not None:
        output.say(f"{fetched_text(refs.source.fetched)} were read to make references.")
    return refs


def fetched_text(fetched: ReadAmount) -> str:
    """Return how much was read from data files to make references, as text."""
    requests = counted(fetched.requests, "request")
    return f"{size_text(fetched.bytes)} of {size_text(fetched.size)} in {requests}"


def read_argument(source: str) -> str | bytes:
    """Return a source as given, or standard input for ``-``."""
    if source != STANDARD_INPUT:
        return source
    most, pieces, count = DEFAULT_LIMITS.document_bytes, list[bytes](), 0
    if sys.stdin is None:
        raise SourceError("Standard input is closed.")
    while piece := sys.stdin.buffer.read(_PIECE):
        pieces.append(piece)
        count += len(piece)
        if count > most:
            raise LimitError(f"Standard input has more than {most:,} bytes.")
    data = NamedBytes(b"".join(pieces))
    data.name = "standard input"
    return data


def severities(refs: ReferenceSet) -> dict[str, int]:
    """Count findings by severity, as they are listed; one may represent many similar ones."""
    counts = Counter(each.severity for each in refs.diagnostics)
    return {str(severity): counts[severity] for severity in Severity}


def status_of(refs: ReferenceSet) -> int:
    """Report that a set has errors if the command itself would not show it."""
    errors = refs.error_count
    if not errors:
        return 0
    name = refs.source.name
    output.say(f"{name} has {counted(errors, 'error')}; `refexplorer check` lists them.")
    return HAS_ERRORS


def size_cell(size: int | None) -> int | str:
    """Return a size in bytes as a table cell."""
    return "not known" if size is None else size


VERBS = ("check", "audit", "verify")
_OWN, _SHARED = Path("refexplorer.toml"), Path("pyproject.toml")
_PARAMETERS = {"format": "form"}


def settings() -> dict[str, Any]:
    """Return the default options of the checking commands, from files in this folder only."""
    if not (_OWN.is_file() or _SHARED.is_file()):
        return {}
    # it imports numpy and more, which the command needs soon anyway
    from refexplorer.checks.expectations import FLAG, TEXT, TEXTS, check_keys, read_toml

    name = str(_OWN)
    found = read_toml(_OWN, name) if _OWN.is_file() else None
    if found is None:
        tool = read_toml(_SHARED, str(_SHARED)).get("tool")
        name = f"[tool.refexplorer] of {_SHARED}"
        found = tool.get("refexplorer") if isinstance(tool, dict) else None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise SourceError(f"{name} must be a table of settings.")
    kinds = {
        "accept": TEXTS, "allow": TEXTS, "decode": TEXT, "expect": TEXT, "fail-on": TEXT,
        "format": TEXT, "targets": FLAG, "values": TEXT,
    }  # fmt: skip
    check_keys(name, found, kinds)
    options = {_PARAMETERS.get(key, key.replace("-", "_")): value for key, value in found.items()}
    return dict.fromkeys(VERBS, options)
