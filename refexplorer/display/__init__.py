"""A set as plain text and as static HTML: what a terminal and a saved notebook show."""
