"""Amounts of money as text."""

import pytest

from pinch_server.core.money import is_amount


@pytest.mark.parametrize("text", ["0", "0.30", "3", "007", "1" * 12, f"{'1' * 12}.{'9' * 12}"])
def test_an_amount_is_a_decimal_from_zero(text: str) -> None:
    """Up to 12 digits, with up to 12 more behind a point or without, are an amount."""
    assert is_amount(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "-1", "-0", "+1", "nan", "sNaN", "inf", "dear", "1,5", "1" * 13, f"0.{'1' * 13}", "0x1"),
        *("1e-6", "1E+3", "1e999999", "1_0", " 1 ", "\n1", "1\n", "\u0661", ".5", "5.", "1.2.3"),
    ],
)
def test_all_else_is_none(text: str) -> None:
    """Words, signs, exponents, spaces, other scripts' digits and endless numbers are no amounts."""
    assert not is_amount(text)
