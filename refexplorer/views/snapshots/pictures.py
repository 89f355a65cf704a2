"""Pictures without script: small PNG images of values, chunks and byte ranges."""

from __future__ import annotations

import base64
import io
import math

import numpy as np
from PIL import Image, ImageDraw

from refexplorer.markup import shown
from refexplorer.views.wire.answering import Buffers
from refexplorer.views.wire.explorer.chunks_messages import Grid
from refexplorer.views.wire.explorer.targets_messages import Layout

WIDTH = 480
"""Of a picture, px."""
CELLS = 240
"""Most rows and columns of a picture of values."""
_HEIGHT = 200
_STRIP_HEIGHT = 32
_LARGEST_CELL = 20
PAPER, FAILED, _OTHER = (232, 232, 232), (180, 35, 24), (138, 145, 156)
_INFINITE = (255, 47, 208), (0, 184, 255)
"""Of inf and -inf, as in the live pictures."""
_SERIES = (
    (0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167),
    (86, 180, 233), (213, 94, 0), (240, 228, 66),
)  # fmt: skip
"""The colours of Okabe and Ito, as in the live maps; ``tests/cases/formats.json`` has them, too."""
_VIRIDIS = np.array(
    [
        (68, 1, 84), (71, 45, 123), (59, 82, 139), (44, 114, 142), (33, 145, 140),
        (40, 174, 128), (94, 201, 98), (173, 220, 48), (253, 231, 37),
    ]
)  # fmt: skip


def element(picture: Image.Image, words: str) -> str:
    """Return a picture as an ``img`` element that holds its own bytes."""
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    data = base64.b64encode(out.getvalue()).decode()
    width, height = picture.size
    return (
        f'<img src="data:image/png;base64,{data}" alt="{shown(words)}" '
        f'width="{width}" height="{height}">'
    )


def colour(number: int) -> tuple[int, int, int]:
    """Return the n-th colour of the series; -1 is what has none."""
    return _OTHER if number < 0 else _SERIES[number % len(_SERIES)]


def swatch(number: int | None) -> str:
    """Return a square of a colour; None is what has no reference."""
    ink = PAPER if number is None else colour(number)
    return element(Image.new("RGB", (12, 12), ink), "")


def heatmap(values: np.ndarray, low: float, high: float, upward: bool) -> Image.Image:
    """Draw values, shape ``(rows, columns)``; what is no number is grey.

    Parameters
    ----------
    values
        Drawn with the first row on top, or at the bottom if `upward`.
    low, high
        The values of the first and of the last colour.
    """
    rows, columns = (-(-size // CELLS) for size in values.shape)
    cells = values[::rows, ::columns][:: -1 if upward else 1]
    picture = Image.fromarray(inks_of(cells, low, high), "RGB")
    factor = max(1, WIDTH // max(picture.size))
    size = (picture.width * factor, picture.height * factor)
    return picture.resize(size, Image.Resampling.NEAREST).quantize(256)


def inks_of(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return red, green and blue of each value; NaN is grey, infinities are off the scale."""
    places = np.linspace(0, 1, len(_VIRIDIS))
    share = np.clip(_share(values, low, high), 0, 1)
    channels = [np.interp(share, places, _VIRIDIS[:, channel]) for channel in range(3)]
    pixels = np.stack(channels, axis=-1)
    pixels[np.isnan(values)] = PAPER
    pixels[np.isposinf(values)], pixels[np.isneginf(values)] = _INFINITE
    return pixels.astype(np.uint8)


def _share(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return where values are between limits; of halves, since float64 has no larger span."""
    shares: np.ndarray = (values / 2 - low / 2) / ((high / 2 - low / 2) or 1)
    return shares


def line(values: np.ndarray, low: float, high: float) -> Image.Image:
    """Draw values, shape ``(n,)``, as a line; gaps are what is no number."""
    picture = Image.new("RGB", (WIDTH, _HEIGHT), "white")
    draw = ImageDraw.Draw(picture)
    thin = values[:: -(-len(values) // (2 * WIDTH))]
    x = np.linspace(4, WIDTH - 5, max(len(thin), 2))[: len(thin)]
    y = _HEIGHT - 5 - _share(thin, low, high) * (_HEIGHT - 10)
    for at in range(1, len(thin)):
        if math.isfinite(y[at - 1]) and math.isfinite(y[at]):
            draw.line([(x[at - 1], y[at - 1]), (x[at], y[at])], fill=_SERIES[0], width=2)
    draw.rectangle([0, 0, WIDTH - 1, _HEIGHT - 1], outline=_OTHER)
    return picture


def chunk_map(grid: Grid, buffers: Buffers) -> Image.Image:
    """Draw the cells of a map of chunks by their targets."""
    shape = (grid.rows, grid.columns)
    counts = _numbers(buffers[0]).reshape(-1, *shape)
    targets = _numbers(buffers[1]).reshape(shape).astype(int)
    size = max(3, min(_LARGEST_CELL, WIDTH // max(grid.columns, 1)))
    picture = Image.new("RGB", (grid.columns * size + 1, grid.rows * size + 1), "white")
    draw = ImageDraw.Draw(picture)
    for row, column in np.ndindex(shape):
        here = counts[:, row, column]
        number = targets[row, column]
        ink = colour(grid.targets[number].number if number >= 0 else -1)
        if here[-1]:
            ink = FAILED
        elif not here[1:].any():
            ink = PAPER
        left, top = column * size, row * size
        draw.rectangle([left, top, left + size - (size > 5), top + size - (size > 5)], fill=ink)
        if ink == PAPER:
            draw.line([left, top + size - 2, left + size - 2, top], fill=_OTHER)
    return picture


def strip(layout: Layout, buffers: Buffers) -> Image.Image:
    """Draw which bytes of a target are referenced, by arrays."""
    edges, covered, _, _, arrays = map(_numbers, buffers)
    picture = Image.new("RGB", (WIDTH, _STRIP_HEIGHT), PAPER)
    draw = ImageDraw.Draw(picture)
    span = max(edges[-1] - edges[0], 1)
    for at in np.flatnonzero(covered):
        left, right = ((edges[at + i] - edges[0]) / span * WIDTH for i in (0, 1))
        full = _STRIP_HEIGHT * min(covered[at] / max(edges[at + 1] - edges[at], 1), 1)
        ink = colour(layout.arrays[int(arrays[at])].number)
        box = [int(left), int(_STRIP_HEIGHT - full), max(int(left), int(right) - 1), _STRIP_HEIGHT]
        draw.rectangle(box, fill=ink)
    return picture


def _numbers(buffer: bytes) -> np.ndarray:
    return np.frombuffer(buffer, "<f8")
