"""The served page: Panel hosts of the same views and bundles as in a notebook."""

from refexplorer.app.page import page
from refexplorer.app.server import serve
from refexplorer.limits import Bounds

__all__ = ["Bounds", "page", "serve"]
