"""Arithmetic that gives the same bits on every platform, Python and number of threads.

A plan must not depend on the machine that made it, and a library's sums and logarithms do: BLAS splits a dot
product by the registers and threads it finds, numpy's own reductions change with the width of the vectors a
processor has, and each C library rounds its logarithms in its own way. What IEEE 754 does fix is the result
of a single addition, multiplication, division or square root. So sums here are made of elementwise additions
in an order that is written down, and the logarithm of the four operations alone.
"""

import math
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

Float = TypeVar("Float", np.float32, np.float64)

_NARROW: Final = 16
_TERMS: Final = 11
_LN2: Final = 0.6931471805599453


def fold_sum(values: NDArray[Float]) -> NDArray[Float]:
    """Sums over the first axis by folding it in half: the upper half is added to the lower, again and again.

    An odd row in the middle waits for the next fold. Each element of the result depends on its own column
    only, so that a column sums to the same bits alone and among others. As in any pairwise sum, rounding
    errors grow with the logarithm of the number of rows.

    Args:
        values: At least one axis. Used as scratch space: its contents are lost.

    Returns:
        The sums, with the first axis gone; zeros when it was empty.
    """
    rows = len(values)
    if rows == 0:
        return np.zeros(values.shape[1:], dtype=values.dtype)
    while rows > 1:
        half = rows // 2
        values[:half] += values[rows - half : rows]
        rows -= half
    total: NDArray[Float] = values[0].copy()
    return total


def fold_columns(values: NDArray[Float]) -> NDArray[Float]:
    """Sums over the last axis in the order of `fold_sum`: the same bits, fast where rows are contiguous.

    Args:
        values: Two axes or more. Used as scratch space: its contents are lost.

    Returns:
        The sums, with the last axis gone.
    """
    columns = values.shape[-1]
    while columns > _NARROW:
        half = columns // 2
        values[..., :half] += values[..., columns - half : columns]
        columns -= half
    # Short runs of memory are slow to add: turn the little that is left on its side.
    return fold_sum(np.ascontiguousarray(np.moveaxis(values[..., :columns], -1, 0)))


def natural_log(x: float) -> float:
    """The natural logarithm, within 2e-15 of the true value relative to max(1, |ln x|).

    Args:
        x: Positive and finite.
    """
    mantissa, exponent = math.frexp(x)
    if mantissa < 0.7071067811865476:
        mantissa, exponent = mantissa * 2.0, exponent - 1
    # ln m = 2 artanh((m-1)/(m+1)); m lies within [0.7, 1.42), so each term is less than a thirtieth of the
    # last.
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    square = ratio * ratio
    series = 0.0
    for term in range(_TERMS, -1, -1):
        series = series * square + 1.0 / (2 * term + 1)
    return exponent * _LN2 + 2.0 * ratio * series
