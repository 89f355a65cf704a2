"""An array on the map of the earth: `map_controller` handles the requests."""
