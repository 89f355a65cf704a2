"""The view of what reading costs: `cost_view` answers, and shades the chunks."""
