"""Why a target did not give its bytes, in words."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from refexplorer.errors import LimitError, RefexplorerError

if TYPE_CHECKING:
    from refexplorer.data.places import Place

_PACKAGES = {
    "s3": "s3fs",
    "gs": "gcsfs",
    "az": "adlfs",
    "abfs": "adlfs",
    "adl": "adlfs",
    "sftp": "paramiko",
    "ssh": "paramiko",
    "oci": "ocifs",
    "oss": "ossfs",
    "hf": "huggingface_hub",
}


def cause(error: BaseException, place: Place) -> str:
    """Return the cause as the end of a sentence, without a full stop."""
    import aiohttp

    if isinstance(error, RefexplorerError):
        return str(error)
    if isinstance(error, ImportError):
        package = _PACKAGES.get(place.protocol)
        return f"the package {package} is not installed" if package else f"{error}".rstrip(".")
    if isinstance(error, socket.gaierror | aiohttp.ClientConnectorDNSError):
        return f"the host {place.host} cannot be found"
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    if isinstance(error, PermissionError):
        return "access is denied"
    if isinstance(error, TimeoutError):
        return "no answer came in time"
    if isinstance(error, aiohttp.TooManyRedirects):
        return "the server redirects without end"
    if isinstance(error, aiohttp.ClientConnectorError | ConnectionError):
        return f"no connection to {place.authority or place.path} could be made"
    if isinstance(error, ValueError) and "Protocol not known" in str(error):
        return f"no installed package reads {place.protocol}:// targets"
    return f"{type(error).__name__}: {error}".splitlines()[0].rstrip(". :")


def too_long(size: int, limit: int) -> LimitError:
    """Say that more came, or would come, than one read may take (both in bytes)."""
    return LimitError(
        f"it has {size:,} bytes or more, and one read may take {limit:,} (limits: fetch_bytes)"
    )
