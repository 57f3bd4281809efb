"""Sums and logarithms that are the same bits everywhere."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinch_server.core.exact import fold_columns, fold_sum, natural_log

numbers = st.floats(-1e6, 1e6, width=32)


@given(st.lists(st.tuples(numbers, numbers), max_size=70))
def test_a_fold_is_close_to_the_exact_sum(pairs: list[tuple[float, float]]) -> None:
    """A folded sum differs from the exact one by rounding alone."""
    values = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    expected = [math.fsum(column) for column in values.T]
    assert np.allclose(fold_sum(values.copy()), expected, rtol=1e-12, atol=1e-6)


@given(st.lists(st.lists(numbers, min_size=45, max_size=45), min_size=1, max_size=20))
def test_a_column_sums_alone_as_in_company(lists: list[list[float]]) -> None:
    """The bits of a sum depend on its own numbers alone, and not on the axis or the memory they lie in."""
    values = np.array(lists, dtype=np.float32)
    together = fold_columns(values.copy())
    assert (fold_sum(np.array(values.T, order="F")) == together).all()
    assert [fold_sum(row.copy()[:, np.newaxis])[0] for row in values] == together.tolist()


def test_the_order_of_a_fold_is_fixed() -> None:
    """Upper halves are added to lower ones, the odd one in the middle waiting: bits written down by hand."""
    big = np.float32(2**24)
    assert fold_sum(np.array([big, 1, -big, 1, 3], dtype=np.float32)) == np.float32(4)
    assert fold_sum(np.array([big, 1, 1, -big], dtype=np.float32)) == np.float32(1)
    assert fold_sum(np.array([big, 1, -big, 1], dtype=np.float32)) == np.float32(2)


def test_nothing_sums_to_zero() -> None:
    """A sum over no rows is zero for each column."""
    assert fold_sum(np.zeros((0, 3), dtype=np.float32)).tolist() == [0, 0, 0]


@given(st.floats(min_value=5e-324, max_value=1.7e308))
def test_the_logarithm_is_the_logarithm(x: float) -> None:
    """The logarithm made of four operations agrees with the library's."""
    assert natural_log(x) == pytest.approx(math.log(x), rel=2e-15, abs=2e-15)


def test_the_logarithms_bits() -> None:
    """Bits that must be the same wherever the tests run."""
    assert [natural_log(x).hex() for x in (1.0, 2.0, 3.0, 10.0)] == [
        "0x0.0p+0",
        "0x1.62e42fefa39efp-1",
        "0x1.193ea7aad030ap+0",
        "0x1.26bb1bbb55515p+1",
    ]
