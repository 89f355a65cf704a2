"""Run by `panel serve refexplorer/app` before it makes its server."""

from refexplorer.app.routes import close_other_routes

close_other_routes()
