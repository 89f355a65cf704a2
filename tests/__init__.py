"""The tests, in the rooms of the package; ``python3 -m tests`` runs them on a fresh machine."""
