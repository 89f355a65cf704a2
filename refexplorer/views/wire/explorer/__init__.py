"""The messages of the explorer: one module for each of its views, found by being here.

`explorer_messages` are those of the explorer itself and what all views share. A model stands with
the view that shows it; what several protocols hold is in `refexplorer.views.wire.models`.
"""
