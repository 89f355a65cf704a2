"""The options with which fsspec reads a set: its document, its templates and its targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refexplorer.data.access.storage_options import Options
from refexplorer.data.access.urls import parse, protocol_of, resolve
from refexplorer.data.open.code_text import RawCode, Recipe, call_text
from refexplorer.formats.files.compression import GZIP, ZSTD
from refexplorer.masking import masked_options
from refexplorer.refset.queries.internals import SetLike

if TYPE_CHECKING:
    from refexplorer.formats.source import Source

_ASYNCHRONOUS = frozenset({"http", "https", "s3", "gs", "az", "abfs"})

_FORMS = ("V0", "V1", "parquet")
"""What fsspec reads."""


class BeyondFsspec(Exception):
    """fsspec has no options for this set."""


@dataclass(frozen=True, slots=True)
class CodeContext:
    """The facts that code for any key of a set needs, found once.

    Attributes
    ----------
    urls
        One target for each place that the set refers to.
    storage_options
        Options by protocol; what may be a secret is masked in the code.
    rendering
        fsspec's options for the templates, as `fsspec_options` of the readers returns them.
    """

    urls: Sequence[str | None]
    storage_options: Mapping[str, Any] = field(repr=False)
    rendering: Mapping[str, Any] | None


def fsspec_recipe(refs: SetLike, known: CodeContext, asynchronous: bool) -> Recipe:
    """Return what opens a set with fsspec.

    Raises
    ------
    BeyondFsspec
        If fsspec has no options for it.
    """
    recipe = Recipe()
    _add_document(refs.source, recipe, known)
    if None in known.urls:
        raise BeyondFsspec  # the reader names the target, which only a person knows
    places = [place_of(refs.source), refs.source.location, *known.urls]
    if not all(_is_read_alike(place) for place in places if place):
        raise BeyondFsspec
    _add_targets(refs, recipe, known, asynchronous)
    return recipe


def _is_read_alike(url: str) -> bool:
    """Say whether fsspec takes a URL for the same place: case tells its protocols apart."""
    protocol = protocol_of(url)
    if protocol == "file":
        from fsspec.implementations.local import LocalFileSystem

        return str(Path(LocalFileSystem._strip_protocol(url)).resolve()) == parse(url).path
    written, mark, _ = url.partition("://")
    return not mark or (protocol is not None and written.islower())


def _add_document(source: Source, recipe: Recipe, known: CodeContext) -> None:
    """Say which document to read, and how fsspec has to render it."""
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
    recipe.options["fo"] = place
    target_options = dict(_compression(place))
    if "://" in place:
        own = Options(known.storage_options, source.location).of(parse(place))[1]
        target_options |= masked_options(own)
    if target_options:
        recipe.options["target_options"] = target_options
    recipe.options |= known.rendering


def opening_call(source: Source, place: str) -> str:
    """Return the call that opens a source again with refexplorer."""
    joined = "" if source.joined_along is None else f", concat_dim={source.joined_along!r}"
    return f"refexplorer.open_references({place!r}{joined})"


def place_of(source: Source) -> str | None:
    """Return the path or URL of a source; None if it was given as a value."""
    if source.place is not None:
        return source.place
    part = "" if source.part is None else f"#{source.part}"
    if source.store is not None:
        filesystem, path = source.store
        protocol = filesystem.protocol if isinstance(filesystem.protocol, str) else None
        return path if protocol is None else str(filesystem.unstrip_protocol(path))
    if source.location is None:
        return None
    if "://" in source.location:
        return f"{source.location.rstrip('/')}/{source.name}{part}"
    return str(Path(source.location) / source.name) + part


def _compression(place: str) -> dict[str, str]:
    """Say how a document is compressed, which fsspec wants to be told."""
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
    """Say which file systems read the targets: nothing for local ones, else one or several."""
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
                raise BeyondFsspec  # it makes the file system of a protocol without a host
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
    """Return options for fsspec, or the expression for a file system that Zarr can await."""
    if protocol in _ASYNCHRONOUS:
        return _options(protocol, options, asynchronous)
    made = call_text("fsspec.filesystem", [protocol], masked_options(options))
    wrapped = f"AsyncFileSystemWrapper({made}, asynchronous=True)"
    return RawCode(wrapped if asynchronous else made)


def _folder(location: str, given: Options, asynchronous: bool) -> RawCode:
    """Return the expression for the folder of the reference file, which targets start from."""
    protocol = protocol_of(location) or "file"
    options = given.of(parse(resolve(location, None)))[1]
    mode = ", asynchronous=True" if asynchronous else ""
    inner = call_text("fsspec.filesystem", [protocol], _options(protocol, options, asynchronous))
    if protocol not in _ASYNCHRONOUS:  # fsspec before 2026.9 awaits what is inside, always
        # said also where it is False: in a notebook, where a loop runs, the default is True
        inner = f"AsyncFileSystemWrapper({inner}, asynchronous={asynchronous})"
    return RawCode(f"DirFileSystem({location!r}, fs={inner}{mode})")


def _add_imports(recipe: Recipe) -> None:
    text = repr(recipe.options["fs"])
    for name, module in (("AsyncFileSystemWrapper", "asyn_wrapper"), ("DirFileSystem", "dirfs")):
        if name in text:
            recipe.imports.append(f"fsspec.implementations.{module}:{name}")
    if "fsspec.filesystem" in text:
        recipe.imports.append("fsspec")
