"""The served page: Panel hosts of the same views and bundles as in a notebook.

`page` is one person's page, `server` serves it, `library` and `openings` define what a visitor may
open and at what cost. Begin with `page`. Nothing is imported here, since `openings` is also
run in processes that need no Panel.
"""
