"""The served page: Panel hosts of the same views and bundles as in a notebook.

`page` is one person's page, `server` serves it, `library`, `versions` and `opening` say what a
visitor may open and what that may cost. Begin with `page`.
"""

from refexplorer.app.page import page
from refexplorer.app.server import serve
from refexplorer.limits import Bounds

__all__ = ["Bounds", "page", "serve"]
