"""What refexplorer and its peers cost, side by side: ``python -m tests.benchmarks``."""
