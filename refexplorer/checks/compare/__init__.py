"""A set against one of its files (`file_compared`): ranges, `placing`, metadata, values."""
