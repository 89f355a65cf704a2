"""Lint rules for one key, URL or array: things that are allowed, but usually mistakes.

Rules see only the keys and URLs of a set that match `ODD_KEY` and `ODD_URL`: a new rule may have
to extend these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from refexplorer.core.text import SIGNED, counted, is_secret
from refexplorer.spec.findings import Findings, pointer
from refexplorer.spec.references import ODD_IN_URL, unportable_key, unportable_url
from refexplorer.spec.templates.template import is_template
from refexplorer.spec.zarr_metadata import ArrayMeta


class LintFinding(NamedTuple):
    """A finding without its pointer."""

    code: str
    message: str
    hint: str = ""


class KeyFindings(NamedTuple):
    """Findings about keys, whose pointers share a prefix."""

    base: str
    findings: Findings

    def add(self, code: str, key: str, message: str, hint: str = "", **options: Any) -> None:
        """Add a finding about a key, with options of `Findings.add`."""
        options["together"] = options.get("together", False) or code in ALIKE
        self.findings.add(code, self.base + pointer(key), message, hint, key=key, **options)

    def add_all(self, key: str, found: Iterable[LintFinding], **options: Any) -> None:
        """Add the findings of rules about a key."""
        for code, message, hint in found:
            self.add(code, key, message, hint, **options)


ODD_KEY = (
    r"^$|^/|/$|//|^\.\.?/|/\.\.?/|/\.\.?$|^\.\.?$|\{\{|\{%|[^\x20-\x7e]"
    r"|[<>:\"|?*\\#%]|(?:^|/) | (?:/|$)|\.(?:/|$)"
)
"""Keys for which `lint_key` may have findings; RE2 and `re` interpret the pattern alike."""

ODD_URL = (
    r"^$|::|\{|[^\x20-\x7e]|^[^A-Za-z/]|^[A-Za-z][A-Za-z0-9+.\-]*(?:[^A-Za-z0-9+.\-:]|$)"
    rf"|{ODD_IN_URL.pattern}|{SIGNED}"
)
"""The same for `lint_url`."""

URL_START = r"(?s)^(?P<start>[A-Za-z][A-Za-z0-9+.\-]*:|.)"  # The protocol, or one character

METADATA_IN_TARGET = (
    "The metadata is in a target: refexplorer does not show such an array, and GDAL and "
    "VirtualiZarr do not read it."
)
ALIKE = frozenset({"unportable-key", "odd-metadata-json", "metadata-elsewhere"})
"""The message of one finding for all positions."""

_SEGMENT = re.compile(r"^$|^/|/$|//|(?:^|/)\.\.?(?:/|$)")
_HIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_SINGLE = re.compile(r"(?<![{$])\{([A-Za-z_]\w*)\}(?!\})")
_PROTOCOL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


def lint_key(key: str, version: int | None) -> Iterator[LintFinding]:
    """Yield remarks on a key that `ODD_KEY` matches; `version` is None outside reference sets."""
    if _SEGMENT.search(key):
        yield LintFinding(
            "suspicious-key",
            "Zarr never requests a key that is empty, starts or ends with /, or has an empty "
            "or dotted segment, and may fail to list its group.",
        )
    if is_template(key) and version == 1:
        message = "Keys in `refs` are not templates: the braces are kept as they are."
        yield LintFinding("template-in-key", message, "Use `gen` to generate keys.")
    if _HIDDEN.search(key):
        yield LintFinding("suspicious-characters", "The key contains invisible characters.")
    elif version is not None and (why := unportable_key(key)):
        yield LintFinding("unportable-key", why)


def lint_url(url: str | None, version: int | None) -> Iterator[LintFinding]:
    """Yield remarks on a rendered URL that `ODD_URL` matches."""
    # `version` is the same as in `lint_key`.
    is_written = version is not None
    if url is None:
        yield LintFinding(
            "null-url", "The reference has no URL.", "Name the target when you open the set."
        )
    elif url == "":
        yield LintFinding("empty-url", "The URL is empty.", "Check whether a template is empty.")
    elif is_written and "::" in url:
        message = "fsspec does not follow chained URLs inside references."
        yield LintFinding("chained-url", message, "Refer to the file itself.")
    elif is_written and not _PROTOCOL.match(url) and not url.startswith("/"):
        yield LintFinding(
            "relative-url",
            "The URL is relative: refexplorer resolves it against the folder of the reference "
            "file, fsspec against the working directory.",
        )
    if url and _HIDDEN.search(url):
        yield LintFinding(
            "suspicious-characters",
            "The URL contains invisible characters, so it may not be what it looks like.",
        )
    elif is_written and url and "::" not in url and (why := unportable_url(url)):
        yield LintFinding("unportable-url", why)
    if url and is_secret(url):
        yield LintFinding(
            "signed-url",
            "The URL has a signature, a token or a password: it gives access to everybody with the "
            "set, and most expire.",
            "Write the plain URL; readers pass their own credentials.",
        )
    if url and version == 1 and (single := _SINGLE.search(url)):
        yield LintFinding(
            "single-braces",
            f"The URL contains `{single[0]}`: an expression has two braces on each side.",
            f"Write `{{{single[0]}}}` for the value of `{single[1]}`.",
        )
    if url and version == 0 and is_template(url):
        yield LintFinding(
            "template-in-v0",
            "V0 has no templates: the braces are kept as they are.",
            'Add "version": 1 and move the references into `refs`.',
        )


def lint_protocols(urls: Iterable[str | None]) -> LintFinding | None:
    """Return whether the targets of a set need more than one file system."""
    found = sorted({_protocol(url) for url in urls if url})
    if len(found) < 2:
        return None
    return LintFinding(
        "mixed-protocols",
        f"The targets need {len(found)} kinds of file system: {', '.join(found)}.",
        "fsspec's `remote_protocol` names only one; pass `fs={protocol: filesystem}` instead.",
    )


def _protocol(url: str) -> str:
    match = _PROTOCOL.match(url)
    return match[0].rstrip(":").lower() if match else "no protocol"


def lint_chunk(array: ArrayMeta, key: str, index: tuple[int, ...]) -> LintFinding | None:
    """Return whether a chunk key fits the grid of its array."""
    if len(index) != len(array.shape):
        return LintFinding(
            "chunk-wrong-rank",
            f"The key has an index of {counted(len(index), 'dimension')}, but "
            f"{array.path_text()} has {len(array.shape)}.",
        )
    if not array.contains(index):
        grid = " x ".join(map(str, array.grid))
        return LintFinding(
            "chunk-outside-grid",
            f"The chunk is outside the {grid} chunk grid of {array.path_text()}, so no "
            "reader requests it.",
        )
    return None


def lint_nodes(keys: Iterable[str]) -> Iterator[tuple[str, LintFinding]]:
    """Yield metadata keys between which Zarr readers choose differently, and why."""
    nodes: dict[str, set[str]] = {}
    for key in keys:
        path, _, name = key.rpartition("/")
        nodes.setdefault(path, set()).add(name)
    for path, names in nodes.items():
        if "zarr.json" in names and names & {".zarray", ".zgroup"}:
            kinds, name = "of Zarr v2 and of v3", "zarr.json"
        elif {".zarray", ".zgroup"} <= names:
            kinds, name = "an array and a group", ".zgroup"
        else:
            continue
        message = f"`{path or '/'}` is {kinds}: readers use the one that they look for first."
        yield f"{path}/{name}" if path else name, LintFinding("ambiguous-node", message)


EXTERNAL = "_EXTERNAL_ARRAY_LINK"
SOFT = "_SOFT_LINK"


def lint_links(path: str, attributes: Mapping[str, object]) -> Iterator[LintFinding]:
    """Yield the targets of LINDI's links: a node in the set, or an array of another file."""
    soft = attributes.get(SOFT)
    target = soft.get("path") if isinstance(soft, Mapping) else None
    if isinstance(target, str):
        yield LintFinding(
            "soft-link",
            f"`{path or '/'}` is a soft link to {target!r}; only LINDI follows it, and all other "
            "readers show an empty group.",
            "Copy the keys that the link points to, or read them at their original path.",
        )
    external = attributes.get(EXTERNAL)
    if external is None:
        return
    at = f"{_of(external, 'name')} of {_of(external, 'url')}"
    yield LintFinding(
        "array-elsewhere",
        f"The values of `{path or '/'}` are in the dataset {at}, and the set has no references "
        "to its chunks; only LINDI follows the link, and for all other readers they are fill "
        "values.",
        "Open that file itself (`refexplorer[virtual]` makes references to its chunks), or "
        "write the set with a higher `num_dataset_chunks_threshold`.",
    )


def _of(link: object, name: str) -> str:
    value = link.get(name) if isinstance(link, Mapping) else None
    return repr(value) if isinstance(value, str) else "an unknown place"
