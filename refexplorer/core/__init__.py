"""What every room may use: child processes that can be ended at any time (`processes`)."""
