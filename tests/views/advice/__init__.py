"""The view of what reading costs."""
