"""The errors that are raised, all of them `refexplorer.RefexplorerError`, and warnings."""

from refexplorer.core.errors import (
    AccessError,
    DecodeError,
    FetchError,
    HarmError,
    InternalError,
    LeftOutWarning,
    LimitError,
    MissingError,
    SecretsWarning,
    SourceError,
    SpecError,
)

__all__ = [
    "AccessError",
    "DecodeError",
    "FetchError",
    "HarmError",
    "InternalError",
    "LeftOutWarning",
    "LimitError",
    "MissingError",
    "SecretsWarning",
    "SourceError",
    "SpecError",
]
