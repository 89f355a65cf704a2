"""A set against one of its files (`files`): ranges, `placing`, `metadata`, `values`."""
