"""The fsspec options for reading a set: its document, its templates and its targets."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.files import GZIP, ZSTD
from refexplorer.core.text import MASK, masked_options, masked_text
from refexplorer.formats.icechunk.facts import Container, RepositoryFacts, storage_call
from refexplorer.formats.parquet.store import lost_record_message
from refexplorer.formats.source import Source
from refexplorer.io.access import Options, parse, protocol_of, resolve
from refexplorer.io.decode.codecs import names_v2, registering, registration
from refexplorer.io.reading.zarr_refusals import RECTILINEAR
from refexplorer.refset.opened_set import SetLike
from refexplorer.spec.zarr_metadata import ArrayMeta

# the line length of Black and Ruff
_WIDTH = 88


@dataclass(frozen=True, slots=True)
class RawCode:
    """Python inserted into the code as is, without `repr`."""

    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass
class Recipe:
    """The parts of the code: imports, lines before the call, and file system options."""

    imports: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)


def whole_code(recipe: Recipe, imports: list[str], lines: list[str]) -> str:
    """Return sorted imports, and the lines below them; ``module:name`` is a from-import."""
    names = sorted({*recipe.imports, *imports})
    plain = [f"import {name}" for name in names if ":" not in name]
    parted = [name.split(":") for name in names if ":" in name]
    head = plain + [f"from {module} import {name}" for module, name in parted]
    return "\n".join([*head, "", *recipe.lines, *lines]) + "\n"


def call_text(function: str, positional: list[Any], named: Mapping[str, Any]) -> str:
    """Format a call on one line, or with one argument per line if that is too long."""
    arguments = [repr(value) for value in positional]
    short = [f"{name}={value!r}" for name, value in named.items()]
    line = f"{function}({', '.join([*arguments, *short])})"
    if len(line) <= _WIDTH and "\n" not in line:
        return line
    spread = [f"{name}={_spread(value)}" for name, value in named.items()]
    inside = "".join(f"    {part},\n" for part in [*arguments, *spread])
    return f"{function}(\n{inside})"


def _spread(value: Any) -> str:
    """Format a dict with one entry per line, inside the arguments of a call."""
    if not isinstance(value, dict) or len(repr(value)) < _WIDTH // 2:
        return repr(value)
    inside = "".join(f"        {key!r}: {item!r},\n" for key, item in value.items())
    return f"{{\n{inside}    }}"


_ASYNCHRONOUS = frozenset({"http", "https", "s3", "gs", "az", "abfs"})

_FORMS = ("V0", "V1", "parquet")  # What fsspec reads


class BeyondFsspec(Exception):
    """fsspec has no options for this set."""


@dataclass(frozen=True, slots=True)
class CodeContext:
    """The facts needed for the code of any key of a set, determined once."""

    urls: Sequence[str | None]  # One target for each place that the set refers to
    # Options by protocol; what may be a secret is masked in the code
    storage_options: Mapping[str, Any] = field(repr=False)
    # fsspec's options for the templates, as `fsspec_options` of the readers returns them
    rendering: Mapping[str, Any] | None


def fsspec_recipe(refs: SetLike, known: CodeContext, asynchronous: bool) -> Recipe:
    """Return the recipe for opening a set with fsspec."""
    recipe = Recipe()
    _add_document(refs.source, recipe, known)
    if None in known.urls:
        raise BeyondFsspec  # only the user knows the target
    places = [place_of(refs.source), refs.source.location, *known.urls]
    if not all(_is_read_alike(place) for place in places if place):
        raise BeyondFsspec
    _add_targets(refs, recipe, known, asynchronous)
    return recipe


def _is_read_alike(url: str) -> bool:
    """Return whether fsspec treats a URL as the same location: its protocols are case-sensitive."""
    protocol = protocol_of(url)
    if protocol == "file":
        from fsspec.core import strip_protocol

        try:
            stripped = strip_protocol(url)
        except ValueError:  # `FILE` is not a protocol
            return False
        return str(Path(stripped).resolve()) == parse(url).path
    written, mark, _ = url.partition("://")
    return not mark or (protocol is not None and written.islower())


def _add_document(source: Source, recipe: Recipe, known: CodeContext) -> None:
    """Add the document to read, and how fsspec has to render it."""
    place = place_of(source)
    if place is None:
        recipe.lines.append("# refs is the opened set, which came from a value and not from a file")
        recipe.options["fo"] = RawCode("refs.to_v0()")
        return
    if source.part is not None or known.rendering is None or source.form not in _FORMS:
        recipe.imports.append("refexplorer")
        recipe.lines.append(f"refs = {opening_call(source, place)}")
        recipe.options["fo"] = RawCode("refs.to_v0()")
        return
    is_zip = source.store is not None and source.store[0].protocol == "zip"
    target_options: dict[str, Any] = {} if is_zip else dict(_compression(place))
    if "://" in place:
        own = Options(known.storage_options, source.location).of(parse(place))[1]
        if own:
            masked = masked_options(own)
            target_options |= {parse(place).protocol: masked} if is_zip else masked
    recipe.options["fo"] = f"zip://{source.store[1]}::{place}" if is_zip and source.store else place
    if target_options:
        recipe.options["target_options"] = target_options
    recipe.options |= known.rendering


def opening_call(source: Source, place: str) -> str:
    """Return the call that opens a source again with refexplorer."""
    joined = "" if source.joined_along is None else f", concat_dim={source.joined_along!r}"
    return f"refexplorer.open_references({place!r}{joined})"


def place_of(source: Source) -> str | None:
    """Return the path or URL of a source; None if given as a value."""
    if source.place is not None:
        return source.place
    part = "" if source.part is None else f"#{source.part}"
    if source.store is not None and source.location is not None:
        filesystem, path = source.store
        protocol = filesystem.protocol if isinstance(filesystem.protocol, str) else None
        return path if protocol is None else str(filesystem.unstrip_protocol(path))
    if source.location is None:
        return None
    if "://" in source.location:
        return f"{source.location.rstrip('/')}/{source.name}{part}"
    return str(Path(source.location) / source.name) + part


def _compression(place: str) -> dict[str, str]:
    """Return the compression of a document, which fsspec has to be given."""
    start = b""
    if "://" not in place and Path(place).is_file():
        with Path(place).open("rb") as file:
            start = file.read(len(ZSTD))
    if start.startswith(GZIP) or ("://" in place and place.endswith(".gz")):
        return {"compression": "gzip"}
    if start == ZSTD or ("://" in place and place.endswith(".zst")):
        return {"compression": "zstd"}
    return {}


def _add_targets(refs: SetLike, recipe: Recipe, known: CodeContext, asynchronous: bool) -> None:
    """Add the file systems for the targets: none for local ones, else one or several."""
    location, urls = refs.source.location, [url for url in known.urls if url]
    relative = [url for url in urls if protocol_of(url) is None and not url.startswith("/")]
    plain = [url for url in urls if url not in relative and "://" not in url]
    if relative and plain:
        raise BeyondFsspec
    given = Options(known.storage_options, location)
    protocols: dict[str, dict[str, Any]] = {}
    for url in urls:
        if (written := url.partition("://")[0]) != url:
            target = parse(resolve(url, location))
            if target.host and target.protocol not in ("http", "https"):
                raise BeyondFsspec  # fsspec creates the file system of a protocol without a host
            options = given.of(target)[1]
            if protocols.setdefault(written, options) != options:
                raise BeyondFsspec  # fsspec has one file system for a protocol
    systems = {name: _system(name, options, asynchronous) for name, options in protocols.items()}
    if len(protocols) == 1 and not relative and not plain:
        ((name, options),) = protocols.items()
        recipe.options["remote_protocol"] = name
        if remote := _options(name, options, asynchronous):
            recipe.options["remote_options"] = remote
    elif systems or (relative and location is not None):
        base = _folder(location, given, asynchronous) if relative and location else None
        rest = base or (_system("file", {}, asynchronous) if plain else None)
        recipe.options["fs"] = ({} if rest is None else {None: rest}) | systems
        _add_imports(recipe)


def _options(protocol: str, options: Mapping[str, Any], asynchronous: bool) -> dict[str, Any]:
    mode = {"asynchronous": True} if asynchronous and protocol in _ASYNCHRONOUS else {}
    return masked_options(options) | mode


def _system(protocol: str, options: Mapping[str, Any], asynchronous: bool) -> Any:
    """Return fsspec options, or the expression for a file system that Zarr can await."""
    if protocol in _ASYNCHRONOUS:
        return _options(protocol, options, asynchronous)
    made = call_text("fsspec.filesystem", [protocol], masked_options(options))
    wrapped = f"AsyncFileSystemWrapper({made}, asynchronous=True)"
    return RawCode(wrapped if asynchronous else made)


def _folder(location: str, given: Options, asynchronous: bool) -> RawCode:
    """Return the expression for the folder of the reference file, the base of its targets."""
    protocol = protocol_of(location) or "file"
    options = given.of(parse(resolve(location, None)))[1]
    mode = ", asynchronous=True" if asynchronous else ""
    inner = call_text("fsspec.filesystem", [protocol], _options(protocol, options, asynchronous))
    if protocol not in _ASYNCHRONOUS:  # fsspec before 2026.9 always awaits the inner one
        # also written if False: in a notebook, where a loop runs, the default is True
        inner = f"AsyncFileSystemWrapper({inner}, asynchronous={asynchronous})"
    return RawCode(f"DirFileSystem({location!r}, fs={inner}{mode})")


def _add_imports(recipe: Recipe) -> None:
    text = repr(recipe.options["fs"])
    for name, module in (("AsyncFileSystemWrapper", "asyn_wrapper"), ("DirFileSystem", "dirfs")):
        if name in text:
            recipe.imports.append(f"fsspec.implementations.{module}:{name}")
    if "fsspec.filesystem" in text:
        recipe.imports.append("fsspec")


_ACCESS = {
    "s3": "icechunk.s3_anonymous_credentials()",
    "s3_compatible": "icechunk.s3_anonymous_credentials()",
    "tigris": "icechunk.s3_anonymous_credentials()",
    "gcs": "icechunk.gcs_anonymous_credentials()",
    "azure": "icechunk.azure_anonymous_credentials()",
    "http": "icechunk.credentials.HttpAccess",
    "local_file_system": "icechunk.credentials.LocalFileSystemAccess",
}
"""Icechunk's credentials for a public container, by the kind of its store."""


def opening_lines(facts: RepositoryFacts, options: Mapping[str, Any]) -> list[str] | None:
    """Return the lines that create ``session`` of a repository; None without a location."""
    if facts.place is None or facts.containers is None or facts.uncommitted:
        return None
    function, arguments, named = storage_call(facts.place, options)
    lines = [
        f"storage = icechunk.{function}({', '.join(_written(arguments, masked_options(named)))})"
    ]
    access = [f"    {each.prefix!r}: {_access(each)}," for each in facts.containers]
    if access and facts.chunks.get("virtual"):
        lines += ["access = {", *access, "}"]
        lines.append(
            "repository = icechunk.Repository.open(storage, authorize_virtual_chunk_access=access)"
        )
    else:
        lines.append("repository = icechunk.Repository.open(storage)")
    return [*lines, f"session = repository.readonly_session({_version(facts)})"]


def _access(container: Container) -> str:
    import icechunk

    found = _ACCESS.get(container.store, "None")
    is_older = not hasattr(icechunk.credentials, "LocalFileSystemAccess")
    return "None" if is_older and "Access" in found else found  # Icechunk 1 has no name for it


def _version(facts: RepositoryFacts) -> str:
    if facts.version in (facts.branches or ()):
        return repr(facts.version)
    if facts.version in (facts.tags or ()):
        return f"tag={facts.version!r}"
    return f"snapshot_id={facts.snapshot!r}"


def _written(arguments: tuple[Any, ...], named: dict[str, Any]) -> Iterator[str]:
    yield from map(repr, arguments)
    yield from (f"{name}={value!r}" for name, value in named.items())


_FILL_IN = f"# fill in each {MASK}: code has no passwords, tokens and signatures"


def code(refs: SetLike, key: str | None, known: CodeContext, allow: Collection[str] = ()) -> str:
    """Return Python code that opens a set, a group, an array, or the bytes of a key."""
    text = masked_text(_code(refs, key or "", known, allow))
    return f"{_FILL_IN}\n{text}" if MASK in text else text


def _code(refs: SetLike, path: str, known: CodeContext, allow: Collection[str]) -> str:
    is_bytes = bool(path) and path in refs and path not in refs.arrays()
    if _is_missing_chunk(refs, path) or refs.rejection(path) is not None:
        return _by_refexplorer(refs, path, is_bytes, allow)
    if not is_bytes and (opened := _by_icechunk(refs, path, known)) is not None:
        return opened
    try:
        # Zarr cannot list nested groups, and fsspec does not find chunks of some parquet stores
        if not is_bytes and path not in refs.arrays() and (path or not _members(refs, "")):
            raise BeyondFsspec
        if refs.source.store is not None and any(map(lost_record_message, _asked_for(refs, path))):
            raise BeyondFsspec
        recipe = fsspec_recipe(refs, known, asynchronous=not is_bytes)
    except (BeyondFsspec, RefexplorerError):
        return _by_refexplorer(refs, path, is_bytes, allow)
    if is_bytes:
        call = call_text("fsspec.filesystem", ["reference"], recipe.options)
        return whole_code(recipe, ["fsspec"], [f"fs = {call}", f"data = fs.cat({path!r})"])
    _add_codecs(refs, path, recipe)
    return whole_code(recipe, *_opening(refs, path, recipe.options))


def _by_icechunk(refs: SetLike, path: str, known: CodeContext) -> str | None:
    """Return code that opens a repository without refexplorer; None if there is none."""
    facts = refs.source.repository
    if facts is None:
        return None
    place, options = parse(resolve(facts.place or "", None)), Options(known.storage_options, None)
    lines = opening_lines(facts, options.of(place)[1])
    if lines is None:
        return None
    recipe = Recipe(lines=lines)
    _add_grid(refs, path, recipe)
    given: dict[str, Any] = {"mode": "r"}
    if path in refs.arrays():
        given = {"path": path, **given} if path else given
        last = call_text("zarr.open_array", [RawCode("session.store")], given)
        return whole_code(recipe, ["icechunk", "zarr"], [f"array = {last}"])
    given = {"group": path} if path else {}
    if _is_dataset(refs, path):
        given = {**given, "consolidated": False}
        last = call_text("xarray.open_zarr", [RawCode("session.store")], given)
        return whole_code(recipe, ["icechunk", "xarray"], [f"dataset = {last}"])
    given = {"path": path, "mode": "r"} if path else {"mode": "r"}
    last = call_text("zarr.open_group", [RawCode("session.store")], given)
    return whole_code(recipe, ["icechunk", "zarr"], [f"group = {last}"])


def _asked_for(refs: SetLike, path: str) -> Iterator[ArrayMeta]:
    """Yield the array at a path, or the one that contains it."""
    for array in map(refs.array, refs.arrays()):
        if path in ("", array.path) or path.startswith(array.folder):
            yield array


def _add_codecs(refs: SetLike, path: str, recipe: Recipe) -> None:
    """Register the codecs that numcodecs does not find itself."""
    used = (name for array in _asked_for(refs, path) for name in names_v2(array.metadata))
    for module in sorted({found for name in used if (found := registering(name)) is not None}):
        recipe.imports.append(module)
        recipe.lines.append(registration(module))
    _add_grid(refs, path, recipe)


def _add_grid(refs: SetLike, path: str, recipe: Recipe) -> None:
    """Enable a feature that Zarr disables by default: variable-sized chunks."""
    if any(array.varying is not None for array in _asked_for(refs, path)):
        recipe.imports.append("zarr")
        recipe.lines.append(f"zarr.config.set({{{RECTILINEAR!r}: True}})")


def _members(refs: SetLike, group: str) -> list[str]:
    """Return the arrays directly below a group."""
    return [path for path in refs.arrays() if path and path.rpartition("/")[0] == group]


def _opening(refs: SetLike, path: str, options: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the imports and the lines that open an array or a group."""
    given: dict[str, Any] = {"storage_options": options}
    if path in refs.arrays():
        form = refs.array(path).zarr_format
        where = {"path": path} if path else {}
        given = {"mode": "r", "zarr_format": form, **where, **given}
        return ["zarr"], [f"array = {call_text('zarr.open_array', ['reference://'], given)}"]
    if _is_dataset(refs, path):
        given = {"engine": "zarr", "consolidated": False, **given}
        return ["xarray"], [
            f"dataset = {call_text('xarray.open_dataset', ['reference://'], given)}"
        ]
    given = {"mode": "r", **given}
    return ["zarr"], [f"group = {call_text('zarr.open_group', ['reference://'], given)}"]


def _is_dataset(refs: SetLike, group: str) -> bool:
    """Return whether all arrays of a group have the dimension names that xarray needs."""
    members = _members(refs, group)
    return bool(members) and all(refs.array(path).dimensions is not None for path in members)


def _by_refexplorer(refs: SetLike, path: str, is_bytes: bool, allow: Collection[str]) -> str:
    place = place_of(refs.source)
    opened = [] if place is None else [f"refs = {opening_call(refs.source, place)}"]
    named = refs_text(sorted(allow))
    if refs.rejection(path) is not None:
        last = f"diagnostic = refs.rejection({path!r})"
    elif _is_missing_chunk(refs, path) and (chunk := refs.array_of(path)) is not None:
        last = f"chunk = {named}.chunk({', '.join(map(repr, chunk))})"
    elif is_bytes:
        last = f"data = {named}.filesystem().cat({path!r})"
    elif path and path in refs.arrays():
        last = f"array = {named}.to_zarr()[{path!r}]"
    elif _is_dataset(refs, path):
        group = f"group={path!r}" if path else ""
        last = f"dataset = {named}.to_xarray({group})"
    else:
        last = f"group = {named}.to_zarr()" + (f"[{path!r}]" if path else "")
    head = ["import refexplorer", ""] if opened else []
    return "\n".join([*head, *opened, last]) + "\n"


def refs_text(allow: Sequence[str]) -> str:
    """Return the set in code, with the locations to allow for reading its targets."""
    return f"refs.allowing({', '.join(map(repr, allow))})" if allow else "refs"


def _is_missing_chunk(refs: SetLike, path: str) -> bool:
    return path not in refs and path not in refs.arrays() and refs.array_of(path) is not None
