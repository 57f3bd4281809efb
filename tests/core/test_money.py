"""Amounts of money as text."""

import pytest

from pinch_server.core.money import is_amount


@pytest.mark.parametrize("text", ["0", "0.30", "3", "1e-6", "1" * 40])
def test_an_amount_is_a_decimal_from_zero(text: str) -> None:
    """A finite decimal that is not negative is an amount."""
    assert is_amount(text)


@pytest.mark.parametrize("text", ["", "-1", "nan", "inf", "dear", "1,5", "1" * 41, "0x1"])
def test_all_else_is_none(text: str) -> None:
    """Words, negative, infinite and endless numbers are no amounts."""
    assert not is_amount(text)
