"""The views as ipywidgets, through anywidget: thin hosts, no logic of their own.

`widgets` has the explorer and its parts, `editor` the template editor and exercises, `lab` the tab
of JupyterLab.
"""
