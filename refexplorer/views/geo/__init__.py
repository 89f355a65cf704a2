"""An array on the map of the earth: `map_controller` answers the requests."""
