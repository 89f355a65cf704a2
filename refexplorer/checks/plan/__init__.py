"""The plan of a run: all `references` of a set, sorted by target, in `parts` that need no set."""
