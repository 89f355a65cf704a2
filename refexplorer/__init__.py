"""Look into reference sets: browse, explain, preview and edit what kerchunk and others write.

Names are loaded when they are first used, so that ``import refexplorer`` costs next to nothing.
They are listed once, in ``__init__.pyi``, which type checkers read, too; classes of results are in
`refexplorer.types`, errors and warnings in `refexplorer.errors`.
"""

import sys

from lazy_loader import attach_stub

__version__ = "0.1.0"

_loaded, __dir__, __all__ = attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    """Load a name on first use; for a name that lives elsewhere, say where."""
    for module in ("errors", "types") if name[:1].isupper() and name not in __all__ else ():
        if name in _loaded(module).__all__:
            raise AttributeError(f"{name} is refexplorer.{module}.{name}.")
    return _loaded(name)


if "xarray" in sys.modules:  # else xarray does it when it opens its first dataset
    import refexplorer.hosts.xarray  # noqa: F401
