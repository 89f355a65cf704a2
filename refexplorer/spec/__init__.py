"""The reference specification itself: pure, without files, network or widgets."""
