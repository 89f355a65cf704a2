"""``python -m refexplorer`` is the command ``refexplorer``."""

import sys

from refexplorer.hosts.cli import main

if __name__ == "__main__":
    sys.exit(main())
