"""Look into reference sets: browse, explain, preview and edit what kerchunk and others write.

Names are loaded when they are first used, so that ``import refexplorer`` costs next to nothing.
They are listed once, in ``__init__.pyi``, which type checkers read, too.
"""

import sys

from lazy_loader import attach_stub

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

if "xarray" in sys.modules:  # else xarray does it when it opens its first dataset
    import refexplorer.hosts.xarray  # noqa: F401
