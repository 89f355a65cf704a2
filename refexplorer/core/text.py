"""Text from files, without its secrets, made safe to print and to put into HTML."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from itertools import pairwise
from typing import Any, TypeVar

MASK = "***"
_SIGNATURES = (
    "X-Amz-Signature", "X-Amz-Security-Token", "X-Goog-Signature", "X-OSS-Signature",
    "OSSAccessKeyId", "AWSAccessKeyId", "Key-Pair-Id", "Signature", "sig", "access_token",
    "auth_token", "token", "api_key", "apikey", "password",
)  # fmt: skip
SIGNED = rf"(?i:[?&](?:{'|'.join(_SIGNATURES)})=[^&])"  # A URL that gives access; for RE2 and `re`
KEYS = frozenset({"array", "arrays", "key", "keys", "path", "pointer"})
"""JSON members that contain keys or paths of a set, not URLs, even if they look like one."""
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
"""Ways to log in, which are not secrets whatever the option is called."""
_SIMPLE = re.compile(r"[\w.\-]{1,64}|\{\{[^{}]*\}\}")
_NAME = re.compile(r"[A-Za-z_][\w\-]{0,40}")
_LONGEST_VALUE = 200  # longer values of options are hidden even where the name is harmless
_SHORTEST_SECRET = 6  # Characters: shorter values are part of too many other words

_MARKS = ("AccountKey=", "SharedAccess", "X-Amz-", "X-Goog-", "X-OSS-", "access_token=")
_WORD = re.compile(r"(?:[^\s\"'<>`\\]|\\(?![nrt\"'\\]))+")
_END_OF_SENTENCE = ".,:;!)]…"
_AUTHORITY = re.compile(r"[^/?#]*")
_CONTAINERS = frozenset({"abfs", "abfss", "wasb", "wasbs"})  # Azure has a container before an ``@``
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
    """Return a text without user names and secret parameters in its URLs."""
    if not may_have_secrets(text):
        return text
    return _WORD.sub(_masked_word, _BEARER.sub(rf"\1{MASK}", text))


def may_have_secrets(text: str) -> bool:
    """Check whether a text may have secrets, 20 times faster than a regular expression."""
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
    """Return the end of the user information after ``://``, 0 if there is none."""
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
    """Format a query: the harmless parameters, and one hidden parameter for all others."""
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
    """Return a URL or path of any form that is safe to display."""
    before, mark, query = masked_text(url).partition("?")
    return f"{before}{mark}{_parameters(query)}" if mark else before


def is_secret(url: str) -> bool:
    """Return whether a URL has a signature, a token or a password."""
    return re.search(SIGNED, url) is not None or any(":" in user for user in _users(url))


def has_secrets(text: str) -> bool:
    """Return whether a text contains such a URL."""
    plain = text.replace("\\/", "/").replace("\\u0026", "&")  # as JSON may write them
    return any(is_secret(found[0]) for found in _WORD.finditer(plain) if may_have_secrets(found[0]))


def has_mask(text: str) -> bool:
    """Return whether something was masked in a URL in a text, or in HTML."""
    return _MASKED.search(text) is not None


def secrets_of(url: str) -> tuple[str, ...]:
    """Return the texts that `masked_url` removes from a URL, the longest first."""
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
    """Return those texts, of templates for example, that are parts of secrets in URLs."""
    long = _long_ones(texts)
    secrets = {each for url in urls if url for each in secrets_of(url)} if long else set()
    return tuple(text for text in long if any(text in secret for secret in secrets))


def without(text: str, secrets: Collection[str]) -> str:
    """Return a text as `masked_text` does, without further secrets; nothing if part of one."""
    if len(text) >= _SHORTEST_SECRET and any(text in secret for secret in secrets):
        return MASK
    for secret in secrets:
        text = text.replace(secret, MASK)
    return masked_text(text)


def _long_ones(values: Iterable[str]) -> tuple[str, ...]:
    long = {value for value in values if len(value) >= _SHORTEST_SECRET}
    return tuple(sorted(long, key=len, reverse=True))


def masked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return file system options with a mask in place of each value that may be secret."""
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
    """Return a JSON value with each text as returned by `without` for some secrets."""
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
    """Give a class a `repr` without secrets, which people see; its fields stay unmasked."""
    of: Any = kind
    own: Callable[[Any], str] = of.__repr__
    of.__repr__ = lambda self: masked_text(own(self))
    return kind


_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_TICKED = re.compile("`([^`]+)`")
_UNITS = ("kB", "MB", "GB", "TB", "PB", "EB")
_SIZE = 10**30  # larger than any size of data; a file may claim any number
_LAST_MOMENT = 8.64e15  # Milliseconds to the last date of JavaScript
_WHOLE = 1e15  # larger numbers are shown with six digits, smaller whole ones with all of theirs
# from here on six digits leave no fraction, so all digits before the point are shown
_MILLION = 1e6
_SIX_DIGITS = Context(prec=6, rounding=ROUND_HALF_UP)
_FOLDERS = 10  # that are named to tell files apart
_NAME_CHARS = 200  # of a name: a file may hold any text
_LONGEST_USER = 10_000  # Characters beyond the limit of a text in which a password is looked for
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def escape(text: str, limit: int | None = None) -> str:
    r"""Mask secrets in URLs, and escape invisible characters as in ``\u202e``."""
    most = len(text) if limit is None else limit + _LONGEST_USER
    is_long, text = len(text) > most, masked_text(text[:most])
    if limit is not None and (is_long or len(text) > limit):
        text = f"{text[: limit - 1]}…"
    return text if text.isprintable() else _UNSEEN.sub(_escaped, text)


def integer_text(value: int) -> str:
    """Return an integer as text; if it is long, its first digits, as Python prints 4,300."""
    more = int(value.bit_length() * 0.30103) - 30
    if more <= 0:
        return str(value)
    return f"{'-' if value < 0 else ''}{abs(value) // 10**more}…"


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


SENTENCE = 2_000  # Characters of a message or pointer that are shown: it may quote any text


def shorten(text: str, limit: int = SENTENCE) -> str:
    """Cut the middle out of a text longer than a limit, and state its length."""
    if len(text) <= limit:
        return text
    said = f"… [{len(text):,} characters] …"
    kept = max(limit - len(said), 2)
    return text[: kept - kept // 2] + said + text[-(kept // 2) :]


def shown(text: str, limit: int | None = None) -> str:
    """Return text from a file as HTML that only displays it."""
    return html.escape(escape(text, limit))


def prose(text: str, limit: int | None = None) -> str:
    """Return a sentence as HTML, with what stands in backticks as ``code`` elements."""
    return _TICKED.sub(r"<code>\1</code>", shown(text, limit))


def code(text: str, limit: int | None = None) -> str:
    """Return text from a file as a ``code`` element."""
    return f"<code>{shown(text, limit)}</code>"


def items(parts: Iterable[str], kind: str = "ul") -> str:
    """Return a list of HTML elements."""
    return f"<{kind}>{''.join(f'<li>{part}</li>' for part in parts)}</{kind}>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of HTML cells."""
    title = "".join(f"<th scope='col'>{cell}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{title}</tr></thead><tbody>{body}</tbody></table>"


def size_text(size: int) -> str:
    """Format a number of bytes in decimal units with three digits, such as ``"57.3 kB"``."""
    if size < 0:
        return f"-{size_text(-size)}"
    if size < 1000:
        return f"{size} B"
    if size > _SIZE:
        return f"more than {size_text(_SIZE)}"
    step = 10 ** (len(str(size)) - 3)
    size = (size + step // 2) // step * step
    digits = len(str(size))
    power = min((digits - 1) // 3, len(_UNITS))
    places = max(0, 3 * power + 3 - digits)
    return f"{size / 1000**power:,.{places}f} {_UNITS[power - 1]}"


def moment_text(milliseconds: float) -> str:
    """Format milliseconds since 1970 as a date, with the time unless zero."""
    import numpy as np  # here alone: errors need no more of this module than its texts

    if not math.isfinite(milliseconds):
        return "NaT"
    if abs(milliseconds) > _LAST_MOMENT:
        return f"{milliseconds:.0f} ms since 1970"

    date, _, time = str(np.datetime64(int(milliseconds), "ms")).partition("T")
    time = time.removesuffix(".000")
    return date if time == "00:00:00" else f"{date} {time}"


def number_text(number: float) -> str:
    """Format a computed number: six digits, and all before the decimal point."""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "inf" if number > 0 else "-inf"
    if abs(number) < _WHOLE and (number == int(number) or abs(number) >= _MILLION):
        return f"{math.floor(number + 0.5):,}"
    short = _SIX_DIGITS.plus(Decimal(number)).normalize()
    if 1e-6 <= abs(short) < 1e21:
        return f"{short:f}"
    digits, _, power = f"{short:e}".partition("e")
    return f"{digits}e{int(power):+}"


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def array_text(path: str) -> str:
    """Return the name of an array for a sentence."""
    return f"`{escape(path, _NAME_CHARS)}`" if path else "The root array"


def file_text(url: str) -> str:
    """Return the last part of a URL, to name a file in a sentence."""
    return escape(url.rstrip("/").rpartition("/")[2] or url, _NAME_CHARS)


def file_texts(urls: Sequence[str]) -> list[str]:
    """Return the last parts of different URLs, with as many folders as tell them apart."""
    found = [file_text(url) for url in urls]
    for depth in range(2, _FOLDERS):
        if len(set(found)) == len(found):
            break
        longer = ("/".join(url.rstrip("/").split("/")[-depth:]) for url in urls)
        found = [
            escape(text, _NAME_CHARS) if found.count(name) > 1 else name
            for name, text in zip(found, longer, strict=True)
        ]
    return found


ADVICE = "; if its files are in another folder, "
"""What begins the advice at the end of a message, which a report of many files gives once."""
PACKAGES = {
    "s3": "s3fs", "gs": "gcsfs", "az": "adlfs", "abfs": "adlfs", "adl": "adlfs",
    "sftp": "paramiko", "ssh": "paramiko", "oci": "ocifs", "oss": "ossfs", "hf": "huggingface_hub",
}  # fmt: skip
"""The package with which fsspec reads a protocol."""
EXTRAS = {"s3": "s3", "gs": "gcs"}  # The extra of this package that installs it


def missing_package(protocol: str | None) -> str | None:
    """Return which package reads a protocol, and how to install it."""
    if (package := PACKAGES.get(protocol or "")) is None:
        return None
    extra = EXTRAS.get(protocol or "")
    wanted = package if extra is None else f"'refexplorer[{extra}]'"
    return f"{package} is not installed (`pip install {wanted}`)"
