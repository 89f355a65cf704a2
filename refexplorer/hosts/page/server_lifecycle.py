"""Run by `panel serve refexplorer/hosts/page` before it makes its server."""

from refexplorer.hosts.page.server import close_other_routes

close_other_routes()
