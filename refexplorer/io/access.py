"""Which locations may be read, for URLs with a protocol, a host or bucket, and a path."""

from __future__ import annotations

import ipaddress
import os
import posixpath
import re
import socket
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from refexplorer.core.errors import AccessError
from refexplorer.core.text import escape, masked_url, masks_repr

OBJECT_STORES = frozenset({"s3", "gs", "az", "abfs", "adl", "oci", "oss", "r2"})
"""Protocols whose URLs name a bucket, not a host."""
_NO_HOSTS = OBJECT_STORES | {"memory", "github", "jupyter", "jlab"}  # URLs without a host

_ALIASES = {"local": "file", "gcs": "gs", "s3a": "s3", "abfss": "abfs"}
_DEFAULT_PORTS = {"http": 80, "https": 443, "ftp": 21, "sftp": 22, "ssh": 22, "smb": 445}
_UNICAST = ipaddress.IPv6Network("2000::/3")  # IPv6 on the internet; `is_global` includes more
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")  # IPv4 in the last 32 bits (NAT64)
_TUNNELLED = frozenset({0x5EFE, 0x02005EFE})  # IPv4 in the last quarter (ISATAP)
_PROTOCOL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://|(file|local):", re.IGNORECASE)
_CHAIN = re.compile(
    r"^[A-Za-z0-9+.-]+::|::[A-Za-z0-9+.-]+://|^(?:zip|tar|libarchive|dir|\w*cache\w*)://.*::"
)  # keys of buckets, and addresses of hosts, may contain ::
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@masks_repr
@dataclass(frozen=True, slots=True)
class Place:
    """A parsed target."""

    protocol: str  # In lower case, aliases folded: ``"file"``, ``"https"``, ``"s3"``
    authority: str  # Host and port, or the bucket; empty for local files and memory
    path: str  # Absolute, without dot segments; of a local file, with symbolic links resolved
    url: str  # The URL passed to a reader; for a local file, its absolute path
    # The bare host name, an address in its shortest form; empty if `authority` is a bucket
    host: str = ""
    # The URL has a user name before its host, which makes it look like another
    disguised: bool = False
    port: int | None = None  # That of the protocol if the URL has none; None if it is not known
    # Whether messages must not name its folder, as on a served page
    is_hidden: bool = field(default=False, compare=False)

    def holds(self, other: Place) -> bool:
        """Whether `other` is this location or is inside it."""
        if (self.protocol, self.authority) != (other.protocol, other.authority):
            return False
        root = self.path.rstrip("/") + "/"
        return root == "/" or f"{other.path}/".startswith(root)

    @property
    def grant(self) -> str:
        """The name of the smallest unit that a person would allow: a folder, a bucket, a host."""
        if self.protocol == "file":
            return str(Path(self.path).parent)
        return f"{self.protocol}://{self.authority}"


def protocol_of(url: str) -> str | None:
    """Return the protocol in lower case with aliases resolved, or None for a plain path."""
    match = _PROTOCOL.match(url)
    if match is None:
        return None
    name = (match[1] or match[2]).lower()
    return _ALIASES.get(name, name)


def plain_address(address: str) -> str:
    """Return the shortest text of an IP address, without a zone; ValueError if invalid."""
    return str(_plain(address))


def _plain(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    ip = ipaddress.ip_address(address.partition("%")[0])
    # an IPv4 address written as IPv6 leads to the same socket
    return (ip.ipv4_mapped or ip) if isinstance(ip, ipaddress.IPv6Address) else ip


def is_private(address: str) -> bool:
    """Whether an IP address is loopback, link-local, private, or otherwise not public."""
    ip = _plain(address)
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.sixtofour
        if ip in _TRANSLATED or int(ip) >> 32 & 0xFFFFFFFF in _TUNNELLED:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is None and ip not in _UNICAST:
            return True
        ip = inner or ip
    return not ip.is_global or ip.is_multicast


def default_port(protocol: str) -> int | None:
    return _DEFAULT_PORTS.get(protocol)


def resolve(url: str, location: str | None) -> str:
    """Resolve a relative target against the folder of its reference set."""
    if protocol_of(url) is not None or url.startswith("/") or _CHAIN.search(url):
        return url
    if location is None:
        return str(Path.cwd() / url)
    if protocol_of(location) in (None, "file"):
        return str(Path(_local_path(location)) / url)
    return f"{location.rstrip('/')}/{url}"


def parse(url: str) -> Place:
    """Parse an absolute URL or path."""
    if _CHAIN.search(url):
        raise _refused(url, "is a chained URL, but only plain URLs are read")
    if _CONTROL.search(url):
        raise _refused(url, "contains a control character")
    protocol = protocol_of(url)
    if protocol is None or protocol == "file":
        return _parse_local(url)
    if protocol in _NO_HOSTS:
        return _parse_bucket(url, protocol)
    return _parse_host(url, protocol)


def _parse_local(url: str) -> Place:
    try:
        path = str(Path(_local_path(url)).resolve())
    except (OSError, RuntimeError, ValueError) as error:
        raise _refused(url, f"cannot be resolved: {error}") from None
    return Place("file", "", path, path)


def _local_path(url: str) -> str:
    match = _PROTOCOL.match(url)
    path = url[match.end() :] if match else url
    if match and match[1]:
        host, _, rest = path.partition("/")
        if host not in ("", "localhost"):
            raise _refused(url, f"names a file on another machine, {host}")
        path = f"/{rest}"
    return path


def _parse_bucket(url: str, protocol: str) -> Place:
    """Parse an object name, which is not percent-encoded and may contain any character."""
    name = url.partition("://")[2]
    bucket, _, key = name.partition("/") if protocol != "memory" else ("", "", name)
    if not bucket and protocol != "memory":
        raise _refused(url, "has no bucket")
    path = _without_dots(f"/{key}")
    return Place(protocol, bucket, path, f"{protocol}://{bucket}{path}")


def _parse_host(url: str, protocol: str) -> Place:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # its message might quote part of a password
        raise _refused(url, "is not a valid URL (its host or port cannot be read)") from None
    try:
        host = _ascii_host(parts)
    except ValueError as error:
        raise _refused(url, f"is not a valid URL ({error})") from None
    usual = default_port(protocol)
    authority = authority_of(host, None if port == usual else port)
    if "%" in parts.path and {".", ".."} & set(unquote(parts.path).split("/")):
        raise _refused(url, "hides '..' behind percent signs")
    path = _without_dots(parts.path or "/")
    user, at, _ = parts.netloc.rpartition("@")
    url = urlunsplit((protocol, user + at + authority, path, parts.query, ""))
    return Place(protocol, authority, unquote(path), url, host, bool(at), port or usual)


def authority_of(host: str, port: int | None) -> str:
    """Return a host and its port as written in a URL."""
    name = f"[{host}]" if ":" in host else host
    return name if port is None else f"{name}:{port}"


def _ascii_host(parts: SplitResult) -> str:
    """Return the ASCII form of a host used for look-up, which reveals lookalike letters."""
    if not parts.hostname:
        raise ValueError("it has no host")
    if re.search(r"[\\\s]", parts.netloc):
        raise ValueError("its host contains a space or a backslash")
    if "%" in parts.hostname:
        raise ValueError("its host contains a percent sign")
    name = parts.hostname if parts.hostname.isascii() else parts.hostname.encode("idna").decode()
    if not (name := name.rstrip(".")):
        raise ValueError("its host name consists of dots only")
    return _undisguised(name)


def _undisguised(host: str) -> str:
    """Reject an address such as ``127.1``, which not everyone recognizes as one."""
    if ":" in host:
        return plain_address(host)
    try:
        address = socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return host
    if address != host:
        raise ValueError(f"write its host as {address}")
    return host


def _without_dots(path: str) -> str:
    if not {".", ".."} & set(path.split("/")):
        return path
    folder = "/" if path.endswith("/") else ""
    return "/" + posixpath.normpath(path).lstrip("/") + folder


def _refused(url: str, reason: str) -> AccessError:
    return AccessError(f"{shown(url)} {reason}.", target=url)


def shown(url: str, limit: int = 200) -> str:
    """Mask and shorten a URL for a sentence; the view that prints it escapes control characters."""
    url = masked_url(url)
    return url if len(url) <= limit else f"{url[: limit - 1]}…"


StorageOptions = Mapping[str, Any]
"""Options for fsspec by protocol, ``{"s3": {"profile": "work"}}``, or by place,
``{"s3://bucket": {…}, "https://host": {…}}``; without either they are for the protocol of the
reference file. What identifies a person is then sent to the server of the reference file alone."""

_ANONYMOUS: dict[str, dict[str, Any]] = {
    "s3": {"anon": True},
    "gs": {"token": "anon"},
    "az": {"anon": True},
    "abfs": {"anon": True},
}
_CREDENTIALS: dict[str, frozenset[str]] = {
    "s3": frozenset({"anon", "key", "secret", "token", "username", "password", "profile"}),
    "gs": frozenset({"token"}),
    "az": frozenset({"anon", "account_key", "sas_token", "connection_string", "credential"}),
}
_CREDENTIALS["abfs"] = _CREDENTIALS["az"]
_PERSONAL = frozenset({"auth", "cookie_jar", "cookies", "headers", "params"})
"""Options of HTTP requests and sessions that may identify the user."""
_NO_PROTOCOL = ""  # The protocol of a set that came from no server
_IMPERSONAL = frozenset({
    "block_size", "encoding", "session_verify", "skip_instance_cache", "timeout", "tls",
    "use_https",
})  # fmt: skip
"""Options of other protocols with a host that do not identify the user."""


class Options:
    """The options for each target: those of the longest matching location, else its protocol.

    Stores are read anonymously unless the options contain credentials: nothing is taken from the
    environment unless requested (``{"s3": {"anon": False}}``). Headers, users and tokens of a
    whole protocol are for the server of the reference file, if it came from one; those with a
    ``host`` are for that host.
    """

    def __init__(
        self,
        options: StorageOptions,
        location: str | None,
        endpoints: Mapping[str, str] | None = None,
    ) -> None:
        self.given = options
        self._endpoints = [(parse(prefix), url) for prefix, url in (endpoints or {}).items()]
        self._home = _server_of(location)
        named = dict(_of_place(*each) for each in _named(options, location).items())
        self._protocols = {name: each for name, each in named.items() if "://" not in name}
        places = {name: parse(resolve(name, None)) for name in named if "://" in name}
        longest = sorted(places, key=lambda name: len(places[name].path), reverse=True)
        self._places = [(name, places[name], named[name]) for name in longest]

    def of(self, place: Place, redirected: bool = False) -> tuple[str, dict[str, Any]]:
        """Return the name under which a target's options were given, and the options."""
        for name, named, options in self._places:
            if named.holds(place):
                return name, _anonymous(place.protocol, options)
        options = _anonymous(place.protocol, self._protocols.get(place.protocol, {}))
        if redirected or self._is_elsewhere(place):
            return f"{place.protocol} elsewhere", _impersonal(place.protocol, options)
        return place.protocol, options

    def endpoint_of(self, place: Place, policy: AccessPolicy) -> str | None:
        """Return the server of a bucket named by the set, if the options name none."""
        found = next((url for prefix, url in self._endpoints if prefix.holds(place)), None)
        options = self.of(place)[1] if found is not None else {}
        if found is None or {**options, **options.get("client_kwargs", {})}.get("endpoint_url"):
            return None
        try:
            policy.allowed(found)
        except AccessError as error:
            fact = f"{shown(place.url)} is in a bucket of {shown(found)}, as the set says"
            grant = f'{fact}: use refs.allowing("{shown(error.grant)}") as well to read it.'
            raise AccessError(grant, target=found, grant=error.grant, fact=f"{fact}.") from None
        return found

    def withheld_text(self, place: Place, redirected: bool = False) -> str:
        """Return which options were not sent to a server, to end a sentence; empty if none."""
        if self._home is None and self._protocols.get(_NO_PROTOCOL):
            return "; storage_options without a place were not sent, as the set is from no server"
        name, options = self.of(place, redirected)
        given = self._protocols.get(place.protocol, {})
        if name != f"{place.protocol} elsewhere" or options == _anonymous(place.protocol, given):
            return ""
        home = self._home if self._is_elsewhere(place) else None
        where = "the first server" if home is None else f"{home.protocol}://{home.authority}"
        return f"; the storage_options without a place were sent to {where} only"

    def _is_elsewhere(self, place: Place) -> bool:
        """Return whether the reference file came from another server with the same protocol."""
        home = self._home
        return (
            home is not None
            and home.protocol == place.protocol
            and home.authority != place.authority
        )


def _server_of(location: str | None) -> Place | None:
    """Return the server that a reference file came from, if it has one."""
    try:
        place = None if location is None else parse(resolve(location, None))
    except AccessError:
        return None
    return place if place is not None and place.host else None


def _of_place(name: str, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Move a host from the options into their name: it applies to no other target."""
    protocol = protocol_of(f"{name}://") if "://" not in name else protocol_of(name)
    if protocol in OBJECT_STORES | {None} or not options.keys() & {"host", "port"}:
        return name, options
    known = parse(resolve(name, None)) if "://" in name else None
    host = options.get("host", "" if known is None else known.host)
    if not host:
        raise AccessError(
            f"storage_options of {shown(name)} have a port, but no host.", target=name
        )
    place = parse(f"{protocol}://{authority_of(str(host), options.get('port'))}")
    rest = {key: value for key, value in options.items() if key not in ("host", "port")}
    if known is None:
        return f"{protocol}://{place.authority}", rest
    if known.authority != place.authority:
        message = f"storage_options of {shown(name)} name another host, {shown(place.authority)}."
        raise AccessError(message, target=name)
    return name, rest


def _named(options: StorageOptions, location: str | None) -> dict[str, dict[str, Any]]:
    from fsspec import available_protocols

    protocols = set(available_protocols())
    places = {name for name in options if "://" in name and isinstance(options[name], Mapping)}
    rest = {name: options[name] for name in options if name not in places}
    if not all(name in protocols and isinstance(rest[name], Mapping) for name in rest):
        rest = {(protocol_of(location) if location else None) or _NO_PROTOCOL: rest}
    named = rest | {name: options[name] for name in places}
    folded = {n: n if "://" in n else protocol_of(f"{n}://") or n for n in named}  # gcs is gs
    return {folded[name]: dict(named[name]) for name in named}


def _anonymous(protocol: str, options: dict[str, Any]) -> dict[str, Any]:
    if _CREDENTIALS.get(protocol, frozenset()) & options.keys():
        return options
    return _ANONYMOUS.get(protocol, {}) | options


def without_credentials(place: Place, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options for a location without any login."""
    secrets = _CREDENTIALS.get(place.protocol, frozenset())
    kept = {name: value for name, value in options.items() if name not in secrets}
    if place.protocol in ("http", "https"):
        return _impersonal(place.protocol, kept)
    return _ANONYMOUS.get(place.protocol, {}) | kept


def _impersonal(protocol: str, options: dict[str, Any]) -> dict[str, Any]:
    if protocol not in ("http", "https"):
        return {name: value for name, value in options.items() if name in _IMPERSONAL}
    kept = {name: value for name, value in options.items() if name not in _PERSONAL}
    if (client := kept.get("client_kwargs")) is not None:
        kept["client_kwargs"] = {key: client[key] for key in client if key not in _PERSONAL}
    return kept


_NAME_SHOWN = 200  # characters of a name in a message


class AccessPolicy:
    """Decides which targets of a reference set may be read; it never reads anything itself.

    The folder of the reference file is allowed from the start; everything else is granted
    by name: a bucket (``"s3://bucket"``), a host (``"https://host"``), a folder
    (``"/data"``, ``"file:///data"``, ``"https://host/folder"``) or ``"memory://"``. Hosts,
    ports and protocols are compared exactly. An address that is not on the internet
    (loopback, link-local, private) has to be named itself, with its port, also where an
    allowed host name or a redirect leads to it.
    """

    def __init__(
        self,
        location: str | None = None,
        allow: Iterable[str | os.PathLike[str]] = (),
        *,
        served: bool = False,
        endpoints: Mapping[str, str] | None = None,
    ) -> None:
        self.location = location
        self.endpoints = dict(endpoints or {})
        self.served = served
        self._places: list[Place] = []
        self._names: list[str] = []
        for name in allowed_names(allow):
            self._add(name)
        self._places += _home(location, served)

    @property
    def granted(self) -> tuple[str, ...]:
        """The granted names, in order, except the folder of the set."""
        names = (name for name in self._names if name != self.location)
        return tuple(name for name in names if not self.served or is_public(_granted_place(name)))

    @property
    def names(self) -> tuple[str, ...]:
        """All granted names, in order; not to be shown by a served page."""
        return tuple(self._names)

    def grant(self, name: str) -> None:
        """Allow one more location by name."""
        if self.served:
            self._require_public(_granted_place(name))
        self._add(name)

    def resolve(self, url: str) -> str:
        """Return the resolved location of a target, allowed or not."""
        return resolve(url, self.location)

    def place(self, url: str) -> Place:
        """Return the parsed, absolute target if it may be read."""
        place = self.allowed(url)
        if place.protocol == "file":
            _require_regular(url, place)
            return replace(place, is_hidden=self.served)
        return place

    def allowed(self, url: str) -> Place:
        """Do the same as `place`, also for a folder."""
        if not url:
            raise AccessError("The URL of the reference is empty.", target=url)
        place = parse(self.resolve(url))
        if not any(root.holds(place) for root in self._places):
            whose = f" (the part before @ is a user name; the host is {shown(place.host)})"
            fact = f"{shown(url)} is not allowed yet{whose if place.disguised else ''}"
            grant = shown(place.grant)
            message = f'{fact}: use refs.allowing("{grant}") or allow=["{grant}"] to read it.'
            raise AccessError(message, target=url, grant=place.grant, fact=f"{fact}.")
        return place

    def check_address(
        self, protocol: str, host: str, address: str, port: int | None = None
    ) -> None:
        """Reject an internal address to which a host name resolved."""
        if not is_private(address) or _is_localhost(host):
            return
        usual, plain = default_port(protocol), plain_address(address)
        port = port or usual
        # a host that was allowed with this port need not be allowed again by address
        named = any((place.host, place.port) == (host, port) for place in self._places)
        ports = {port, usual} if named else {port}
        if any(place.host == plain and place.port in ports for place in self._places):
            return
        grant = f"{protocol}://{authority_of(plain, None if port == usual else port)}"
        fact = f"{host} resolves to {address}, an address inside this machine or network"
        raise AccessError(
            f'{fact}: use refs.allowing("{grant}") or allow=["{grant}"] as well if you want this.',
            target=f"{protocol}://{host}",
            grant=grant,
            fact=f"{fact}.",
        )

    def _require_public(self, place: Place) -> None:
        """Reject a location that a visitor of the page may not name."""
        if not is_public(place):
            raise AccessError(
                f"{shown(place.url)} may be inside the machine or network that serves this "
                f"page; the person who starts the page can add --allow {shown(place.grant)}.",
                target=place.url,
            )

    def _add(self, name: str) -> None:
        self._places.append(_granted_place(name))
        self._names.append(name)


class InternetPolicy(AccessPolicy):
    """Allows what anyone can read on the internet, and otherwise only what `allow` names.

    For sets that visitors of a served page open by URL, including redirects.
    """

    def __init__(self, allow: Iterable[str] = ()) -> None:
        super().__init__(None, allow, served=True)

    def allowed(self, url: str) -> Place:
        try:
            return super().allowed(url)
        except AccessError:
            if protocol_of(url) in (None, "file"):
                raise _not_opened(url) from None
            place = parse(url)
            self._require_public(place)
            return place

    def check_address(
        self, protocol: str, host: str, address: str, port: int | None = None
    ) -> None:
        try:
            super().check_address(protocol, host, address, port)
        except AccessError as error:
            raise AccessError(
                f"{host} resolves to {address}, inside the machine or network that serves this "
                f"page; the person who starts the page can add --allow {error.grant}.",
                target=error.target,
            ) from None


def _not_opened(path: str) -> AccessError:
    """Return an error that reveals neither where a link leads nor whether a file exists."""
    return AccessError(
        f"{escape(path, _NAME_SHOWN)} is not opened on this page: start it with "
        f"`refexplorer serve` and this path, or with `--allow` and its folder.",
        target=path,
    )


def _home(location: str | None, served: bool) -> list[Place]:
    """Return the location that needs no grant, if there is one."""
    try:
        home = [] if location is None else [parse(resolve(location, None))]
    except AccessError:
        return []
    return [place for place in home if not (served and place.protocol == "file")]


def allowed_names(
    allow: Iterable[str | os.PathLike[str]] | str | os.PathLike[str],
) -> tuple[str, ...]:
    """Return the names in `allow`: a single name and paths are accepted, too."""
    given = [allow] if isinstance(allow, str | os.PathLike) else list(allow)
    for each in given:
        if not isinstance(each, str | os.PathLike):
            raise AccessError(
                f'allow takes names of buckets, hosts and folders, such as "s3://bucket", not '
                f"{escape(repr(each), _NAME_SHOWN)}.",
                target="",
            )
    return tuple(os.fspath(each) for each in given)


def require_existing(allow: Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Return `allowed_names`; reject a local file or folder that does not exist."""
    names = allowed_names(allow)
    for name in names:
        place = _granted_place(name)
        # the address that a host resolves to is allowed by its bare name
        is_host = name == "localhost" or re.fullmatch(r"[\w-]*([.:]+[\w-]+)+", name) is not None
        if place.protocol == "file" and not is_host and not Path(place.path).exists():
            message = f"allow={name!r} names no existing file or folder of this machine."
            raise AccessError(message, target=name)
    return names


def _granted_place(name: str) -> Place:
    try:
        return parse(resolve(name, None))
    except AccessError as error:
        raise AccessError(
            f"allow={name!r} is not valid: {error} Name a bucket, a host or a folder, such as "
            '"s3://bucket".',
            target=name,
        ) from None


def _is_localhost(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")


def is_public(place: Place) -> bool:
    """Whether reading the location reveals only what is public on the internet."""
    if place.protocol in OBJECT_STORES:
        return True
    if place.protocol not in ("http", "https") or _is_localhost(place.host):
        return False
    try:
        return not is_private(place.host)
    except ValueError:
        return True


def _require_regular(url: str, place: Place) -> None:
    """Reject devices and pipes, which may block or never end; a missing file is accepted."""
    try:
        mode = Path(place.path).stat().st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode):
        message = f"{shown(url)} is not a regular file, but only regular files are read."
        raise AccessError(message, target=url)
