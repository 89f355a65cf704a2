"""The page with the shipped sets, for ``panel serve refexplorer/app``."""

from refexplorer.app.page import page

page().servable()
