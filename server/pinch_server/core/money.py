"""Amounts of money as callers write them: decimal text, never a binary fraction."""

from decimal import Decimal, InvalidOperation
from typing import Final

_LONGEST: Final = 40


def is_amount(text: str) -> bool:
    """Whether a text is an amount of money: a finite decimal, not below zero, of 40 characters at most."""
    if len(text) > _LONGEST:
        return False
    try:
        amount = Decimal(text)
    except InvalidOperation:
        return False
    return amount.is_finite() and amount >= 0
