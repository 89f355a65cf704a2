"""What advice finds: changes with their gain, and what the layout of files does not allow."""

from __future__ import annotations

import math
from dataclasses import dataclass

from refexplorer.markup import counted, size_text
from refexplorer.masking import masks_repr


@masks_repr
@dataclass(frozen=True, slots=True)
class AdviceFinding:
    """A change and what it would gain; None is not known.

    Attributes
    ----------
    code
        ``"inline-coordinates"``, ``"subchunk"``, ``"asked-apart"``, ``"few-at-a-time"``,
        ``"small-chunks"``, ``"large-chunks"``, ``"groups-apart"``, ``"one-host"``,
        ``"large-manifest"``, ``"json-to-parquet"`` or ``"repeated-urls"``.
    path
        The array or group that is concerned; None for the whole set.
    access
        Which access becomes cheaper.
    message, remedy
        What was found, and the command or function that changes it.
    requests, requests_after, bytes, bytes_after
        Before and after, with the reader ``"zarr"``.
    seconds_gained
        By the model of the place.
    """

    code: str
    path: str | None
    access: str
    message: str
    remedy: str
    requests: int | None = None
    requests_after: int | None = None
    bytes: int | None = None
    bytes_after: int | None = None
    seconds_gained: float | None = None

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}"


@dataclass(frozen=True, slots=True)
class LayoutBound:
    """What the layout of the files allows, and what a copy in other chunks would; None is unknown.

    Attributes
    ----------
    path, access
        The array, and what is asked of it.
    requests, bytes
        Today, with the reader ``"zarr"``.
    least_requests, least_bytes
        One request for each file, and the bytes of the chunks, each of which is read whole.
    copy_requests
        Of a copy whose chunks have the same size and hold the values of this access together.
    copy_bytes
        Decoded bytes of the array, which writing the copy takes.
    copy_seconds
        To read all of the array and to write it without compression to the same place.
    seconds_gained
        Of each access, once the copy is there.
    """

    path: str
    access: str
    requests: int
    bytes: int | None
    least_requests: int
    least_bytes: int | None
    copy_requests: int | None
    copy_bytes: int | None
    copy_seconds: float | None = None
    seconds_gained: float | None = None

    def __str__(self) -> str:
        files = counted(self.least_requests, "request")
        size = "" if self.least_bytes is None else f" and {size_text(self.least_bytes)}"
        said = f"{self.path}, {self.access}: the files allow {files}{size} at best"
        if self.copy_requests is None or self.copy_bytes is None:
            return f"{said}."
        said += (
            f"; a copy in chunks of the same size made for it, {size_text(self.copy_bytes)} "
            f"before compression, would take {counted(self.copy_requests, 'request')}"
        )
        if self.copy_seconds is None or self.seconds_gained is None:
            return f"{said}."
        if self.seconds_gained <= 0:
            return f"{said} and gain no time."
        times = counted(
            math.ceil(self.copy_seconds / self.seconds_gained), "such access", "such accesses"
        )
        return (
            f"{said}. It takes about {self.copy_seconds:.2g} s to write and gains "
            f"{self.seconds_gained:.2g} s each time: worth it from {times} on."
        )
