"""The page with the example sets, for ``panel serve refexplorer/hosts/page``."""

from refexplorer.hosts.page.page import page

page().servable()
