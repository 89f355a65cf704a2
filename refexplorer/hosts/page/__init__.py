"""The served page: Panel hosts of the same views and bundles as in a notebook.

`page` is one person's page, `server` serves it, `library` and `openings` say what a visitor may
open and what that may cost. Begin with `page`.
"""

from refexplorer.core.limits import Bounds
from refexplorer.hosts.page.page import page
from refexplorer.hosts.page.server import serve

__all__ = ["Bounds", "page", "serve"]
