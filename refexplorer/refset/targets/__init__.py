"""The files that references point to, and which of their bytes.

`target_index` lists them, `layout` is one of them. Begin with `target_index`.
"""
