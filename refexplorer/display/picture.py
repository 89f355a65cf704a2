"""One picture of values as a PNG inside HTML, for where no script runs: a saved notebook."""

from __future__ import annotations

import base64
import io
import math

import numpy as np
from PIL import Image, ImageDraw

from refexplorer.markup import shown

WIDTH = 480
"""Of a picture, px."""
CELLS = 240
"""Most rows and columns of a picture of values; noise of so many takes 60 kB as PNG."""
_HEIGHT = 200
PAPER, _FRAME, _LINE = (232, 232, 232), (138, 145, 156), (0, 114, 178)
_INFINITE = (255, 47, 208), (0, 184, 255)
"""Of inf and -inf, as in the live pictures."""
_VIRIDIS = np.array(
    [
        (68, 1, 84), (71, 45, 123), (59, 82, 139), (44, 114, 142), (33, 145, 140),
        (40, 174, 128), (94, 201, 98), (173, 220, 48), (253, 231, 37),
    ]
)  # fmt: skip


def picture_html(
    values: np.ndarray, low: float, high: float, words: str, upward: bool = False
) -> str:
    """Return values of one or two dimensions as an ``img`` element that has its own bytes."""
    is_line = values.ndim == 1
    picture = line(values, low, high) if is_line else heatmap(values, low, high, upward)
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    data = base64.b64encode(out.getvalue()).decode()
    width, height = picture.size
    return (
        f'<img src="data:image/png;base64,{data}" alt="{shown(words)}" '
        f'width="{width}" height="{height}">'
    )


def heatmap(values: np.ndarray, low: float, high: float, upward: bool) -> Image.Image:
    """Draw rows and columns, the first row at the bottom if `upward`; NaN is grey."""
    rows, columns = (-(-size // CELLS) for size in values.shape)
    cells = values[::rows, ::columns][:: -1 if upward else 1]
    share = np.clip(_share(cells, low, high), 0, 1)
    places = np.linspace(0, 1, len(_VIRIDIS))
    channels = [np.interp(share, places, _VIRIDIS[:, channel]) for channel in range(3)]
    pixels = np.stack(channels, axis=-1)
    pixels[np.isnan(cells)] = PAPER
    pixels[np.isposinf(cells)], pixels[np.isneginf(cells)] = _INFINITE
    picture = Image.fromarray(pixels.astype(np.uint8), "RGB")
    factor = max(1, WIDTH // max(picture.size))
    size = (picture.width * factor, picture.height * factor)
    return picture.resize(size, Image.Resampling.NEAREST).quantize(256)


def line(values: np.ndarray, low: float, high: float) -> Image.Image:
    """Draw a line on a transparent ground, since the page may be dark; NaN is a gap."""
    picture = Image.new("RGBA", (WIDTH, _HEIGHT), (0, 0, 0, 0))
    draw = ImageDraw.Draw(picture)
    thin = values[:: -(-len(values) // (2 * WIDTH))]
    x = np.linspace(4, WIDTH - 5, max(len(thin), 2))[: len(thin)]
    y = _HEIGHT - 5 - _share(thin, low, high) * (_HEIGHT - 10)
    for at in range(1, len(thin)):
        if math.isfinite(y[at - 1]) and math.isfinite(y[at]):
            draw.line([(x[at - 1], y[at - 1]), (x[at], y[at])], fill=_LINE, width=2)
    draw.rectangle([0, 0, WIDTH - 1, _HEIGHT - 1], outline=_FRAME)
    return picture


def _share(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return where values are between limits; of halves, since float64 has no larger span."""
    shares: np.ndarray = (values / 2 - low / 2) / ((high / 2 - low / 2) or 1)
    return shares
