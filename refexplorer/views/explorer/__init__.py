"""The explorer: `explorer_controller` makes the controllers of its parts and passes requests on.

The parts are those of `refexplorer.views.registry`.
"""
