"""What repairing a set costs beside verifying it, and how it grows with the files.

``python -m tests.benchmarks.repair`` prints a line for each number of files, of 100 compressed
chunks each, one in ten of which has a reference that is shifted; CPU
time is that of this process and of the children that read files.
"""

# ruff: noqa: T201

from __future__ import annotations

import json
from pathlib import Path

import refexplorer as rx
from tests.benchmarks.file_sets import each_measured, memory, spent

FILES = (100, 400, 1600)


def main() -> None:
    """Measure all sizes, each in a fresh interpreter."""
    print("| files | verify CPU s | repair CPU s | write CPU s | factor | MB beside the set |")
    print("|---|---|---|---|---|---|")
    for count, found in each_measured("repair", __doc__, FILES, measured):
        factor = (found["repair"] + found["write"]) / found["verify"]
        print(
            f"| {count:,} | {found['verify']:.2f} | {found['repair']:.2f} | "
            f"{found['write']:.2f} | {factor:.1f} | {found['memory']:.0f} |",
            flush=True,
        )


def measured(folder: Path) -> dict[str, float]:
    """Return CPU seconds of verifying, repairing and writing, and the memory that these take."""
    refs = json.loads((folder / "set.json").read_text())
    for number in range(0, len(list(folder.glob("*.nc"))), 10):
        refs[f"x/{number}.0.0"][1] += 8
    broken = folder / "broken.json"
    broken.write_text(json.dumps(refs))
    opened = rx.open_references(str(broken))
    before, took = memory(), {}
    started = spent()
    found = opened.verify()
    took["verify"] = spent() - started
    assert found.has_errors, str(found)
    started = spent()
    repair = rx.repair(opened)
    took["repair"] = spent() - started
    assert repair.good, str(repair)
    started = spent()
    repair.write(folder / "repaired.json", overwrite=True)
    took["write"] = spent() - started
    return took | {"memory": memory() - before}


if __name__ == "__main__":
    main()
