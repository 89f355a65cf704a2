"""The set as xarray shows it."""

from __future__ import annotations

from msgspec import Struct

from refexplorer.views.wire.messages import Request


class DatasetView(Struct, frozen=True):
    """HTML of xarray, of metadata alone, or the sentence that says why there is none."""

    html: str | None
    sentence: str | None


class Describe(Request, frozen=True, tag="overview"):
    """Show the set as xarray does."""

    reply = DatasetView
    is_later = True
