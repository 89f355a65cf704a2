"""The classes of what methods and functions return, for annotations and `isinstance`.

They are listed once, in ``types.pyi``, and loaded when they are first used.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub("refexplorer", __file__)
