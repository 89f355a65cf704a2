"""Runs cells one after the other, and says what was drawn, as lines of JSON."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import traceback
import warnings
from importlib import import_module
from typing import Any

import numpy as np


def of_matplotlib() -> dict[str, Any]:
    """Say what is in the figure."""
    pyplot = import_module("matplotlib.pyplot")
    mesh = import_module("matplotlib.collections").QuadMesh
    axes = pyplot.gcf().axes[0]
    found: dict[str, Any] = {"lines": [line.get_ydata() for line in axes.get_lines()]}
    for each in (*axes.collections, *axes.images):
        if isinstance(each, mesh) or each in axes.images:
            found["cells"] = np.ma.filled(each.get_array().astype("f8"), np.nan)
            found |= {"limits": each.get_clim(), "colours": each.get_cmap().name}
            found["bar"] = type(each.norm).__name__
            found["upward"] = axes.get_ylim()[1] > axes.get_ylim()[0]
    pyplot.close("all")
    return found


def plain(value: Any) -> Any:
    """Return arrays as lists, NaN as null."""
    if isinstance(value, np.ndarray):
        return [plain(each) for each in value.tolist()]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and value != value else value


def main() -> None:
    """Run each cell of a line of stdin: its folder, its code, whether to say what it drew."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what cells print is no answer
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        folder, code, is_drawn = json.loads(line)
        os.chdir(folder)
        told: dict[str, Any] = {}
        try:
            if is_drawn:
                told = plain(drawn(code))
            else:
                exec(code, {})
        except Exception:
            told = {"error": traceback.format_exc()}
        print(json.dumps(told), file=answers, flush=True)


def drawn(code: str) -> dict[str, Any]:
    """Run a cell, and say what its last line drew."""
    if importlib.util.find_spec("matplotlib") is not None:
        import_module("matplotlib").use("Agg")
    exec(code, {})
    return of_matplotlib()


if __name__ == "__main__":
    main()
