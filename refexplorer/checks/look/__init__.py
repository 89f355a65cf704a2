"""What a run checks, one part at a time: `targets`, `chunks`, `files`."""
