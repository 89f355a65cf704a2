"""JupyterLab with the extension of this clone, which an install copies to where Lab looks."""

from __future__ import annotations

import shutil
from pathlib import Path

import refexplorer


def install(data: Path) -> None:
    """Copy the extension below a folder of Jupyter's data."""
    source = Path(refexplorer.__file__).parent / "labextension"
    shutil.copytree(source, data / "labextensions" / "refexplorer", dirs_exist_ok=True)
