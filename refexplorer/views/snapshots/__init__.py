"""Views as HTML and text for where no script runs, such as a saved notebook.

`explorer_snapshot`, `pictures_snapshot` and `editor_snapshot`, with the images of `pictures` and
`earth_pictures`.
"""
