"""Options for fsspec, and for which targets they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refexplorer.data.access.urls import (
    OBJECT_STORES,
    Place,
    authority_of,
    parse,
    protocol_of,
    resolve,
    shown,
)
from refexplorer.errors import AccessError

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
"""What an HTTP request may say about the person; of the options of a session, too."""
_NO_PROTOCOL = ""
"""Stands for that of a set that came from no server."""
_IMPERSONAL = frozenset(
    {
        "block_size",
        "encoding",
        "session_verify",
        "skip_instance_cache",
        "timeout",
        "tls",
        "use_https",
    }
)
"""Options of other protocols with a host that say nothing about the person."""


class Options:
    """The options for each target: those of the narrowest place that was named, or its protocol.

    Stores are read anonymously unless the options hold credentials: nothing is taken from the
    environment unasked (``{"s3": {"anon": False}}`` asks for it). Headers, users and tokens of a
    whole protocol are for the server of the reference file, if it came from one; those with a
    ``host`` are for that host.

    Parameters
    ----------
    options
        By protocol or by place.
    location
        Of the reference file.

    Attributes
    ----------
    given
        The options, as they were given.

    Raises
    ------
    AccessError
        If a name is none, or the options of a place name another host.
    """

    def __init__(self, options: StorageOptions, location: str | None) -> None:
        self.given = options
        self._home = _server_of(location)
        named = dict(_of_place(*each) for each in _named(options, location).items())
        self._protocols = {name: each for name, each in named.items() if "://" not in name}
        places = {name: parse(resolve(name, None)) for name in named if "://" in name}
        longest = sorted(places, key=lambda name: len(places[name].path), reverse=True)
        self._places = [(name, places[name], named[name]) for name in longest]

    def of(self, place: Place, redirected: bool = False) -> tuple[str, dict[str, Any]]:
        """Return the name by which a target's options were given, and the options.

        Parameters
        ----------
        place
            The target.
        redirected
            Another server led here: headers and cookies for the whole protocol were not meant
            for this one.
        """
        for name, named, options in self._places:
            if named.holds(place):
                return name, _anonymous(place.protocol, options)
        options = _anonymous(place.protocol, self._protocols.get(place.protocol, {}))
        if redirected or self._is_elsewhere(place):
            return f"{place.protocol} elsewhere", _impersonal(place.protocol, options)
        return place.protocol, options

    def withheld_text(self, place: Place, redirected: bool = False) -> str:
        """Say which options were not sent to a server, as the end of a sentence; empty if none."""
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
        """Say whether the reference file came from another server of the same protocol."""
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
    """Move the host among the options into their name: no target is read from another one."""
    protocol = protocol_of(f"{name}://") if "://" not in name else protocol_of(name)
    if protocol in OBJECT_STORES | {None} or not options.keys() & {"host", "port"}:
        return name, options
    known = parse(resolve(name, None)) if "://" in name else None
    host = options.get("host", "" if known is None else known.host)
    if not host:
        raise AccessError(
            f"storage_options of {shown(name)} have a port, but no host.", target=name, grant=""
        )
    place = parse(f"{protocol}://{authority_of(str(host), options.get('port'))}")
    rest = {key: value for key, value in options.items() if key not in ("host", "port")}
    if known is None:
        return f"{protocol}://{place.authority}", rest
    if known.authority != place.authority:
        raise AccessError(
            f"storage_options of {shown(name)} name another host, {shown(place.authority)}.",
            target=name,
            grant="",
        )
    return name, rest


def _named(options: StorageOptions, location: str | None) -> dict[str, dict[str, Any]]:
    from fsspec import available_protocols

    protocols = set(available_protocols())
    places = {name for name in options if "://" in name and isinstance(options[name], Mapping)}
    rest = {name: options[name] for name in options if name not in places}
    if not all(name in protocols and isinstance(rest[name], Mapping) for name in rest):
        rest = {(protocol_of(location) if location else None) or _NO_PROTOCOL: rest}
    named = rest | {name: options[name] for name in places}
    return {_folded(name): dict(named[name]) for name in named}


def _folded(name: str) -> str:
    """Return ``"gs"`` for ``"gcs"``: a target's protocol has its aliases folded, too."""
    return name if "://" in name else protocol_of(f"{name}://") or name


def _anonymous(protocol: str, options: dict[str, Any]) -> dict[str, Any]:
    if _CREDENTIALS.get(protocol, frozenset()) & options.keys():
        return options
    return _ANONYMOUS.get(protocol, {}) | options


def _impersonal(protocol: str, options: dict[str, Any]) -> dict[str, Any]:
    if protocol not in ("http", "https"):
        return {name: value for name, value in options.items() if name in _IMPERSONAL}
    kept = {name: value for name, value in options.items() if name not in _PERSONAL}
    if (client := kept.get("client_kwargs")) is not None:
        kept["client_kwargs"] = {key: client[key] for key in client if key not in _PERSONAL}
    return kept
