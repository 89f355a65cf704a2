"""What every room may use: `errors`, `limits`, `text` for people, `files`, child `processes`."""
