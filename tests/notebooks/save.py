"""Run the notebooks and save their outputs: ``python -m tests.notebooks.save [NAME…]``."""

# ruff: noqa: T201

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path

from tests.notebooks.running import NOTEBOOKS, cleaned, execute


def save(path: Path) -> None:
    """Run one notebook and write it with its outputs."""
    with tempfile.TemporaryDirectory() as folder:
        notebook = cleaned(execute(path, Path(folder)))
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    # sentences name the folder that a notebook makes
    text = re.sub(rf"{re.escape(tempfile.gettempdir())}/tmp\w+", "/data", text)
    # and the address of a server of it
    text = re.sub(r"http://127\.0\.0\.1:\d+", "http://server.example", text)
    path.write_text(text, encoding="utf-8")
    print(f"{path.name} {len(text) // 1000} kB")


if __name__ == "__main__":
    for found in NOTEBOOKS:
        if not sys.argv[1:] or found.stem in sys.argv[1:]:
            save(found)
