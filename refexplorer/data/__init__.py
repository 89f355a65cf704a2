"""From a reference to bytes to arrays, and never without leave."""
