"""Notebook hosts of the views: thin anywidgets around the controllers."""
