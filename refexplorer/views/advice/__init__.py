"""The view of what reading costs: `cost_view` answers, `touches` shades the chunks."""
