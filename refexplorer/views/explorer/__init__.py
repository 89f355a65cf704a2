"""The explorer: one controller over tree, key, preview and maps.

`explorer_controller` composes them; `overview` is the set as xarray shows it.
"""
