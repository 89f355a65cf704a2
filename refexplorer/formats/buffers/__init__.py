"""Columns of text and numbers in memory, shared by all forms.

`arrow` goes between Arrow and numpy, `spans` looks at many texts as one run of bytes,
`append_buffers` grow in place. Begin with `spans`.
"""
