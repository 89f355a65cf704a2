"""What verifying metadata costs beside opening the files with h5py, and how it grows with them.

``python -m tests.benchmarks.verify`` prints a line for each number of files, of 100 compressed
chunks each, on this machine; CPU time is that of this process and of the children that read files.
"""

# ruff: noqa: T201

from __future__ import annotations

from pathlib import Path

import h5py

from tests.benchmarks.file_sets import each_measured, memory, spent

FILES = (250, 1000, 4000)


def main() -> None:
    """Measure all sizes, each in a fresh interpreter."""
    print(
        "| files | h5py CPU s | verify CPU s | factor | MB beside the set |\n|---|---|---|---|---|"
    )
    for count, found in each_measured("verify", __doc__, FILES, measured):
        factor = found["verify"] / found["h5py"]
        print(
            f"| {count:,} | {found['h5py']:.2f} | {found['verify']:.2f} | {factor:.1f} | "
            f"{found['memory']:.0f} |",
            flush=True,
        )


def measured(folder: Path) -> dict[str, float]:
    """Return CPU seconds of both ways, and the memory that verifying takes beside the set."""
    import refexplorer as rx

    started = spent()
    for path in sorted(folder.glob("*.nc")):
        with h5py.File(path) as file:
            for name in file:
                dict(file[name].attrs)
                if file[name].chunks:
                    file[name].id.chunk_iter(lambda chunk: None)
    opened = spent() - started
    refs = rx.open_references(str(folder / "set.json"))
    before = memory()
    started = spent()
    found = refs.verify()
    took = spent() - started
    assert found.good, str(found)
    return {"h5py": opened, "verify": took, "memory": memory() - before}


if __name__ == "__main__":
    main()
