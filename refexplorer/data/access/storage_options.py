"""Options for fsspec, and for which targets they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refexplorer.data.access.urls import Place, parse, protocol_of, resolve

StorageOptions = Mapping[str, Any]
"""Options for fsspec by protocol, ``{"s3": {"profile": "work"}}``, or by place,
``{"s3://bucket": {…}, "https://host": {…}}``; without either they are for the protocol of the
reference file."""

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
_PERSONAL = frozenset({"auth", "cookies", "headers", "params"})
"""What an HTTP request may say about the person; of the options of a session, too."""


class Options:
    """The options for each target: those of the narrowest place that was named, or its protocol.

    Stores are read anonymously unless the options hold credentials: nothing is taken from the
    environment unasked (``{"s3": {"anon": False}}`` asks for it).

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
    """

    def __init__(self, options: StorageOptions, location: str | None) -> None:
        self.given = options
        named = _named(options, location)
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
        if redirected:
            return f"{place.protocol} redirected", _impersonal(options)
        return place.protocol, options


def _named(options: StorageOptions, location: str | None) -> dict[str, dict[str, Any]]:
    from fsspec import available_protocols

    protocols = set(available_protocols())
    if all(
        (name in protocols or "://" in name) and isinstance(options[name], Mapping)
        for name in options
    ):
        return {_folded(name): dict(options[name]) for name in options}
    protocol = protocol_of(location) if location else None
    return {protocol: dict(options)} if protocol else {}


def _folded(name: str) -> str:
    """Return ``"gs"`` for ``"gcs"``: a target's protocol has its aliases folded, too."""
    return name if "://" in name else protocol_of(f"{name}://") or name


def _anonymous(protocol: str, options: dict[str, Any]) -> dict[str, Any]:
    if _CREDENTIALS.get(protocol, frozenset()) & options.keys():
        return options
    return _ANONYMOUS.get(protocol, {}) | options


def _impersonal(options: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in options.items() if name not in _PERSONAL}
    client = kept.get("client_kwargs", {})
    kept["client_kwargs"] = {key: client[key] for key in client if key not in _PERSONAL}
    return kept
