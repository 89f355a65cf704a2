"""Programs that are installed on this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path


def path_of(variable: str, commands: Sequence[str], places: Sequence[str]) -> str | None:
    """Path of a program, or None: what a variable names, else a command, else a usual place."""
    if chosen := os.environ.get(variable):
        return chosen
    for command in commands:
        if found := shutil.which(command):
            return found
    return next((place for place in places if Path(place).exists()), None)
