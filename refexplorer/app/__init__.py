"""The served page: Panel hosts of the same views and bundles as in a notebook."""

from refexplorer.app.page import page
from refexplorer.app.server import serve

__all__ = ["page", "serve"]
