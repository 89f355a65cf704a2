"""The explorer: `explorer_controller` creates the controllers of its parts and forwards requests.

The parts are those of `refexplorer.views.registry`.
"""
