"""What differs between two sets: by key, and by what a key means."""
