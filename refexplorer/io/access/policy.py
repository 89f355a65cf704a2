"""The access policy: which places may be read, and the message for the others."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from refexplorer.core.errors import AccessError
from refexplorer.core.text import escape
from refexplorer.io.access.urls import (
    OBJECT_STORES,
    Place,
    authority_of,
    default_port,
    is_private,
    parse,
    plain_address,
    protocol_of,
    resolve,
    shown,
)

_NAME_SHOWN = 200  # characters of a name in a message


class AccessPolicy:
    """Says which targets of a reference set may be read; it never reads anything itself.

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
    ) -> None:
        self.location = location
        self.served = served
        self._places: list[Place] = []
        self._names: list[str] = []
        for name in allowed_names(allow):
            self._add(name)
        self._places += _home(location, served)

    @property
    def granted(self) -> tuple[str, ...]:
        """The names that were granted, in order, but for the folder of the set.

        Nor is any place among them that a page which is served shows to nobody.
        """
        names = (name for name in self._names if name != self.location)
        return tuple(name for name in names if not self.served or is_public(_granted_place(name)))

    @property
    def names(self) -> tuple[str, ...]:
        """All names that were granted, in order; not to be shown where a page is served."""
        return tuple(self._names)

    def grant(self, name: str) -> None:
        """Allow one more place by name."""
        if self.served:
            self._require_public(_granted_place(name))
        self._add(name)

    def resolve(self, url: str) -> str:
        """Say where a target leads, allowed or not."""
        return resolve(url, self.location)

    def place(self, url: str) -> Place:
        """Return the parsed target, absolute, if it may be read."""
        place = self.allowed(url)
        if place.protocol == "file":
            _require_regular(url, place)
        return place

    def allowed(self, url: str) -> Place:
        """Do as `place`, of a folder, too."""
        place = parse(self.resolve(url))
        if not any(root.holds(place) for root in self._places):
            fact, grant = _fact(url, place), shown(place.grant)
            raise AccessError(
                f'{fact}: use refs.allowing("{grant}") or allow=["{grant}"] to read it.',
                target=url,
                grant=place.grant,
                fact=f"{fact}.",
            )
        return place

    def check_address(
        self, protocol: str, host: str, address: str, port: int | None = None
    ) -> None:
        """Refuse an address inside the network that a host name turned out to have."""
        if not is_private(address) or _is_localhost(host):
            return
        usual, plain = default_port(protocol), plain_address(address)
        port = port or usual
        # who named the host with this port needs not repeat the port for its address
        named = any((place.host, place.port) == (host, port) for place in self._places)
        ports = {port, usual} if named else {port}
        if any(place.host == plain and place.port in ports for place in self._places):
            return
        grant = f"{protocol}://{authority_of(plain, None if port == usual else port)}"
        fact = f"{host} resolves to {address}, an address inside this machine or network"
        raise AccessError(
            f'{fact}: use refs.allowing("{grant}") or allow=["{grant}"] as well if you mean it.',
            target=f"{protocol}://{host}",
            grant=grant,
            fact=f"{fact}.",
        )

    def _require_public(self, place: Place) -> None:
        """Refuse a place that a visitor of the page may not name."""
        if not is_public(place):
            raise AccessError(
                f"{shown(place.url)} may be inside the machine or network that serves this "
                f"page; whoever starts the page can add --allow {shown(place.grant)}.",
                target=place.url,
                grant="",
            )

    def _add(self, name: str) -> None:
        self._places.append(_granted_place(name))
        self._names.append(name)


class InternetPolicy(AccessPolicy):
    """Allows what anybody can read on the internet, and besides only what `allow` names.

    For the sets that visitors of a served page open by URL, redirects included.
    """

    def __init__(self, allow: Iterable[str] = ()) -> None:
        super().__init__(None, allow, served=True)

    def allowed(self, url: str) -> Place:
        """Return the parsed URL, or path."""
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
        """Refuse an address inside the network, as `AccessPolicy` does."""
        try:
            super().check_address(protocol, host, address, port)
        except AccessError as error:
            raise AccessError(
                f"{host} resolves to {address}, inside the machine or network that serves this "
                f"page; whoever starts the page can add --allow {error.grant}.",
                target=error.target,
                grant="",
            ) from None


def _not_opened(path: str) -> AccessError:
    """Refuse a file without a word on where a link in its path leads, or whether it is there."""
    return AccessError(
        f"{escape(path, _NAME_SHOWN)} is not opened on this page: start it with "
        f"`refexplorer serve` and this path, or with `--allow` and its folder.",
        target=path,
        grant="",
    )


def _home(location: str | None, served: bool) -> list[Place]:
    """Return the place that needs no grant, if there is one."""
    try:
        home = [] if location is None else [parse(resolve(location, None))]
    except AccessError:
        return []
    return [place for place in home if not (served and place.protocol == "file")]


def allowed_names(
    allow: Iterable[str | os.PathLike[str]] | str | os.PathLike[str],
) -> tuple[str, ...]:
    """Return what `allow` names: one name may stand by itself, and a path for its text."""
    given = [allow] if isinstance(allow, str | os.PathLike) else list(allow)
    for each in given:
        if not isinstance(each, str | os.PathLike):
            raise AccessError(
                f'allow takes names of buckets, hosts and folders, such as "s3://bucket", not '
                f"{escape(repr(each), _NAME_SHOWN)}.",
                target="",
                grant="",
            )
    return tuple(os.fspath(each) for each in given)


def _granted_place(name: str) -> Place:
    try:
        return parse(resolve(name, None))
    except AccessError as error:
        raise AccessError(
            f"allow={name!r} is not valid: {error} Name a bucket, a host or a folder, such as "
            '"s3://bucket".',
            target=name,
            grant="",
        ) from None


def _is_localhost(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")


def is_public(place: Place) -> bool:
    """Whether reading the place cannot show more than the internet shows to everyone."""
    if place.protocol in OBJECT_STORES:
        return True
    if place.protocol not in ("http", "https") or _is_localhost(place.host):
        return False
    try:
        return not is_private(place.host)
    except ValueError:
        return True


def _fact(url: str, place: Place) -> str:
    whose = f" (the part before @ is a user name; the host is {shown(place.host)})"
    return f"{shown(url)} may not be read yet{whose if place.disguised else ''}"


def _require_regular(url: str, place: Place) -> None:
    """Refuse devices and pipes, which never end or never begin; a missing file may be asked."""
    try:
        mode = Path(place.path).stat().st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode):
        raise AccessError(
            f"{shown(url)} is not a regular file, and only regular files are read.",
            target=url,
            grant="",
        )
