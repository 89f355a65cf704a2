"""What ``panel serve refexplorer/app`` shows: the page with the shipped sets."""

from refexplorer.app.page import page

page().servable()
