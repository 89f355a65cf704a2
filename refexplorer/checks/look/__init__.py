"""What a run looks at, one part at a time: `targets`, `chunks`, `files`."""
