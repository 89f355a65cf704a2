"""Addresses and options as people see them: without passwords, signatures and tokens.

What is shown, saved or quoted goes through `masked_text` (any text), `masked` (what JSON knows) or
`masked_options` (options of fsspec). What may be seen is listed, and not what is secret, so that a
parameter that nobody thought of is hidden. References, documents and keys are data and stay as they
are; the documentation page DECISIONS says which is which.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, TypeVar

MASK = "***"
_SIGNATURES = (
    "X-Amz-Signature", "X-Amz-Security-Token", "X-Goog-Signature", "X-OSS-Signature",
    "OSSAccessKeyId", "AWSAccessKeyId", "Key-Pair-Id", "Signature", "sig", "access_token",
    "auth_token", "token", "api_key", "apikey", "password",
)  # fmt: skip
SIGNED = rf"(?i:[?&](?:{'|'.join(_SIGNATURES)})=[^&])"
"""A URL that lets everybody in who has it; RE2 and `re` read it alike."""
KEYS = frozenset({"array", "arrays", "key", "keys", "path", "pointer"})
"""Members of documents that name what is in a set: no address, however they look."""
_HARMLESS_PARAMETERS = frozenset({
    "versionid", "generation", "version", "v", "format", "f", "alt", "download", "raw",
    "service", "request",
})  # fmt: skip
_HARMLESS_OPTIONS = frozenset({
    "access", "account_host", "account_name", "addressing_style", "allow_http", "anon", "anonymous",
    "asynchronous", "block_size", "bucket", "cache_type", "client_kwargs", "compression", "config",
    "config_kwargs", "connect_timeout", "consistency", "default_block_size", "default_cache_type",
    "encoded", "encoding", "endpoint", "endpoint_url", "force_path_style", "from_env",
    "google_base_url", "host", "max_attempts", "max_concurrency", "max_pool_connections", "mode",
    "port", "prefix", "profile", "project", "protocol", "read_timeout", "region", "region_name",
    "requester_pays", "retries", "s3", "s3_additional_kwargs", "same_scheme", "signature_version",
    "simple_links", "skip_instance_cache", "timeout", "trust_env", "use_listings_cache", "use_ssl",
    "verify", "version_aware",
})  # fmt: skip
_PUBLIC_VALUES = frozenset({"anon", "browser", "cloud", "google_default"})
"""Ways to log in, which are no secrets whatever the option is called."""
_SIMPLE = re.compile(r"[\w.\-]{1,64}|\{\{[^{}]*\}\}")
_NAME = re.compile(r"[A-Za-z_][\w\-]{0,40}")
_LONGEST_VALUE = 200  # longer values of options are hidden even where the name is harmless
_SHORTEST_SECRET = 6
"""Characters: a shorter value is part of too many other words to be taken out of a text."""

_MARKS = ("AccountKey=", "SharedAccess", "X-Amz-", "X-Goog-", "X-OSS-", "access_token=")
_WORD = re.compile(r"(?:[^\s\"'<>`\\]|\\(?![nrt\"'\\]))+")
_END_OF_SENTENCE = ".,:;!)]…"
_AUTHORITY = re.compile(r"[^/?#]*")
_CONTAINERS = frozenset({"abfs", "abfss", "wasb", "wasbs"})
"""Schemes of Azure, which has a container before an ``@``."""
_PARAMETER = re.compile(r"[?&#](?=[A-Za-z_][\w.\-]*=)")
_IN_ADDRESS = re.compile(r"\?|[&#;](?=[A-Za-z_][\w.\-]*=)")
_ASSIGNED = re.compile(
    r"\b(AccountKey|SharedAccess(?:Key|Signature)|X-(?:Amz|Goog|OSS)-[A-Za-z\-]{1,40}|access_token)="
    r"(?!\*)[^\s&;,)\]]+"
)
_MASKED = re.compile(r"(?:[?&;=]|//)\*\*\*")
_BEARER = re.compile(r"\b(Bearer )[A-Za-z0-9+/=._~\-]{8,}")
_Class = TypeVar("_Class", bound=type)


def masked_text(text: str) -> str:
    """Return a text in which no address has user information, or a query that may be a secret.

    Parameters whose names are known to be harmless, such as ``versionId``, stay.
    """
    if not may_have_secrets(text):
        return text
    return _WORD.sub(_masked_word, _BEARER.sub(rf"\1{MASK}", text))


def may_have_secrets(text: str) -> bool:
    """Look at a text that has none 20 times faster than a regular expression would."""
    if "?" in text or "@" in text or "&" in text or "#" in text or "Bearer " in text:
        return True
    return "=" in text and (any(mark in text for mark in _MARKS) or (";" in text and "://" in text))


def _masked_word(found: re.Match[str]) -> str:
    word = found[0].replace("\\/", "/")  # as ujson writes a slash
    start = word.find("://")
    if start >= 0 and "@" in word:
        parts = word.split("://")
        ends = [0, *map(_user_end, parts, parts[1:])]
        word = "://".join(f"{MASK}@{part[end:]}" if end else part
                          for part, end in zip(parts, ends, strict=True))  # fmt: skip
    query = _PARAMETER.search(word) if start < 0 else _IN_ADDRESS.search(word, start)
    if query is not None:
        stop = max(len(word.rstrip(_END_OF_SENTENCE)), query.end())
        word = f"{word[: query.end()]}{_parameters(word[query.end() : stop])}{word[stop:]}"
    return _ASSIGNED.sub(rf"\1={MASK}", word) if "=" in word else word


def _user_end(before: str, part: str) -> int:
    """Return where the user information behind ``://`` ends, 0 without any."""
    found = _AUTHORITY.match(part)
    authority = "" if found is None else found[0]
    end = authority.rfind("@") + 1
    host, colon, port = authority.partition(":")
    if not end and colon and host[:1] != "[" and not port.isdigit():
        end = part.rfind("@") + 1  # a password with a slash
    scheme = re.split(r"[^a-z0-9]", before[-10:])[-1]
    is_public = scheme == "github" or (scheme in _CONTAINERS and ":" not in part[:end])
    return 0 if is_public else end


def _parameters(query: str) -> str:
    """Write a query: what is harmless in it, and one hidden parameter for all others."""
    shown, names = list[str](), list[str]()
    for each in filter(None, re.split(r"[?&#;]|\\u0026", query)):
        name, _, value = each.partition("=")
        if name.lower() in _HARMLESS_PARAMETERS and _SIMPLE.fullmatch(value):
            shown.append(each)
        else:
            names.append(name.lower())
    signature = next((f"{known}=" for known in _SIGNATURES if known.lower() in names), "")
    return "&".join([*shown, f"{signature}{MASK}"] if names else shown)


def masked_url(url: str) -> str:
    """Return an address, of any form, as it may be seen."""
    before, mark, query = masked_text(url).partition("?")
    return f"{before}{mark}{_parameters(query)}" if mark else before


def is_secret(url: str) -> bool:
    """Whether an address has a signature, a token or a password."""
    return re.search(SIGNED, url) is not None or any(":" in user for user in _users(url))


def has_secrets(text: str) -> bool:
    """Whether a text has an address that is one."""
    plain = text.replace("\\/", "/").replace("\\u0026", "&")  # as JSON may write them
    return any(is_secret(found[0]) for found in _WORD.finditer(plain) if may_have_secrets(found[0]))


def has_mask(text: str) -> bool:
    """Whether something was taken out of an address in a text, or in HTML."""
    return _MASKED.search(text) is not None


def secrets_of(url: str) -> tuple[str, ...]:
    """Return the texts that `masked_url` takes out of an address, the longest first."""
    values = [part for user in _users(url) for part in re.split("[:@]", user)]
    query = url.partition("?")[2]
    values += [part for each in re.split("[&#]", query) for part in (each, each.partition("=")[2])]
    seen = masked_url(url)
    return _long_ones(value for value in values if value not in seen)


def _users(url: str) -> Iterator[str]:
    parts = url.split("://") if "@" in url else []
    for before, part in pairwise(parts):
        yield part[: _user_end(before, part)]


def secrets_among(texts: Iterable[str], urls: Iterable[str | None]) -> tuple[str, ...]:
    """Return those texts, of templates for example, that are parts of secrets of addresses."""
    long = _long_ones(texts)
    secrets = {each for url in urls if url for each in secrets_of(url)} if long else set()
    return tuple(text for text in long if any(text in secret for secret in secrets))


def without(text: str, secrets: Collection[str]) -> str:
    """Return a text as `masked_text`, without some more; nothing of one that is a part of them."""
    if len(text) >= _SHORTEST_SECRET and any(text in secret for secret in secrets):
        return MASK
    for secret in secrets:
        text = text.replace(secret, MASK)
    return masked_text(text)


def _long_ones(values: Iterable[str]) -> tuple[str, ...]:
    long = {value for value in values if len(value) >= _SHORTEST_SECRET}
    return tuple(sorted(long, key=len, reverse=True))


def masked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options for a file system with a mask in place of each value that may be a secret."""
    return {name: _masked_option(value, name in _HARMLESS_OPTIONS)
            for name, value in options.items()}  # fmt: skip


def _masked_option(value: Any, is_harmless: bool) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Mapping):
        is_plain = all(isinstance(each, str) and _NAME.fullmatch(each) for each in value)
        if not is_plain:
            return MASK
        return {name: _masked_option(each, is_harmless and name in _HARMLESS_OPTIONS)
                for name, each in value.items()}  # fmt: skip
    if isinstance(value, str) and value in _PUBLIC_VALUES:
        return value
    if not is_harmless:
        return MASK
    if isinstance(value, str) and len(value) <= _LONGEST_VALUE:
        return masked_url(value)
    return value if type(value) in (int, float) else MASK


def masked(value: Any, data: Collection[str] = (), secrets: Collection[str] = ()) -> Any:
    """Return what JSON knows with each text as `without` some secrets."""
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, str):
        return without(value, secrets) if secrets else masked_text(value)
    if isinstance(value, list):
        return [masked(item, data, secrets) for item in value]
    if isinstance(value, tuple):
        return tuple(masked(item, data, secrets) for item in value)
    if isinstance(value, Mapping):
        return {
            masked(name): item if name in data else masked(item, data, secrets)
            for name, item in value.items()
        }
    return value


def masks_repr(kind: _Class) -> _Class:
    """Give a class a `repr` without secrets: its fields are data, its `repr` is what people see."""
    of: Any = kind
    own: Callable[[Any], str] = of.__repr__
    of.__repr__ = lambda self: masked_text(own(self))
    return kind
