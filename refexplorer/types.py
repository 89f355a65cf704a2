"""The classes of the results of methods and functions, for annotations and `isinstance`.

They are listed once, in ``types.pyi``, and loaded on first use.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub("refexplorer", __file__)
