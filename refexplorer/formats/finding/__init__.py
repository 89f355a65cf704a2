"""From what a person passes to a source: what it is, the forms in `refexplorer.formats.forms` say.

`source_finding` tells values, paths and URLs apart, `url_finding` looks at a server; `several` are
opened together, `catalogues` point to sets. Begin with `source_finding`.
"""
