"""Reading the reference set itself: from a web server, or for a visitor of the page.

`web_files` reads URLs, `guarded_files` files of this machine that a visitor may open.
"""
