"""From a file to a browsable tree."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.measuring import Case, Watch
from tests.benchmarks.peers import imported_fsspec

MILLION = 10**6


def open_ours(watch: Watch, path: Path) -> object:
    """Open and show the first level."""
    import refexplorer.refset.tree  # noqa: F401  imports are not what is measured
    from refexplorer import open_references

    with watch.running():
        refs = open_references(path)
        page = refs.children("", 0, 50)
    return [refs.count, sorted(row.name for row in page.rows)]


def open_fsspec(watch: Watch, path: Path) -> object:
    """Construct the filesystem and list the first level."""
    return _open_fsspec(watch, path, simple=True)


def open_fsspec_jinja(watch: Watch, path: Path) -> object:
    """The same with jinja2, as callable templates need it."""
    return _open_fsspec(watch, path, simple=False)


def _open_fsspec(watch: Watch, path: Path, simple: bool) -> object:
    reference_filesystem = imported_fsspec()
    with watch.running():
        filesystem = reference_filesystem(str(path), simple_templates=simple)
        names = filesystem.ls("", detail=False)
    return [len(filesystem.references), sorted(names)]


def open_arrays(watch: Watch, path: Path) -> object:
    """Open as `open_ours` does; what is equal are the arrays and the number of byte ranges."""
    from refexplorer import open_references
    from refexplorer.types import Kind

    with watch.running():
        refs = open_references(path)
        refs.children("", 0, 50)
    return [sorted(refs.arrays()), refs.summary().kinds[Kind.RANGE]]


def open_virtualizarr(watch: Watch, path: Path) -> object:
    """Parse the same references, in the form of version 1 that it reads, to a virtual dataset."""
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore, S3Store
    from virtualizarr import open_virtual_dataset
    from virtualizarr.parsers import KerchunkJSONParser

    stores = {"file://": LocalStore(), "s3://mirror": S3Store("mirror", skip_signature=True)}
    registry = ObjectStoreRegistry(stores)
    with TemporaryDirectory() as folder:
        document = Path(folder) / "refs.json"
        document.write_text(f'{{"version": 1, "refs": {path.read_text()}}}')
        with watch.running():
            dataset = open_virtual_dataset(
                document.as_uri(), registry, KerchunkJSONParser(), loadable_variables=[]
            )
    variables = dataset.variables
    counts = [len(variable.data.manifest.dict()) for variable in variables.values()]
    return [sorted(map(str, variables)), sum(counts)]


def _case(title: str, goal: str, kind: str, keys: int, memory_goal: str = "") -> Case:
    return Case(title, goal, open_ours, (open_fsspec,), kind, keys, memory_goal)


CASES = (
    _case("open V0, first level", "≥ 4 times, wall 6", "v0", MILLION, "≤ 1/4"),
    Case(
        "open V0, beside VirtualiZarr",
        "",
        open_arrays,
        (open_virtualizarr,),
        "v0",
        MILLION,
        needs="virtualizarr",
    ),
    _case("open V1 with templates, first level", "≥ 6 times", "v1", MILLION),
    Case(
        "open V1 with template calls, first level",
        "≥ 5 times",
        open_ours,
        (open_fsspec_jinja,),
        "v1-calls",
        MILLION,
    ),
    _case("open V0, pretty-printed", "", "pretty", MILLION),
    _case("open V0, compact with escaped slashes", "", "compact", MILLION),
    _case("open V0, shuffled", "", "shuffled", MILLION),
    _case("open V0, a URL for each key", "", "many-urls", MILLION),
    _case("open V0, keys of 160 characters", "", "long-keys", MILLION),
)
LARGE = (_case("open V0, first level", "≥ 3 times", "v0", 10 * MILLION, "4 GB in all"),)
