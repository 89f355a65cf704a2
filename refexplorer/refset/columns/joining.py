"""Columns of references, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refexplorer.refset.columns.reference_columns import BASE64, INLINE, Columns
from refexplorer.spec.core.references import Range


def joined_columns(parts: Sequence[Columns]) -> Columns:
    """Return the rows of several columns, one after the other, over the URLs of all of them."""
    urls: dict[str | None, int] = {}
    texts: list[str] = []
    large: dict[int, Range] = {}
    targets, offsets, before = [], [], 0
    for part in parts:
        used = np.unique(part.targets[part.targets >= 0])
        codes = np.full(len(part.urls) + 1, -1, np.int32)
        codes[used] = [urls.setdefault(url, len(urls)) for url in part.urls_at(used)]
        targets.append(codes[part.targets])
        is_text = (part.kinds == INLINE) | (part.kinds == BASE64)
        offsets.append(np.where(is_text, part.offsets + len(texts), part.offsets))
        texts += part.texts
        large |= {before + row: reference for row, reference in part.large.items()}
        before += len(part)
    none = np.empty(0, np.int64)
    return Columns(
        np.concatenate([none.astype(np.uint8), *(part.kinds for part in parts)]),
        np.concatenate([none.astype(np.int32), *targets]),
        tuple(urls),
        np.concatenate([none, *offsets]),
        np.concatenate([none, *(part.lengths for part in parts)]),
        texts,
        large,
    )
