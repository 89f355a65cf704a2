"""Reference sets of a wanted size, like those of a climate collection; the same seed, the same set.

Ten variables on time, latitude and longitude, 20 chunks a time step, 24 steps a file, in the order
in which kerchunk combines files.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

NAMES = ("t2m", "d2m", "u10", "v10", "msl", "sp", "tp", "sst", "swvl1", "surface_latent_heat_flux")
ROWS, COLUMNS, STEPS = 4, 5, 24
CELLS = ROWS * COLUMNS
LENGTH = 414_720
RECORD_SIZE = 100_000
BUCKET = "s3://mirror/reanalysis/hourly"


def made(folder: Path, kind: str, keys: int) -> Path:
    """Return the path of a set; it is made when it is first asked for."""
    path = folder / f"{kind}-{keys}"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        WRITERS[kind](path, max(1, keys // (len(NAMES) * CELLS)))
    return path


def url_of(number: int) -> str:
    """Return the URL of a file of the collection."""
    return f"{BUCKET}/{1940 + number // 365:04d}/{number % 365:03d}/surface_{number:06d}_v5.nc"


def metadata(steps: int) -> dict[str, str]:
    """Return the metadata keys of the set, as text."""
    shape, chunks = [steps, ROWS * 180, COLUMNS * 288], [1, 180, 288]
    filters = [{"id": "shuffle", "elementsize": 2}, {"id": "zlib", "level": 4}]
    array = {"shape": shape, "chunks": chunks, "dtype": "<i2", "order": "C", "zarr_format": 2}
    array |= {"compressor": None, "filters": filters, "fill_value": None}
    found = {".zgroup": '{"zarr_format": 2}', ".zattrs": '{"Conventions": "CF-1.8"}'}
    for name in NAMES:
        found[f"{name}/.zarray"] = json.dumps(array, indent=4)
        attributes = {"_ARRAY_DIMENSIONS": ["time", "lat", "lon"], "units": "1"}
        found[f"{name}/.zattrs"] = json.dumps(attributes, indent=4)
    return found


def ranges(file: int) -> tuple[np.ndarray, np.ndarray]:
    """Return offsets and lengths of one file, shape ``(variables, steps, cells)``, in bytes."""
    random_numbers = np.random.default_rng(file)
    lengths = random_numbers.integers(180_000, 900_000, (len(NAMES), STEPS, CELLS))
    ends = np.cumsum(lengths).reshape(lengths.shape)
    return ends - lengths + 32_768, lengths


def chunks(steps: int) -> Iterator[tuple[str, int, int, int]]:
    """Yield key, number of the file, offset and length of each chunk."""
    cells = [f".{row}.{column}" for row in range(ROWS) for column in range(COLUMNS)]
    for first in range(0, steps, STEPS):
        offsets, lengths = (array.tolist() for array in ranges(first // STEPS))
        for variable, name in enumerate(NAMES):
            for step in range(min(STEPS, steps - first)):
                start = f"{name}/{first + step}"
                values = zip(cells, offsets[variable][step], lengths[variable][step], strict=True)
                for cell, offset, length in values:
                    yield start + cell, first // STEPS, offset, length


def _document(
    path: Path,
    steps: int,
    head: str = "{",
    tail: str = "}",
    marks: tuple[str, str] = (", ", ": "),
    name: Callable[[str], str] = str,
    url: Callable[[str, int], str] = lambda key, file: url_of(file),
    mixed: bool = False,
) -> None:
    """Write a document; the arguments say how its entries look."""
    comma, colon = marks
    entries = [f"{json.dumps(k)}{colon}{json.dumps(v)}" for k, v in metadata(steps).items()]
    for key, file, offset, length in chunks(steps):
        value = f'["{url(key, file)}"{comma}{offset}{comma}{length}]'
        entries.append(f'"{name(key)}"{colon}{value}')
    if mixed:
        random.Random(0).shuffle(entries)
    with path.open("w") as out:
        out.write(head)
        out.writelines(entry + comma for entry in entries[:-1])
        out.write(entries[-1] + tail)


def _v1(path: Path, steps: int) -> None:
    templates = {f"u{file}": url_of(file) for file in range(-(-steps // STEPS))}
    head = f'{{"version": 1, "templates": {json.dumps(templates)}, "refs": {{'
    _document(path, steps, head, "}}", url=lambda key, file: f"{{{{u{file}}}}}")


def _v1_calls(path: Path, steps: int) -> None:
    head = f'{{"version": 1, "templates": {{"f": "{BUCKET}/surface_{{{{n}}}}.nc"}}, "refs": {{'
    _document(path, steps, head, "}}", url=lambda key, file: f"{{{{f(n='{file:06d}')}}}}")


def _pretty(path: Path, steps: int) -> None:
    _document(path, steps, "{\n    ", "\n}", (",\n    ", ": "))


def _compact(path: Path, steps: int) -> None:
    _document(
        path,
        steps,
        marks=(",", ":"),
        name=lambda key: key.replace("/", "\\/"),
        url=lambda key, file: url_of(file).replace("/", "\\/"),
    )


def _many_urls(path: Path, steps: int) -> None:
    _document(path, steps, url=lambda key, file: f"{BUCKET}/{key}.bin")


def _long_keys(path: Path, steps: int) -> None:
    _document(path, steps, name=lambda key: f"{'deeper/' * 20}{key}")


def _mixed(path: Path, steps: int) -> None:
    _document(path, steps, mixed=True)


def gen_document(steps: int, formatted: bool = False) -> dict[str, object]:
    """Return a document whose chunks are all made by gen, one item a variable."""
    files = max(1, steps // STEPS)
    items = []
    for place, name in enumerate(NAMES):
        base = 32_768 + place * STEPS * CELLS * LENGTH
        cell = f"(s * {ROWS} + y) * {COLUMNS} + x"
        url = "{{u}}/surface_{{'%06d' | format(f)}}.nc" if formatted else "{{u}}/surface_{{f}}.nc"
        items.append(
            {
                "key": name + f"/{{{{f * {STEPS} + s}}}}.{{{{y}}}}.{{{{x}}}}",
                "url": url,
                "offset": f"{{{{{base} + ({cell}) * {LENGTH}}}}}",
                "length": str(LENGTH),
                "dimensions": {
                    "f": {"stop": files},
                    "s": {"stop": STEPS},
                    "y": {"stop": ROWS},
                    "x": list(range(COLUMNS)),
                },
            }
        )
    refs = metadata(files * STEPS)
    return {"version": 1, "templates": {"u": BUCKET}, "gen": items, "refs": refs}


def _gen(path: Path, steps: int) -> None:
    path.write_text(json.dumps(gen_document(steps)))


def _gen_formatted(path: Path, steps: int) -> None:
    path.write_text(json.dumps(gen_document(steps, formatted=True)))


def _parquet(path: Path, steps: int) -> None:
    """Write a store whose columns carry what fastparquet asks for."""
    path.mkdir()
    zmetadata = {key: json.loads(text) for key, text in metadata(steps).items()}
    document = {"metadata": zmetadata, "record_size": RECORD_SIZE}
    (path / ".zmetadata").write_text(json.dumps(document))
    files = [ranges(file) for file in range(-(-steps // STEPS))]
    urls = [url_of(file) for file in range(len(files))]
    codes = np.repeat(np.arange(len(files), dtype=np.int32), STEPS * CELLS)[: steps * CELLS]
    for place, name in enumerate(NAMES):
        (path / name).mkdir()
        offsets, lengths = (
            np.concatenate([one[part][place].ravel() for one in files])[: steps * CELLS]
            for part in (0, 1)
        )
        for start in range(0, len(codes), RECORD_SIZE):
            part = slice(start, start + RECORD_SIZE)
            table = _records(urls, codes[part], offsets[part], lengths[part])
            record = path / name / f"refs.{start // RECORD_SIZE}.parq"
            pq.write_table(table, record, compression="zstd", write_statistics=["offset", "size"])


def _records(urls: list[str], codes: np.ndarray, *numbers: np.ndarray) -> pa.Table:
    padding = RECORD_SIZE - len(codes)
    indices = pa.array([*codes.tolist(), *[None] * padding], pa.int32())
    paths = pa.DictionaryArray.from_arrays(indices, pa.array(urls))
    columns = [pa.array(np.pad(column, (0, padding)).tolist(), pa.int64()) for column in numbers]
    fields = [pa.field(name, pa.int64(), nullable=False) for name in ("offset", "size")]
    schema = pa.schema([pa.field("path", paths.type), *fields, pa.field("raw", pa.binary())])
    return pa.table([paths, *columns, pa.nulls(RECORD_SIZE, pa.binary())], schema=schema)


WRITERS: dict[str, Callable[[Path, int], None]] = {
    "v0": _document,
    "v1": _v1,
    "v1-calls": _v1_calls,
    "pretty": _pretty,
    "compact": _compact,
    "shuffled": _mixed,
    "many-urls": _many_urls,
    "long-keys": _long_keys,
    "gen": _gen,
    "gen-formatted": _gen_formatted,
    "parquet": _parquet,
}
