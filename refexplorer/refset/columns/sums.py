"""Sums that 64 bits may not hold: numpy's and Arrow's wrap around silently."""

from __future__ import annotations

import numpy as np

LARGEST = 2**63 - 1
# halves of 32 bits: the sum of 2^31 of them fits into 63
_HALF = 32


def exact_sum(numbers: np.ndarray) -> int:
    """Return the sum of int64 numbers, none below 0, as a whole number of Python."""
    if int(numbers.max(initial=0)) * len(numbers) <= LARGEST:
        return int(numbers.sum())
    # each half is below 2**32, so that 2**31 of them still fit into 64 bits
    high, low = numbers >> _HALF, numbers & (2**_HALF - 1)
    return (int(high.sum()) << _HALF) + int(low.sum())
