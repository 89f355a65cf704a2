"""Reference sets that other projects published, where they lie beside the checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(
    os.environ.get("REFEXPLORER_REAL_SETS", Path(__file__).parents[3] / "shared/cases/real")
)
needs_sets = pytest.mark.skipif(
    not ROOT.is_dir(), reason="the published reference sets do not lie beside this checkout"
)
