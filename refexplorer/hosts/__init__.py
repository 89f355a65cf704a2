"""Where the views are shown: `notebook`, the served `page`, a `saved_page`, commands (`cli`)."""
