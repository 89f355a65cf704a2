"""The views as ipywidgets, through anywidget: thin hosts, no logic of their own.

`explorer`, `editor` and `exercises` are the widgets, `bundles` finds the built front end.
"""
