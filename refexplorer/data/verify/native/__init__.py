"""What files say of themselves: arrays, chunks with their byte ranges, attributes.

`native_file` has the models that all formats share, `opening` finds the reader of a file;
`target_file` lets it read through the access policy of the set.
"""
